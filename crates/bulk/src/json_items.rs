//! Splits a JSON file into documents without reading their content.

mod following;
mod inside;

use std::io::BufRead;

use homeroom_document::DOCUMENT_BYTES_MAX;

use self::following::{Following, Found};
use self::inside::{Inside, Meaning};
use crate::json_layout::{BOM, Layout};
use crate::place::{Malformed, Spot};

/// Most parts between documents that are told one by one.
const STRAYS_MAX: usize = 100;
/// Most bytes that are read ahead to find out whether what follows a fault is still a part of the
/// document.
const AHEAD_BYTES_MAX: usize = DOCUMENT_BYTES_MAX;

/// The token that an array must have next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Next {
    Opening,
    Item,
    Comma,
    /// The array has ended.
    Nothing,
}

/// Splits a source into documents without reading their content.
pub(crate) struct Items<R> {
    source: R,
    /// What was read ahead, and how much of it was taken.
    ahead: (Vec<u8>, usize),
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
        let (ahead, strays, item) = ((vec![], 0), vec![], vec![]);
        Self { source, ahead, layout, spot: at, next, strays, item, is_too_large: false }
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
                (Next::Comma, b'}') if is_array => self.stray("there is a bracket too many"),
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
            let mut meaning = inside.take(byte);
            let mut count = 1;
            if let Meaning::PerhapsNextItem | Meaning::PerhapsLast = meaning {
                let is_last = meaning == Meaning::PerhapsLast;
                meaning = match self.rest_of_collection(usize::from(is_last))? {
                    Some(rest) => {
                        count = rest;
                        inside.after_collection();
                        Meaning::Within
                    }
                    None if is_last => Meaning::Last,
                    None => Meaning::NextItem,
                };
            }
            match meaning {
                Meaning::After => break,
                Meaning::NextItem => {
                    self.next = Next::Item;
                    break;
                }
                _ => {}
            }
            for _ in 0..count {
                let Some(byte) = self.bump()? else { break };
                if self.item.len() == DOCUMENT_BYTES_MAX {
                    self.is_too_large = true;
                    self.item.clear();
                }
                if !self.is_too_large {
                    self.item.push(byte);
                }
            }
            if meaning == Meaning::Last {
                break;
            }
        }
        if inside.is_broken && inside.is_after_array() && self.peek()?.is_none() {
            self.next = Next::Nothing;
        }
        Ok(start)
    }

    /// Returns the number of bytes to the end of the collection in which the next bytes stand, or
    /// [`None`] if they stand in none, as far as can be seen. The first `from` bytes are not looked at.
    fn rest_of_collection(&mut self, from: usize) -> Result<Option<usize>, Malformed> {
        if self.layout != Layout::Array {
            return Ok(None);
        }
        let last = if from == 0 { b',' } else { 0 };
        // What is before `from` is there.
        self.peek_at(0)?;
        let mut following = Following::new(last);
        let (mut at, mut end) = (from, 0);
        while at < AHEAD_BYTES_MAX
            && let Some(byte) = self.peek_at(at)?
        {
            at += 1;
            match following.take(byte) {
                Found::Nothing if following.has_ended() => {
                    end = if end == 0 { at } else { end };
                }
                Found::Nothing => {}
                Found::Collection => return Ok(Some(end)),
                Found::Documents => return Ok(None),
            }
        }
        Ok(None)
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
        match self.ahead.0.get(self.ahead.1) {
            Some(byte) => Ok(Some(*byte)),
            None => Ok(fill(&mut self.source, self.spot)?.first().copied()),
        }
    }

    /// Returns a byte further on.
    fn peek_at(&mut self, at: usize) -> Result<Option<u8>, Malformed> {
        let (ahead, taken) = &mut self.ahead;
        ahead.drain(..std::mem::take(taken));
        if at == ahead.len() {
            let more = fill(&mut self.source, self.spot)?;
            let count = more.len();
            ahead.extend_from_slice(more);
            self.source.consume(count);
        }
        Ok(self.ahead.0.get(at).copied())
    }

    fn bump(&mut self) -> Result<Option<u8>, Malformed> {
        let byte = self.peek()?;
        if let Some(byte) = byte {
            self.spot = self.spot.after(&[byte]);
            let (ahead, taken) = &mut self.ahead;
            if *taken == ahead.len() {
                self.source.consume(1);
                return Ok(Some(byte));
            }
            *taken += 1;
            if *taken == ahead.len() {
                *ahead = vec![];
                *taken = 0;
            }
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
            ("[{\"a\":1}}, {\"b\":2}]", &["{\"a\":1}", "{\"b\":2}"], &[(1, 9)]),
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
    fn a_broken_document_with_collections_is_one_item_and_hides_no_other_document() {
        let whole = "{\"c\":[{\"x\":1}, {\"y\":[{\"z\":1}, {\"z\":2}]}, {\"y\":3}], \"d\":4}";
        for (from, to) in [
            ("{\"c\":", "{\"b\":\"x\" \"c\":"),
            ("{\"c\":", "{\"b\":\"x, \"c\":"),
            ("{\"c\":", "{\"c:"),
            ("{\"x\":1}, ", "{\"x\":1, "),
            ("{\"x\":1}, ", "{\"x\":1}}, "),
            ("{\"x\":1}, ", "\"x\":1}, "),
            ("{\"z\":1}, ", "{\"z\":1, "),
            ("{\"z\":2}]", "{\"z\":2}}]"),
            ("{\"z\":2}]", "{\"z\":2]"),
            ("{\"z\":2}]", "{\"z\":2}"),
            ("{\"z\":2}]}", "{\"z\":2}]"),
            ("{\"y\":3}]", "{\"y\":3}}]"),
            ("{\"y\":3}]", "{\"y\":3}"),
            ("\"y\":3", "\"y\" \"3"),
        ] {
            let broken = whole.replacen(from, to, 1);
            assert_ne!(broken, whole, "{from}");
            for before in [0, 2] {
                let mut all = vec![whole; before];
                all.extend([&*broken, whole, whole, "{\"e\":[{}, {}]}"]);
                let text = format!("[\n{}\n]\n", all.join(",\n"));
                let mut items = Items::new(text.as_bytes(), Layout::Array, Spot::START);
                let mut found = vec![];
                while items.next().unwrap().is_some() {
                    found.push(String::from_utf8(items.item.clone()).unwrap());
                }

                assert_eq!(found.len(), all.len(), "{broken}: {found:#?}");
                assert!(found[before].starts_with(&broken), "{broken}: {found:#?}");
                assert_eq!(found[before + 1..], all[before + 1..], "{broken}");
                assert_eq!(items.strays, [], "{broken}");
            }
        }
    }

    #[test]
    fn what_follows_a_fault_is_found_over_small_pieces_as_well() {
        let text = "[{\"b\":\"x\" \"c\":[{\"x\":1}, {\"y\":2}, {\"y\":3}], \"d\":4},\n{\"e\":5}]";
        let read = |size: usize| {
            let source = std::io::BufReader::with_capacity(size, text.as_bytes());
            let mut items = Items::new(source, Layout::Array, Spot::START);
            let mut found = vec![];
            while let Some(at) = items.next().unwrap() {
                found.push((String::from_utf8(items.item.clone()).unwrap(), at, items.spot));
            }
            found
        };

        let whole = read(1 << 10);

        assert_eq!(whole.len(), 2, "{whole:?}");
        assert_eq!(whole[1].1.line, 2);
        for size in [1, 2, 3, 7, 30] {
            assert_eq!(read(size), whole, "{size}");
        }
    }

    #[test]
    fn what_follows_a_document_with_too_many_brackets_is_found() {
        let deep = format!("{{\"a\":{}1{}}}", "[".repeat(999), "]".repeat(999));
        let found = items(Layout::Array, &format!("[{deep},\n{{\"b\":2}}]")).unwrap();
        assert_eq!(found.len(), 2);
        assert_eq!(found[1], ("{\"b\":2}".to_owned(), 2));
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
