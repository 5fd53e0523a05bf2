//! The parts of interchange XML that matter: elements, text, and the attributes `id`, `ref` and
//! `nil`.
//!
//! The declarations of a `DOCTYPE` are not read, and entities beyond the five predefined ones are
//! refused, so nothing expands.

use std::borrow::Cow;

use quick_xml::XmlVersion;
use quick_xml::events::{BytesDecl, BytesRef, BytesStart};

/// Deepest nesting of elements, the root included.
pub(crate) const DEPTH_MAX: usize = 32;
/// Most attributes of one element.
const ATTRIBUTES_MAX: usize = 64;

/// What is said of a `DOCTYPE`.
pub(crate) const DOCTYPE: &str = "there is a DOCTYPE, which is not read: it can define entities that \
                                  expand without limit, and records that use them are rejected; \
                                  remove it";

/// An element's name and relevant attributes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Tag<'t> {
    /// Name without its prefix.
    pub name: &'t str,
    /// `id`: the name by which references in the same file refer to it.
    pub id: Option<Cow<'t, str>>,
    /// `ref`: the `id` of another element.
    pub reference: Option<Cow<'t, str>>,
    /// `xsi:nil`: it has no value.
    pub is_nil: bool,
}

/// Reads the attributes of an element. Returns its `id`, its `ref`, and whether it is nil.
pub(crate) fn attributes(
    start: &BytesStart<'_>,
) -> Result<(Option<String>, Option<String>, bool), String> {
    let (mut id, mut reference, mut is_nil) = (None, None, false);
    for (at, attribute) in start.attributes().enumerate() {
        if at == ATTRIBUTES_MAX {
            return Err(format!("an element has more than {ATTRIBUTES_MAX} attributes"));
        }
        let attribute = attribute.map_err(|e| format!("an attribute cannot be read: {e}"))?;
        let value = || {
            let value = attribute.normalized_value(XmlVersion::Implicit1_0);
            value.map(|value| value.trim().to_owned()).map_err(|e| explain(&e))
        };
        match attribute.key.local_name().as_ref() {
            "id" => id = Some(value()?),
            "ref" => reference = Some(value()?),
            "nil" => is_nil = matches!(value()?.as_str(), "true" | "1"),
            _ => {}
        }
    }
    Ok((id, reference, is_nil))
}

/// Returns the character that a reference stands for.
pub(crate) fn character(reference: &BytesRef<'_>) -> Result<char, String> {
    match reference.resolve_char_ref().map_err(|e| explain(&e))? {
        Some(found) => Ok(found),
        None => predefined(reference).ok_or_else(|| {
            "an entity other than &amp; &lt; &gt; &quot; and &apos; is used; write the character \
             itself"
                .to_owned()
        }),
    }
}

fn predefined(name: &str) -> Option<char> {
    Some(match name {
        "amp" => '&',
        "lt" => '<',
        "gt" => '>',
        "quot" => '"',
        "apos" => '\'',
        _ => return None,
    })
}

/// Refuses a declaration of another encoding than UTF-8.
pub(crate) fn check_encoding(declaration: &BytesDecl<'_>) -> Result<(), String> {
    let Some(encoding) = declaration.encoding() else { return Ok(()) };
    let encoding = encoding.map_err(|e| e.to_string())?;
    let known = ["utf-8", "utf8", "us-ascii", "ascii"];
    if known.iter().any(|known| encoding.eq_ignore_ascii_case(known)) {
        return Ok(());
    }
    Err("the file is not declared as UTF-8; convert it".into())
}

/// Returns the message for elements that are nested too deep.
pub(crate) fn too_deep() -> String {
    format!("elements are nested deeper than {DEPTH_MAX}")
}

/// Puts the library's error into our words, which never include a value from the file.
pub(crate) fn explain(error: &quick_xml::Error) -> String {
    match error {
        quick_xml::Error::Io(error) => error.to_string(),
        quick_xml::Error::Encoding(_) => "the file is not UTF-8; convert it".into(),
        other => format!("the XML is not well formed: {other}"),
    }
}
