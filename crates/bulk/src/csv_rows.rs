//! Splits CSV into rows, and rows into fields.
//!
//! A field may be in quotes, and then holds separators, line breaks and doubled quotes. A quote that
//! is never closed ends its row at the end of the line, so that the rows after it can be read.
//!
//! Source: RFC 4180.

use std::borrow::Cow;
use std::io::Read;
use std::ops::Range;

use homeroom_document::DOCUMENT_BYTES_MAX;

use crate::place::{Malformed, Spot};

/// Bytes that are read at a time.
const CHUNK: usize = 64 << 10;

/// What is said of a quote without its end.
const OPEN_QUOTE: &str = "a quote is opened and not closed";

/// Splits a source into rows.
pub(crate) struct Rows<R> {
    source: R,
    delimiter: u8,
    buffer: Vec<u8>,
    /// Where the next row begins in the buffer.
    next: usize,
    is_over: bool,
    /// Where the next row begins in the file.
    pub spot: Spot,
}

/// A row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Row {
    /// Where it begins in the file.
    pub start: Spot,
    /// Its bytes in the buffer, without the line break.
    bytes: Range<usize>,
    /// Number of bytes after them, up to the line break, of a row that is too long to be kept.
    pub beyond: u64,
    /// Why it cannot be divided into fields.
    pub problem: Option<&'static str>,
}

impl<R: Read> Rows<R> {
    /// Makes a splitter for a source that begins at the start of a row.
    pub(crate) fn new(source: R, delimiter: u8, at: Spot) -> Self {
        Self { source, delimiter, buffer: vec![], next: 0, is_over: false, spot: at }
    }

    /// Reads the next row; blank lines are skipped.
    ///
    /// # Errors
    ///
    /// [`Malformed`] when the source cannot be read.
    pub(crate) fn next(&mut self) -> Result<Option<Row>, Malformed> {
        self.buffer.drain(..self.next);
        self.next = 0;
        if self.spot == Spot::START {
            self.more(3)?;
            if self.buffer.starts_with(b"\xef\xbb\xbf") {
                self.pass(3);
            }
        }
        loop {
            self.more(self.next + 1)?;
            match self.buffer.get(self.next) {
                None => return Ok(None),
                Some(b'\r' | b'\n') => self.pass(1),
                Some(_) => break,
            }
        }
        let (start, from) = (self.spot, self.next);
        let (end, problem) = self.end(from)?;
        self.pass(end - from);
        let is_too_long = end - from > DOCUMENT_BYTES_MAX;
        let beyond = if is_too_long { self.pass_rest_of_line()? } else { 0 };
        Ok(Some(Row { start, bytes: from..end, beyond, problem }))
    }

    /// Returns the text of the last row.
    pub(crate) fn bytes(&self, row: &Row) -> &[u8] {
        let bytes = &self.buffer[row.bytes.clone()];
        bytes.strip_suffix(b"\r").unwrap_or(bytes)
    }

    /// Finds where a row ends.
    fn end(&mut self, from: usize) -> Result<(usize, Option<&'static str>), Malformed> {
        let (mut at, mut state) = (from, State::FieldStart);
        loop {
            while let Some(byte) = self.buffer.get(at) {
                // A quote that closes nothing: the one before it, on an earlier line, was not closed.
                let is_garbage = state == State::Quote
                    && !matches!(*byte, b'"' | b'\r' | b'\n')
                    && *byte != self.delimiter;
                if is_garbage && let Some(line) = memchr::memchr(b'\n', &self.buffer[from..at]) {
                    return Ok((from + line, Some(OPEN_QUOTE)));
                }
                state = match (state, *byte) {
                    (State::Quoted, b'"') => State::Quote,
                    (State::Quoted, _) | (State::Quote, b'"') => State::Quoted,
                    (_, b'\n') => return Ok((at, None)),
                    (_, byte) if byte == self.delimiter => State::FieldStart,
                    (State::FieldStart, b'"') => State::Quoted,
                    _ => State::Plain,
                };
                at += 1;
            }
            let is_too_long = at - from > DOCUMENT_BYTES_MAX;
            if !is_too_long && !self.is_over {
                self.more(at + 1)?;
                continue;
            }
            let problem = match state {
                State::Quoted => Some(OPEN_QUOTE),
                _ if is_too_long => Some("the row is too long"),
                _ => None,
            };
            let line = memchr::memchr(b'\n', &self.buffer[from..]).map(|end| from + end);
            return Ok((line.filter(|_| problem.is_some()).unwrap_or(at), problem));
        }
    }

    /// Passes what follows all bytes of the buffer on their line, without keeping it. Returns its number of
    /// bytes.
    fn pass_rest_of_line(&mut self) -> Result<u64, Malformed> {
        let (kept, mut passed) = (self.next, 0);
        loop {
            self.more(kept + 1)?;
            let rest = &self.buffer[kept..];
            let end = memchr::memchr(b'\n', rest);
            let count = end.unwrap_or(rest.len());
            self.spot = self.spot.after(&rest[..count]);
            passed += count as u64;
            self.buffer.drain(kept..kept + count);
            if end.is_some() || count == 0 {
                return Ok(passed);
            }
        }
    }

    fn pass(&mut self, count: usize) {
        self.spot = self.spot.after(&self.buffer[self.next..self.next + count]);
        self.next += count;
    }

