//! Splits an XML file into tokens with their places, within limits, a piece of the file at a time.

use std::borrow::Cow;
use std::io::{self, BufRead};

use quick_xml::Reader;
use quick_xml::events::Event;

use super::token::{DEPTH_MAX, Tag, attributes, character, check_encoding, explain, too_deep};
use crate::place::{Malformed, Spot};

/// Most bytes of one tag, text, comment or CDATA section.
const TOKEN_BYTES_MAX: u64 = 1 << 20;

/// A token; its content is kept in the scanner until the next one is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Token {
    /// The start of an element: see [`Scanner::tag`].
    Start,
    /// The end of an element; an empty element has both a start and an end.
    End,
    /// A piece of text, perhaps one of several: see [`Scanner::text`].
    Text,
    /// The end of the file.
    Eof,
}

/// The last element that began, as [`Tag`].
#[derive(Debug, Default)]
struct Last {
    name: String,
    id: Option<String>,
    reference: Option<String>,
    is_nil: bool,
}

/// Reads tokens from a source that starts anywhere between two tokens.
pub(crate) struct Scanner<R> {
    reader: Reader<Metered<R>>,
    buffer: Vec<u8>,
    start: Spot,
    depth: usize,
    tag: Last,
    text: String,
    doctype: Option<Spot>,
}

impl<R: BufRead> Scanner<R> {
    /// Makes a scanner for a source that starts at `at`.
    pub(crate) fn new(source: R, at: Spot) -> Self {
        let mut reader = Reader::from_reader(Metered { source, at, left: TOKEN_BYTES_MAX });
        reader.config_mut().expand_empty_elements = true;
        Self {
            reader,
            buffer: vec![],
            start: at,
            depth: 0,
            tag: Last::default(),
            text: String::new(),
            doctype: None,
        }
    }

    /// Returns where there was a `DOCTYPE`, whose declarations are not read.
    pub(crate) fn doctype(&self) -> Option<Spot> {
        self.doctype
    }

    /// Returns the element that began with the last token.
    pub(crate) fn tag(&self) -> Tag<'_> {
        let Last { name, id, reference, is_nil } = &self.tag;
        Tag {
            name,
            id: id.as_deref().map(Cow::Borrowed),
            reference: reference.as_deref().map(Cow::Borrowed),
            is_nil: *is_nil,
        }
    }

    /// Returns the text of the last token, with entities replaced.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Returns where the last token began.
    pub(crate) fn start(&self) -> Spot {
        self.start
    }

    /// Returns where the next token begins.
    pub(crate) fn spot(&self) -> Spot {
        self.reader.get_ref().at
    }

    /// Returns the number of open elements.
    pub(crate) fn depth(&self) -> usize {
        self.depth
    }

    /// Reads the next token.
    pub(crate) fn next(&mut self) -> Result<Token, Malformed> {
        loop {
            self.buffer.clear();
            self.start = self.spot();
            self.reader.get_mut().left = TOKEN_BYTES_MAX;
            if let Some(token) = self.token().map_err(|message| self.start.malformed(message))? {
                return Ok(token);
            }
        }
    }

    fn token(&mut self) -> Result<Option<Token>, String> {
        let event = self.reader.read_event_into(&mut self.buffer).map_err(|e| explain(&e))?;
        match event {
            Event::Start(start) | Event::Empty(start) => {
                self.depth += 1;
                if self.depth > DEPTH_MAX {
                    return Err(too_deep());
                }
                self.tag.name.clear();
                self.tag.name.push_str(start.local_name().as_ref());
                (self.tag.id, self.tag.reference, self.tag.is_nil) = attributes(&start)?;
                Ok(Some(Token::Start))
            }
            Event::End(_) => {
                self.depth = self.depth.saturating_sub(1);
                Ok(Some(Token::End))
            }
            Event::Text(text) => {
                self.text.clear();
                self.text.push_str(&text.xml10_content());
                Ok(Some(Token::Text))
            }
            Event::CData(text) => {
                self.text.clear();
                self.text.push_str(&text.xml10_content());
                Ok(Some(Token::Text))
            }
            Event::GeneralRef(reference) => {
                let found = character(&reference)?;
                self.text.clear();
                self.text.push(found);
                Ok(Some(Token::Text))
            }
            Event::Decl(declaration) => {
                check_encoding(&declaration)?;
                Ok(None)
            }
            Event::DocType(_) => {
                self.doctype = Some(self.start);
                Ok(None)
            }
            Event::Comment(_) | Event::PI(_) => Ok(None),
            Event::Eof => Ok(Some(Token::Eof)),
        }
    }
}

