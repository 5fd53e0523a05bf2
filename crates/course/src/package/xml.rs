//! A small XML reader for manifests: elements with attributes, text and lines, within limits.
//!
//! Nothing expands: a document type is passed over, and entities beyond the five predefined ones are
//! refused.

use std::borrow::Cow;

use quick_xml::XmlVersion;
use quick_xml::events::{BytesStart, Event};
use quick_xml::reader::Reader;

use super::limits::{DEPTH_MAX, ELEMENTS_MAX};

/// An element.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Element {
    /// Its name without prefix.
    pub(crate) name: String,
    /// Its attributes, with their names without prefixes.
    pub(crate) attributes: Vec<(String, String)>,
    /// Its elements.
    pub(crate) children: Vec<Element>,
    /// Its own text, trimmed.
    pub(crate) text: String,
    /// Its line, from 1.
    pub(crate) line: usize,
}

/// Why a text is no XML that can be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NotXml {
    /// What is wrong.
    pub(crate) message: String,
    /// The line, from 1.
    pub(crate) line: usize,
}

impl Element {
    /// Returns an attribute; its name matches in any case.
    pub(crate) fn attribute(&self, name: &str) -> Option<&str> {
        let found = self.attributes.iter().find(|(own, _)| own.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_str())
    }

    /// Returns the first element of a name, in any case.
    pub(crate) fn child(&self, name: &str) -> Option<&Self> {
        self.all(name).next()
    }

    /// Returns the elements of a name, in any case.
    pub(crate) fn all<'e>(&'e self, name: &str) -> impl Iterator<Item = &'e Self> {
        self.children.iter().filter(move |child| child.name.eq_ignore_ascii_case(name))
    }

    /// Returns the text of the first element of a name, if it has any.
    pub(crate) fn text_of(&self, name: &str) -> Option<&str> {
        self.child(name).map(|child| child.text.as_str()).filter(|text| !text.is_empty())
    }

    /// Returns how it is named in findings: its name and its identifier.
    pub(crate) fn label(&self) -> String {
        match self.attribute("identifier") {
            Some(id) => format!("{} {id}", self.name),
            None => self.name.clone(),
        }
    }
}

/// Reads a document and returns its root.
///
/// # Errors
///
/// Says what is wrong in which line.
pub(crate) fn parse(text: &str) -> Result<Element, NotXml> {
    let mut reader = Reader::from_str(text);
    let mut open: Vec<Element> = vec![];
    let mut root = None;
    let (mut line, mut seen, mut elements) = (1, 0, 0);
    let mut has_entities = false;
    loop {
        let event = reader.read_event();
        let end = usize::try_from(reader.buffer_position()).unwrap_or(text.len()).min(text.len());
        let begins = line;
        line += lines(&text.as_bytes()[seen..end.max(seen)]);
        seen = end.max(seen);
        let wrong = |message: String| NotXml { message, line: begins };
        let event = event.map_err(|error| NotXml {
            message: format!("the XML is not well formed: {error}"),
            line,
        })?;
        match event {
            Event::Start(tag) => {
                elements += 1;
                if open.len() == DEPTH_MAX || elements > ELEMENTS_MAX {
                    return Err(wrong("the file has too many elements, or too deep ones".into()));
                }
                open.push(element(&tag, line).map_err(wrong)?);
            }
            Event::Empty(tag) => {
                elements += 1;
                if elements > ELEMENTS_MAX {
                    return Err(wrong("the file has too many elements".into()));
                }
                let closed = element(&tag, line).map_err(wrong)?;
                close(closed, &mut open, &mut root);
            }
            Event::End(_) => {
                if let Some(mut closed) = open.pop() {
                    closed.text = String::from(closed.text.trim());
                    close(closed, &mut open, &mut root);
                }
            }
            Event::Text(text) => {
                if let Some(last) = open.last_mut() {
                    last.text.push_str(&text.xml10_content());
                }
            }
            Event::CData(text) => {
                if let Some(last) = open.last_mut() {
                    last.text.push_str(&text.xml10_content());
                }
            }
            Event::GeneralRef(reference) => {
                let found = character(&reference, has_entities).map_err(wrong)?;
                if let Some(last) = open.last_mut() {
                    last.text.push_str(&found);
                }
            }
            Event::DocType(text) => has_entities |= text.contains("<!ENTITY"),
            Event::Decl(_) | Event::Comment(_) | Event::PI(_) => {}
            Event::Eof => break,
        }
    }
    if let Some(unclosed) = open.last() {
        let message = format!("the element {} is not closed", unclosed.name);
        return Err(NotXml { message, line: unclosed.line });
    }
    root.ok_or_else(|| NotXml { message: "the file has no element".into(), line: 1 })
}

