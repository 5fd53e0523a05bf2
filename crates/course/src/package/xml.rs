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

/// Returns the text of a file in one of the encodings that manifests come in.
pub(crate) fn decoded(bytes: &[u8]) -> Result<Cow<'_, str>, NotXml> {
    let wide = |bytes: &[u8], read: fn([u8; 2]) -> u16| {
        let units = bytes.chunks_exact(2).map(|pair| read([pair[0], pair[1]]));
        Cow::Owned(char::decode_utf16(units).map(|c| c.unwrap_or('\u{fffd}')).collect())
    };
    match bytes {
        [0xef, 0xbb, 0xbf, rest @ ..] => utf8(rest),
        [0xff, 0xfe, rest @ ..] => Ok(wide(rest, u16::from_le_bytes)),
        [0xfe, 0xff, rest @ ..] => Ok(wide(rest, u16::from_be_bytes)),
        [b'<', 0, ..] => Ok(wide(bytes, u16::from_le_bytes)),
        [0, b'<', ..] => Ok(wide(bytes, u16::from_be_bytes)),
        _ => utf8(bytes).or_else(|error| {
            let start = &bytes[..bytes.len().min(200)];
            let declared = String::from_utf8_lossy(start).to_lowercase();
            let is_latin = ["iso-8859-1", "windows-1252", "latin1", "us-ascii", "iso-8859-15"];
            if is_latin.iter().any(|name| declared.contains(name)) {
                return Ok(Cow::Owned(bytes.iter().map(|byte| char::from(*byte)).collect()));
            }
            Err(error)
        }),
    }
}

fn utf8(bytes: &[u8]) -> Result<Cow<'_, str>, NotXml> {
    std::str::from_utf8(bytes).map(Cow::Borrowed).map_err(|error| NotXml {
        message: "the file is not UTF-8, UTF-16 or declared as Latin 1".into(),
        line: 1 + lines(&bytes[..error.valid_up_to()]),
    })
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
                let found = character(&reference).map_err(wrong)?;
                if let Some(last) = open.last_mut() {
                    last.text.push(found);
                }
            }
            Event::DocType(_) | Event::Decl(_) | Event::Comment(_) | Event::PI(_) => {}
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
        let value = attribute
            .normalized_value(XmlVersion::Implicit1_0)
            .map_err(|e| format!("an attribute cannot be read: {e}"))?;
        own.attributes.push((local(attribute.key.as_ref()), value.trim().to_owned()));
    }
    Ok(own)
}

fn local(name: &str) -> String {
    name.rsplit_once(':').map_or(name, |(_, local)| local).to_owned()
}

fn character(reference: &quick_xml::events::BytesRef<'_>) -> Result<char, String> {
    if let Some(found) = reference.resolve_char_ref().map_err(|error| error.to_string())? {
        return Ok(found);
    }
    let name: &str = reference;
    Ok(match name {
        "amp" => '&',
        "lt" => '<',
        "gt" => '>',
        "quot" => '"',
        "apos" => '\'',
        "nbsp" => '\u{a0}',
        _ => return Err("an entity of its own is used, which is refused".into()),
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
    fn other_encodings_are_read() {
        let wide: Vec<u8> = [0xff, 0xfe]
            .into_iter()
            .chain("<ä/>".encode_utf16().flat_map(u16::to_le_bytes))
            .collect();
        assert_eq!(decoded(&wide).unwrap(), "<ä/>");
        let latin = b"<?xml version='1.0' encoding='ISO-8859-1'?><a>\xe4</a>";
        assert!(decoded(latin).unwrap().contains('ä'));
        assert!(decoded(b"<a>\xe4</a>").is_err());
    }
}
