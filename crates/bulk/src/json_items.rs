//! Splits a JSON file into documents without reading their content.

use std::fs::File;
use std::io::{BufRead, Read};

use homeroom_document::DOCUMENT_BYTES_MAX;

use crate::place::{Malformed, Spot};

/// How documents are laid out in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Layout {
    /// One document per line.
    Lines,
    /// One array of documents.
    Array,
}

/// Finds the layout of a file from its first byte that is not blank.
pub(crate) fn layout(file: &File) -> std::io::Result<Option<Layout>> {
    let mut first = vec![];
    file.take(4_096).read_to_end(&mut first)?;
    let text = first.strip_prefix(BOM).unwrap_or(&first);
    Ok(text.iter().find(|byte| !byte.is_ascii_whitespace()).map(|byte| match byte {
        b'[' => Layout::Array,
        _ => Layout::Lines,
    }))
}

const BOM: &[u8] = b"\xef\xbb\xbf";

/// The token that an array must have next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Next {
    Opening,
    Item,
    Comma,
}

/// Splits a source into documents without reading their content.
pub(crate) struct Items<R> {
    source: R,
    layout: Layout,
    /// Where the search for the next item starts.
    pub spot: Spot,
    next: Next,
    /// Bytes of the last item, unless it was too large.
    pub item: Vec<u8>,
    /// Whether the last item was too large.
    pub is_too_large: bool,
}

impl<R: BufRead> Items<R> {
    /// Makes a splitter for a source that starts at the beginning of its file or at an item.
    pub(crate) fn new(source: R, layout: Layout, at: Spot) -> Self {
        // A source that starts within an array starts at an item.
        let next = if at.offset == 0 { Next::Opening } else { Next::Item };
        Self { source, layout, spot: at, next, item: vec![], is_too_large: false }
    }

    /// Reads the next item and returns its place.
    pub(crate) fn next(&mut self) -> Result<Option<Spot>, Malformed> {
        self.item.clear();
        self.is_too_large = false;
        if self.spot == Spot::START {
            self.skip_bom()?;
        }
        match self.layout {
            Layout::Lines => self.line(),
            Layout::Array => self.array_item(),
        }
    }

    fn line(&mut self) -> Result<Option<Spot>, Malformed> {
        self.blanks()?;
        let start = self.spot;
        if self.peek()?.is_none() {
            return Ok(None);
        }
        loop {
            let chunk = fill(&mut self.source, self.spot)?;
            let end = chunk.iter().position(|byte| *byte == b'\n');
            let taken = &chunk[..end.unwrap_or(chunk.len())];
            if self.item.len() + taken.len() > DOCUMENT_BYTES_MAX {
                self.is_too_large = true;
                self.item.clear();
            }
            if !self.is_too_large {
                self.item.extend_from_slice(taken);
            }
            let count = taken.len();
            self.spot = self.spot.after(taken);
            let is_end = end.is_some() || chunk.is_empty();
            self.source.consume(count);
            if is_end {
                return Ok(Some(start));
            }
        }
    }

    fn array_item(&mut self) -> Result<Option<Spot>, Malformed> {
        self.blanks()?;
        let is_end = self.peek()? == Some(b']');
        match self.next {
            Next::Opening => {
                self.expect(b'[', "expected an array of documents")?;
                self.blanks()?;
                if self.peek()? == Some(b']') {
                    return self.end();
                }
            }
            Next::Item => {}
            Next::Comma if is_end => return self.end(),
            Next::Comma => {
                self.expect(b',', "expected a comma or the array's end")?;
                self.blanks()?;
                // As within a document, a trailing comma is allowed.
                if self.peek()? == Some(b']') {
                    return self.end();
                }
            }
        }
        self.next = Next::Comma;
        let start = self.spot;
        if self.peek()? != Some(b'{') {
            return Err(start.malformed("expected a document in braces"));
        }
        let (mut depth, mut is_string, mut is_escaped) = (0_u64, false, false);
        loop {
            let Some(byte) = self.bump()? else {
                return Err(self.spot.malformed("the file ends inside a document"));
            };
            if self.item.len() == DOCUMENT_BYTES_MAX {
                self.is_too_large = true;
                self.item.clear();
            }
            if !self.is_too_large {
                self.item.push(byte);
            }
            match byte {
                _ if is_escaped => is_escaped = false,
                b'\\' if is_string => is_escaped = true,
                b'"' => is_string = !is_string,
                b'{' | b'[' if !is_string => depth += 1,
                b'}' | b']' if !is_string => {
                    depth -= 1;
                    if depth == 0 {
                        return Ok(Some(start));
                    }
                }
                _ => {}
            }
        }
    }

    fn end(&mut self) -> Result<Option<Spot>, Malformed> {
        self.bump()?;
        self.blanks()?;
        match self.peek()? {
            None => Ok(None),
            Some(_) => Err(self.spot.malformed("something follows after the array's end")),
        }
    }

