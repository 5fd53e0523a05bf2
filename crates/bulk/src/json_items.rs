//! Splits a JSON file into documents without reading their content.

use std::fs::File;
use std::io::{BufRead, Read};

use homeroom_document::DOCUMENT_BYTES_MAX;

use crate::place::{Malformed, Spot};

/// Most parts between documents that are told one by one.
const STRAYS_MAX: usize = 100;

/// How documents are laid out in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Layout {
    /// One document per line.
    Lines,
    /// One array of documents.
    Array,
    /// Documents one after the other, over as many lines as they like.
    Values,
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

/// Whether the first document of a file goes on after its line.
pub(crate) fn spans_lines(file: &File) -> std::io::Result<bool> {
    let mut head = vec![];
    file.take(64 << 10).read_to_end(&mut head)?;
    let text = head.strip_prefix(BOM).unwrap_or(&head);
    let mut lines = text.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii);
    let mut lines = lines.by_ref().filter(|line| !line.is_empty());
    let (Some(first), Some(second)) = (lines.next(), lines.next()) else { return Ok(false) };
    Ok(first.starts_with(b"{") && depth(first) > 0 && !second.starts_with(b"{"))
}

/// Returns how many objects and arrays a text leaves open.
fn depth(text: &[u8]) -> i64 {
    let (mut depth, mut is_string, mut is_escaped) = (0, false, false);
    for byte in text {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' if is_string => is_escaped = true,
            b'"' => is_string = !is_string,
            b'{' | b'[' if !is_string => depth += 1,
            b'}' | b']' if !is_string => depth -= 1,
            _ => {}
        }
    }
    depth
}

const BOM: &[u8] = b"\xef\xbb\xbf";

/// The token that an array must have next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Next {
    Opening,
    Item,
    Comma,
    /// The array has ended.
    Nothing,
}

/// Where a document of an array is read.
#[derive(Debug, Default)]
struct Inside {
    /// The brackets that are open.
    open: Vec<u8>,
    /// The last byte that is not blank and not in a string; the quote at the end of a string.
    last: u8,
    is_string: bool,
    is_escaped: bool,
    /// Whether the document is not JSON. Then what is in it is not looked at, and it ends before what
    /// looks like the next one.
    is_broken: bool,
}

/// What a byte means for the document that it may belong to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Meaning {
    /// It belongs to it.
    Within,
    /// It is its last byte.
    Last,
    /// It comes after it.
    After,
    /// It begins the next one; the comma before it was taken already.
    NextItem,
}

impl Inside {
    fn take(&mut self, byte: u8) -> Meaning {
        if self.is_string {
            match byte {
                _ if self.is_escaped => self.is_escaped = false,
                b'\\' => self.is_escaped = true,
                b'"' => (self.is_string, self.last) = (false, b'"'),
                b'\n' => (self.is_string, self.is_broken) = (false, true),
                _ => {}
            }
            return Meaning::Within;
        }
        if byte.is_ascii_whitespace() {
            return Meaning::Within;
        }
        let before = std::mem::replace(&mut self.last, byte);
        if self.is_broken {
            // `}, {` ends it, though a collection in it may look so as well.
            let pair = (std::mem::replace(&mut self.open, vec![before]), before, byte);
            return match pair {
                (open, b',', b'{') if open == b"}" => Meaning::NextItem,
                _ => Meaning::Within,
            };
        }
        let (is_first, top) = (before == 0, self.open.last().copied());
        if top.is_none() && !is_first && matches!(byte, b',' | b']' | b'{' | b'[' | b'"') {
            return Meaning::After;
        }
        match byte {
            // In an object a value comes after a colon only: the object before has no end.
            b'{' if top == Some(b'{') && before != b':' => return Meaning::NextItem,
            b'{' | b'[' => self.open.push(byte),
            b'}' | b']' => {
                let opened = if byte == b'}' { b'{' } else { b'[' };
                if is_first {
                    self.is_broken = true;
                    return Meaning::Within;
                }
                if !self.open.contains(&opened) {
                    // The array ends before the document does.
                    return Meaning::After;
                }
                while self.open.pop().is_some_and(|open| open != opened) {}
                if self.open.is_empty() {
                    return Meaning::Last;
                }
            }
            b'"' => {
                self.is_broken = before == b'"';
                self.is_string = true;
            }
            b',' | b':' => {}
            _ => self.is_broken = before == b'"',
        }
        if self.is_broken {
            self.open.clear();
        }
        Meaning::Within
    }
}

/// Splits a source into documents without reading their content.
pub(crate) struct Items<R> {
    source: R,
    layout: Layout,
    /// Where the search for the next item starts.
    pub spot: Spot,
    next: Next,
    /// What stands between documents and does not belong there, at most a hundred and one.
    pub strays: Vec<Malformed>,
    /// Bytes of the last item, unless it was too large.
    pub item: Vec<u8>,
    /// Whether the last item was too large.
    pub is_too_large: bool,
}