fn lines(bytes: &[u8]) -> usize {
    memchr::memchr_iter(b'\n', bytes).count()
}

fn close(closed: Element, open: &mut [Element], root: &mut Option<Element>) {
    match open.last_mut() {
        Some(parent) => parent.children.push(closed),
        None => {
            root.get_or_insert(closed);
        }
    }
}

fn element(tag: &BytesStart<'_>, line: usize) -> Result<Element, String> {
    let mut own = Element { name: local(tag.name().as_ref()), line, ..Element::default() };
    for attribute in tag.attributes() {
        let attribute = attribute.map_err(|e| format!("an attribute cannot be read: {e}"))?;
        // A reference that nothing defines stays as it is written.
        let value = attribute
            .normalized_value(XmlVersion::Implicit1_0)
            .unwrap_or_else(|_| Cow::Owned(attribute.value.to_string()));
        own.attributes.push((local(attribute.key.as_ref()), value.trim().to_owned()));
    }
    Ok(own)
}

fn local(name: &str) -> String {
    name.rsplit_once(':').map_or(name, |(_, local)| local).to_owned()
}

/// Returns what a reference stands for. One that nothing defines stays as it is written.
fn character(
    reference: &quick_xml::events::BytesRef<'_>,
    has_entities: bool,
) -> Result<String, String> {
    if let Some(found) = reference.resolve_char_ref().map_err(|error| error.to_string())? {
        return Ok(found.into());
    }
    let name: &str = reference;
    Ok(match name {
        "amp" => "&".into(),
        "lt" => "<".into(),
        "gt" => ">".into(),
        "quot" => "\"".into(),
        "apos" => "'".into(),
        "nbsp" => "\u{a0}".into(),
        _ if has_entities => return Err("an entity of its own is used, which is refused".into()),
        name => format!("&{name};"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_have_lines_attributes_without_prefixes_and_text() {
        let text = "<a>\n <x:b y:Id='1&amp;2'>t&lt;<![CDATA[<]]></x:b>\n</a>";

        let root = parse(text).unwrap();

        let b = root.child("B").unwrap();
        assert_eq!((b.line, b.attribute("id"), b.text.as_str()), (2, Some("1&2"), "t<<"));
    }

    #[test]
    fn entities_of_its_own_are_refused_and_never_read() {
        let text = "<!DOCTYPE a [<!ENTITY x SYSTEM 'file:///etc/passwd'>]>\n<a>&x;</a>";

        let refused = parse(text).unwrap_err();

        assert!(refused.message.contains("entity"), "{refused:?}");
    }

    #[test]
    fn what_is_not_closed_is_named_with_its_line() {
        for text in ["<a>\n<b>", "<a>\n<b></a>", ""] {
            assert!(parse(text).is_err(), "{text}");
        }
        assert_eq!(parse("<a>\n<b>\n").unwrap_err().line, 2);
    }

    #[test]
    fn references_that_nothing_defines_stay() {
        let root = parse("<a b='x&eacute;'>&copy; 1</a>").unwrap();

        assert_eq!((root.attribute("b"), root.text.as_str()), (Some("x&eacute;"), "&copy; 1"));
    }
}