    fn skip_bom(&mut self) -> Result<(), Malformed> {
        if fill(&mut self.source, self.spot)?.starts_with(BOM) {
            self.spot = self.spot.after(BOM);
            self.source.consume(BOM.len());
        }
        Ok(())
    }

    fn blanks(&mut self) -> Result<(), Malformed> {
        while self.peek()?.is_some_and(|byte| byte.is_ascii_whitespace()) {
            self.bump()?;
        }
        Ok(())
    }

    fn expect(&mut self, byte: u8, message: &str) -> Result<(), Malformed> {
        if self.peek()? == Some(byte) {
            return self.bump().map(|_| ());
        }
        Err(self.spot.malformed(message))
    }

    fn peek(&mut self) -> Result<Option<u8>, Malformed> {
        Ok(fill(&mut self.source, self.spot)?.first().copied())
    }

    fn bump(&mut self) -> Result<Option<u8>, Malformed> {
        let byte = self.peek()?;
        if let Some(byte) = byte {
            self.spot = self.spot.after(&[byte]);
            self.source.consume(1);
        }
        Ok(byte)
    }
}

fn fill<R: BufRead>(source: &mut R, at: Spot) -> Result<&[u8], Malformed> {
    source.fill_buf().map_err(|error| at.malformed(format!("the file cannot be read: {error}")))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn items(layout: Layout, text: &str) -> Result<Vec<(String, u64)>, Malformed> {
        let mut items = Items::new(text.as_bytes(), layout, Spot::START);
        let mut found = vec![];
        while let Some(start) = items.next()? {
            found.push((String::from_utf8(items.item.clone()).unwrap(), start.line));
        }
        Ok(found)
    }

    #[test]
    fn each_line_is_an_item_and_blank_lines_are_skipped() {
        let found = items(Layout::Lines, "\u{feff}{\"a\":1}\r\n\n  {\"b\":2}").unwrap();

        assert_eq!(found, [("{\"a\":1}\r".to_owned(), 1), ("{\"b\":2}".to_owned(), 3)]);
        assert!(items(Layout::Lines, " \n").unwrap().is_empty());
    }

    #[test]
    fn an_array_is_split_into_its_items() {
        let text = "[ {\"a\":\"}]\\\"\"},\n{\"b\":[{}]} ]\n";

        let found = items(Layout::Array, text).unwrap();

        assert_eq!(found, [("{\"a\":\"}]\\\"\"}".to_owned(), 1), ("{\"b\":[{}]}".to_owned(), 2)]);
        assert!(items(Layout::Array, "[]").unwrap().is_empty());
        let found = items(Layout::Array, "[{},\n{} , ]\n").unwrap();
        assert_eq!(found, [("{}".to_owned(), 1), ("{}".to_owned(), 2)]);
    }

    #[test]
    fn a_broken_array_is_reported_with_its_position() {
        for (text, line, column) in [
            ("[{} {}", 1, 5),
            ("[{},\n1]", 2, 1),
            ("[{}] x", 1, 6),
            ("[{\"a", 1, 5),
            ("[", 1, 2),
            ("[,]", 1, 2),
            ("[{},,]", 1, 5),
        ] {
            let error = items(Layout::Array, text).unwrap_err();
            assert_eq!((error.line, error.column), (line, column), "{text}: {}", error.message);
        }
    }

    #[test]
    fn an_item_that_is_too_large_is_skipped() {
        let text = format!("{{}}\n\"{}\"\n{{}}", "x".repeat(DOCUMENT_BYTES_MAX));
        let mut items = Items::new(text.as_bytes(), Layout::Lines, Spot::START);

        let mut large = vec![];
        while items.next().unwrap().is_some() {
            large.push(items.is_too_large);
        }

        assert_eq!(large, [false, true, false]);
    }

    proptest! {
        #[test]
        fn no_bytes_make_the_reader_panic_or_stop(bytes in prop::collection::vec(any::<u8>(), 0..99)) {
            for layout in [Layout::Lines, Layout::Array] {
                let mut items = Items::new(bytes.as_slice(), layout, Spot::START);
                let mut last = 0;
                while let Ok(Some(_)) = items.next() {
                    prop_assert!(items.spot.offset > last);
                    last = items.spot.offset;
                }
            }
        }

        #[test]
        fn items_of_an_array_survive_a_round_trip(texts in prop::collection::vec(any::<String>(), 0..9)) {
            let documents: Vec<String> =
                texts.iter().map(|text| serde_json::json!({ "a": [text] }).to_string()).collect();

            let found = items(Layout::Array, &format!("[{}]", documents.join(" ,\n"))).unwrap();

            prop_assert_eq!(found.into_iter().map(|(text, _)| text).collect::<Vec<_>>(), documents);
        }
    }
}
