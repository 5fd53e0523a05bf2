//! Splits a part of an XML file that is in memory into tokens, which borrow from it.

use std::borrow::Cow;

use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};

use super::token::{
    DEPTH_MAX, DOCTYPE, Tag, attributes, character, check_encoding, explain, too_deep,
};

/// A token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Piece<'t> {
    /// The start of an element.
    Start(Tag<'t>),
    /// The end of an element; an empty element has both a start and an end.
    End,
    /// A piece of text, perhaps one of several, with entities replaced.
    Text(Cow<'t, str>),
    /// The end of the part.
    Eof,
}

/// What is wrong with a part of a file, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Fault {
    /// Number of bytes of the part before it.
    pub at: usize,
    /// What is wrong.
    pub message: String,
}

/// Reads tokens from a part of a file that begins between two tokens.
pub(crate) struct Pieces<'t> {
    text: &'t str,
    reader: Reader<&'t [u8]>,
    /// Where the last token began.
    start: usize,
    depth: usize,
    /// Whether the last token was an element that ends at once.
    is_empty: bool,
}

impl<'t> Pieces<'t> {
    /// Makes a reader of a part whose elements are `depth` deep in their file.
    pub(crate) fn new(text: &'t str, depth: usize) -> Self {
        Self { text, reader: Reader::from_str(text), start: 0, depth, is_empty: false }
    }

    /// Returns the number of bytes before the last token.
    pub(crate) fn start(&self) -> usize {
        self.start
    }

    /// Returns the number of bytes up to the end of the last token.
    pub(crate) fn end(&self) -> usize {
        usize::try_from(self.reader.buffer_position()).unwrap_or(self.text.len())
    }

    /// Returns the number of open elements.
    pub(crate) fn depth(&self) -> usize {
        self.depth
    }

    /// Reads the next token.
    pub(crate) fn next(&mut self) -> Result<Piece<'t>, Fault> {
        if std::mem::take(&mut self.is_empty) {
            self.depth -= 1;
            return Ok(Piece::End);
        }
        loop {
            self.start = self.end();
            match self.token() {
                Ok(Some(piece)) => return Ok(piece),
                Ok(None) => {}
                Err(message) => return Err(Fault { at: self.start, message }),
            }
        }
    }

    fn token(&mut self) -> Result<Option<Piece<'t>>, String> {
        match self.reader.read_event().map_err(|e| explain(&e))? {
            Event::Start(start) => self.tag(&start).map(Some),
            Event::Empty(start) => {
                self.is_empty = true;
                self.tag(&start).map(Some)
            }
            Event::End(_) => {
                self.depth = self.depth.saturating_sub(1);
                Ok(Some(Piece::End))
            }
            Event::Text(text) => Ok(Some(Piece::Text(text.xml10_content()))),
            Event::CData(text) if text.contains("<![CDATA[") => {
                Err("a CDATA section does not end before another begins".into())
            }
            Event::CData(text) => Ok(Some(Piece::Text(text.xml10_content()))),
            Event::GeneralRef(reference) => {
                let found = character(&reference)?;
                Ok(Some(Piece::Text(Cow::Owned(found.to_string()))))
            }
            Event::Decl(declaration) => check_encoding(&declaration).map(|()| None),
            Event::DocType(_) => Err(DOCTYPE.into()),
            Event::Comment(text) if text.contains("<!--") => {
                Err("a comment does not end before another begins".into())
            }
            Event::Comment(_) | Event::PI(_) => Ok(None),
            Event::Eof => Ok(Some(Piece::Eof)),
        }
    }

    fn tag(&mut self, start: &BytesStart<'t>) -> Result<Piece<'t>, String> {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return Err(too_deep());
        }
        let bytes = self.text.as_bytes();
        let from = self.start + 1;
        // The name borrows from the text, not from the event.
        let length = start.name().as_ref().len();
        let name = self.text.get(from..from + length).unwrap_or_default();
        let name = name.rsplit_once(':').map_or(name, |(_, name)| name);
        let mut tag = Tag { name, ..Tag::default() };
        let after = bytes.get(from + length);
        if after.is_some_and(u8::is_ascii_whitespace) {
            let end = self.end().min(bytes.len());
            if memchr::memchr(b'<', &bytes[from..end]).is_some() {
                return Err("a tag has a `<`: a quote or a `>` is missing before it".into());
            }
            let (id, reference, is_nil) = attributes(start)?;
            tag.id = id.map(Cow::Owned);
            tag.reference = reference.map(Cow::Owned);
            tag.is_nil = is_nil;
        }
        Ok(Piece::Start(tag))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pieces(text: &str) -> Result<Vec<Piece<'_>>, Fault> {
        let mut pieces = Pieces::new(text, 1);
        let mut found = vec![];
        loop {
            let piece = pieces.next()?;
            let is_end = piece == Piece::Eof;
            found.push(piece);
            if is_end {
                return Ok(found);
            }
        }
    }

    fn start(name: &str) -> Piece<'_> {
        Piece::Start(Tag { name, ..Tag::default() })
    }

    #[test]
    fn a_part_is_split_into_pieces_that_borrow_from_it() {
        let found = pieces("<e:a>x &amp; y\r\nz<b/><![CDATA[<c>]]></e:a>").unwrap();

        let text = |text: &'static str| Piece::Text(text.into());
        assert_eq!(
            found,
            [
                start("a"),
                text("x "),
                text("&"),
                text(" y\nz"),
                start("b"),
                Piece::End,
                text("<c>"),
                Piece::End,
                Piece::Eof,
            ]
        );
        assert!(matches!(&found[1], Piece::Text(Cow::Borrowed(_))));
    }

    #[test]
    fn attributes_are_recognized_with_any_prefix() {
        let found = pieces("<S id=' a '\n ref=\"b&amp;c\" x:nil='true' other='1'/>").unwrap();

        let tag =
            Tag { name: "S", id: Some("a".into()), reference: Some("b&c".into()), is_nil: true };
        assert_eq!(found, [Piece::Start(tag), Piece::End, Piece::Eof]);
    }

    #[test]
    fn a_fault_has_the_place_of_its_token() {
        let deep = "<a>".repeat(DEPTH_MAX);
        for (text, at, part) in [
            ("<a><b></a>", 6, "well formed"),
            ("<a>x&bomb;</a>", 4, "entity"),
            ("<a b></a>", 0, "attribute"),
            ("<!DOCTYPE a>", 0, "DOCTYPE"),
            (deep.as_str(), 3 * (DEPTH_MAX - 1), "deeper"),
        ] {
            let fault = pieces(text).unwrap_err();
            assert_eq!(fault.at, at, "{text}: {}", fault.message);
            assert!(fault.message.contains(part), "{text}: {}", fault.message);
        }
    }
}