    /// Reads until the buffer has `count` bytes, if there are that many.
    fn more(&mut self, count: usize) -> Result<(), Malformed> {
        while self.buffer.len() < count && !self.is_over {
            let mut chunk = std::mem::take(&mut self.buffer);
            let read = (&mut self.source).take(CHUNK as u64).read_to_end(&mut chunk);
            self.buffer = chunk;
            let read = read.map_err(|error| {
                self.spot.malformed(format!("the file cannot be read: {error}"))
            })?;
            self.is_over = read == 0;
        }
        Ok(())
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    FieldStart,
    Plain,
    Quoted,
    /// After a quote within quotes.
    Quote,
}

/// Divides a row into its fields. An empty field is [`None`]; an empty text in quotes is not.
pub(crate) fn fields(row: &str, delimiter: u8) -> Vec<Option<Cow<'_, str>>> {
    let mut found = vec![];
    let mut rest = row;
    loop {
        let field;
        if let Some(quoted) = rest.strip_prefix('"') {
            let mut text = Cow::Borrowed("");
            let mut left = quoted;
            loop {
                let end = left.find('"').unwrap_or(left.len());
                text += &left[..end];
                left = left.get(end + 1..).unwrap_or_default();
                match left.strip_prefix('"') {
                    Some(after) => {
                        text += "\"";
                        left = after;
                    }
                    None => break,
                }
            }
            let end = left.find(char::from(delimiter)).unwrap_or(left.len());
            text += &left[..end];
            rest = &left[end..];
            field = Some(text);
        } else {
            let end = rest.find(char::from(delimiter)).unwrap_or(rest.len());
            let text = &rest[..end];
            rest = &rest[end..];
            field = (!text.is_empty()).then_some(Cow::Borrowed(text));
        }
        found.push(field);
        match rest.strip_prefix(char::from(delimiter)) {
            Some(after) => rest = after,
            None => return found,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn rows(text: &str) -> Vec<(u64, String, bool)> {
        let mut rows = Rows::new(text.as_bytes(), b',', Spot::START);
        let mut found = vec![];
        while let Some(row) = rows.next().unwrap() {
            let text = String::from_utf8(rows.bytes(&row).to_vec()).unwrap();
            found.push((row.start.line, text, row.problem.is_some()));
        }
        found
    }

    #[test]
    fn a_line_break_in_quotes_does_not_end_a_row() {
        let found = rows("\u{feff}a,b\r\n\r\n1,\"x\ny\"\n2,5\" pipe\n3,z");

        let expected = [(1, "a,b"), (3, "1,\"x\ny\""), (5, "2,5\" pipe"), (6, "3,z")];
        assert_eq!(found, expected.map(|(line, text)| (line, text.to_owned(), false)));
    }

    #[test]
    fn a_quote_that_is_never_closed_spoils_one_row_only() {
        let found = rows("a,b\n1,\"x\n2,y\n3,z\n");

        assert_eq!(found.len(), 4, "{found:?}");
        assert_eq!(found[1], (2, "1,\"x".to_owned(), true));
        assert_eq!(found[3], (4, "3,z".to_owned(), false));
    }

    #[test]
    fn a_quote_that_is_closed_by_one_of_another_row_spoils_one_row_only() {
        for text in
            ["a,b\n1,\"x\n2,\"y\",3\n4,z\n", "\"a\",\"b\"\n\"1\",\"x\n\"2\",\"y\"\n\"4\",z\n"]
        {
            let found = rows(text);

            assert_eq!(found.len(), 4, "{found:?}");
            let broken: Vec<bool> = found.iter().map(|(_, _, is_broken)| *is_broken).collect();
            assert_eq!(broken, [false, true, false, false], "{found:?}");
        }
    }

    #[test]
    fn a_row_has_its_fields() {
        let text = |text: &'static str| Some(Cow::Borrowed(text));

        assert_eq!(fields("a,,\"\",\"b\"\"c,\"", b','), [text("a"), None, text(""), text("b\"c,")]);
        assert_eq!(fields("a;b,", b';'), [text("a"), text("b,")]);
        assert_eq!(fields(",", b','), [None, None]);
    }

    proptest! {
        #[test]
        fn fields_survive_a_round_trip(
            table in prop::collection::vec(prop::collection::vec("[a\",;\r\n é]{1,5}", 1..5), 1..5),
        ) {
            let quoted = |field: &String| format!("\"{}\"", field.replace('"', "\"\""));
            let lines = table.iter().map(|row| row.iter().map(quoted).collect::<Vec<_>>().join(","));
            let text = lines.collect::<Vec<_>>().join("\r\n");

            let mut rows = Rows::new(text.as_bytes(), b',', Spot::START);
            let mut found = vec![];
            while let Some(row) = rows.next().unwrap() {
                let row = std::str::from_utf8(rows.bytes(&row)).unwrap().to_owned();
                let row = fields(&row, b',').into_iter().map(|f| f.unwrap_or_default().into_owned());
                found.push(row.collect::<Vec<String>>());
            }

            prop_assert_eq!(found, table);
        }

        #[test]
        fn no_bytes_make_the_splitter_panic_or_stop(bytes in prop::collection::vec(any::<u8>(), 0..99)) {
            let mut rows = Rows::new(bytes.as_slice(), b',', Spot::START);
            let mut last = None;
            while let Ok(Some(row)) = rows.next() {
                prop_assert!(last.is_none_or(|last| row.start.offset > last));
                last = Some(row.start.offset);
                _ = fields(&String::from_utf8_lossy(rows.bytes(&row)), b',');
            }
        }
    }
}