impl<R: BufRead> Items<R> {
    /// Makes a splitter for a source that starts at the beginning of its file or at an item.
    pub(crate) fn new(source: R, layout: Layout, at: Spot) -> Self {
        // A source that starts within an array starts at an item.
        let is_opening = at.offset == 0 && layout == Layout::Array;
        let next = if is_opening { Next::Opening } else { Next::Item };
        Self { source, layout, spot: at, next, strays: vec![], item: vec![], is_too_large: false }
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
            Layout::Array | Layout::Values => self.array_item(),
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
        let is_array = self.layout == Layout::Array;
        loop {
            self.blanks()?;
            let Some(byte) = self.peek()? else {
                if is_array && self.next != Next::Nothing {
                    self.stray("the file ends before its array does; it may have been cut off");
                    self.next = Next::Nothing;
                }
                return Ok(None);
            };
            match (self.next, byte) {
                (Next::Nothing, _) => {
                    self.stray("something follows after the array's end; it was ignored");
                    while self.bump()?.is_some() {}
                    return Ok(None);
                }
                (Next::Opening, b'[') | (Next::Comma, b',') => self.next = Next::Item,
                (_, b']') if is_array => self.next = Next::Nothing,
                (_, b',' | b']') => self.stray("there is no document here"),
                (next, _) => {
                    if next == Next::Comma && is_array {
                        self.stray("a comma is missing before this document");
                    }
                    return self.value().map(Some);
                }
            }
            self.bump()?;
        }
    }

    /// Reads a document, or whatever stands in its place.
    fn value(&mut self) -> Result<Spot, Malformed> {
        let (start, mut inside) = (self.spot, Inside::default());
        self.next = Next::Comma;
        while let Some(byte) = self.peek()? {
            let meaning = inside.take(byte);
            match meaning {
                Meaning::After => break,
                Meaning::NextItem => {
                    self.next = Next::Item;
                    break;
                }
                Meaning::Within | Meaning::Last => {}
            }
            if self.item.len() == DOCUMENT_BYTES_MAX {
                self.is_too_large = true;
                self.item.clear();
            }
            if !self.is_too_large {
                self.item.push(byte);
            }
            self.bump()?;
            if meaning == Meaning::Last {
                break;
            }
        }
        if inside.is_broken && inside.last == b']' && self.peek()?.is_none() {
            self.next = Next::Nothing;
        }
        Ok(start)
    }

    fn stray(&mut self, message: &str) {
        match self.strays.len() {
            0..STRAYS_MAX => self.strays.push(self.spot.malformed(message)),
            STRAYS_MAX => {
                let message = format!("{message}; such parts from here on are not told");
                self.strays.push(self.spot.malformed(message));
            }
            _ => {}
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
    fn what_is_broken_in_an_array_is_told_with_its_position_and_hides_no_other_document() {
        for (text, expected, strays) in [
            ("[{} {}]", &["{}", "{}"][..], &[(1, 5)][..]),
            ("[{},\n1]", &["{}", "1"], &[]),
            ("[{}] x", &["{}"], &[(1, 6)]),
            ("[{\"a", &["{\"a"], &[(1, 5)]),
            ("[", &[], &[(1, 2)]),
            ("[,{}]", &["{}"], &[(1, 2)]),
            ("[{},,{}]", &["{}", "{}"], &[(1, 5)]),
            ("[{\"a\":1, {\"b\":2}]", &["{\"a\":1, ", "{\"b\":2}"], &[]),
            ("[{\"a\":[1,2}, {\"b\":2}]", &["{\"a\":[1,2}", "{\"b\":2}"], &[]),
            ("[{\"a\":\"x,\"b\":1}, {\"b\":2}]", &["{\"a\":\"x,\"b\":1}, ", "{\"b\":2}"], &[]),
            ("[{\"a\":\"x\n}, {\"b\":2}]", &["{\"a\":\"x\n}, ", "{\"b\":2}"], &[]),
            ("[}, {\"b\":2}]", &["}, ", "{\"b\":2}"], &[]),
            ("[{\"b\":2}, {\"a\":1]", &["{\"b\":2}", "{\"a\":1"], &[]),
        ] {
            let mut items = Items::new(text.as_bytes(), Layout::Array, Spot::START);
            let mut found = vec![];
            while items.next().unwrap().is_some() {
                found.push(String::from_utf8(items.item.clone()).unwrap());
            }

            assert_eq!(found, expected, "{text}");
            let places: Vec<_> = items.strays.iter().map(|s| (s.line, s.column)).collect();
            assert_eq!(places, strays, "{text}: {:?}", items.strays);
        }
    }

    #[test]
    fn documents_over_several_lines_follow_each_other() {
        let found = items(Layout::Values, "{\n \"a\": [\n{}]\n}\n\n{\"b\": 1}").unwrap();

        let expected = [("{\n \"a\": [\n{}]\n}".to_owned(), 1), ("{\"b\": 1}".to_owned(), 6)];
        assert_eq!(found, expected);
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
            for layout in [Layout::Lines, Layout::Array, Layout::Values] {
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