/// A source that tracks its position and limits the length of a token.
struct Metered<R> {
    source: R,
    at: Spot,
    left: u64,
}

impl<R: BufRead> io::Read for Metered<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let from = self.fill_buf()?;
        let count = from.len().min(out.len());
        out[..count].copy_from_slice(&from[..count]);
        self.consume(count);
        Ok(count)
    }
}

impl<R: BufRead> BufRead for Metered<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.left == 0 {
            let message = format!("a tag or text is longer than {TOKEN_BYTES_MAX} bytes");
            return Err(io::Error::other(message));
        }
        let filled = self.source.fill_buf()?;
        let left = usize::try_from(self.left).unwrap_or(usize::MAX);
        Ok(&filled[..filled.len().min(left)])
    }

    fn consume(&mut self, count: usize) {
        // The buffer is still filled, so this reads nothing.
        if let Ok(bytes) = self.source.fill_buf() {
            self.at = self.at.after(&bytes[..count.min(bytes.len())]);
        }
        self.left = self.left.saturating_sub(count as u64);
        self.source.consume(count);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens(xml: &str) -> Result<Vec<(Token, String, u64, u64)>, Malformed> {
        let mut scanner = Scanner::new(xml.as_bytes(), Spot::START);
        let mut found = vec![];
        loop {
            let token = scanner.next()?;
            let what = match token {
                Token::Start => scanner.tag().name.to_owned(),
                Token::Text => scanner.text().to_owned(),
                Token::End | Token::Eof => String::new(),
            };
            found.push((token, what, scanner.start().line, scanner.start().column()));
            if token == Token::Eof {
                return Ok(found);
            }
        }
    }

    #[test]
    fn tokens_have_their_places() {
        let found =
            tokens("\u{feff}<?xml version=\"1.0\"?>\n<e:a>\n  <b/>x &amp; <!-- -->y\n</e:a>");

        let token = |t, text: &str, line, column| (t, text.to_owned(), line, column);
        assert_eq!(
            found.unwrap(),
            [
                token(Token::Text, "\n", 1, 25),
                token(Token::Start, "a", 2, 1),
                token(Token::Text, "\n  ", 2, 6),
                token(Token::Start, "b", 3, 3),
                token(Token::End, "", 3, 7),
                token(Token::Text, "x ", 3, 7),
                token(Token::Text, "&", 3, 9),
                token(Token::Text, " ", 3, 14),
                token(Token::Text, "y\n", 3, 23),
                token(Token::End, "", 4, 1),
                token(Token::Eof, "", 4, 7),
            ]
        );
    }

    #[test]
    fn malformed_or_unbounded_xml_is_refused() {
        let deep = "<a>".repeat(33);
        let long = format!("<a>{}</a>", "x".repeat(2 << 20));
        let wide =
            format!("<a {}/>", (0..70).map(|n| format!("a{n}=\"\"")).collect::<Vec<_>>().join(" "));
        for (xml, part) in [
            ("<!DOCTYPE a [<!ENTITY b \"c\">]><a>&b;</a>", "entity"),
            ("<a>&b;</a>", "entity"),
            ("<a>&#0;</a>", "well formed"),
            ("<a></b>", "well formed"),
            ("<a b></a>", "attribute"),
            ("<?xml version=\"1.0\" encoding=\"UTF-16\"?><a/>", "UTF-8"),
            (deep.as_str(), "deeper"),
            (long.as_str(), "longer"),
            (wide.as_str(), "attributes"),
        ] {
            let error = tokens(xml).unwrap_err();
            assert!(error.message.contains(part), "{error:?}");
            assert_eq!(error.line, 1);
        }
    }

    #[test]
    fn bytes_that_are_not_utf_8_are_refused() {
        let mut scanner = Scanner::new(&b"<a>\xff</a>"[..], Spot::START);
        scanner.next().unwrap();

        assert!(scanner.next().unwrap_err().message.contains("UTF-8"));
    }

    #[test]
    fn attributes_are_recognized_with_any_prefix() {
        let xml = "<S id=' a ' ref=\"b&amp;c\" x:nil='true' other='1'/>";
        let mut scanner = Scanner::new(xml.as_bytes(), Spot::START);

        scanner.next().unwrap();

        let tag = scanner.tag();
        assert_eq!(tag.id.as_deref(), Some("a"));
        assert_eq!(tag.reference.as_deref(), Some("b&c"));
        assert!(tag.is_nil);
    }
}
