//! Where in a document of an array a byte stands.

use homeroom_document::json::DEPTH_MAX;

/// Most brackets of one document that may be open; one with more is broken. A document of the deepest
/// level has not so many.
const OPEN_MAX: usize = 2 * DEPTH_MAX;

/// Whether a byte is in a string.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum InString {
    #[default]
    No,
    Yes,
    /// After a backslash.
    Escaped,
}

/// Where a document of an array is read.
#[derive(Debug, Default)]
pub(super) struct Inside {
    /// The brackets that are open, at most [`OPEN_MAX`].
    open: Vec<u8>,
    /// The last two bytes that are not blank and not in a string; the quote at the end of a string.
    before: u8,
    last: u8,
    string: InString,
    /// Whether a bracket was closed while others inside it were still open.
    is_mismatched: bool,
    /// Whether the document is not JSON. Then what is in it is not looked at, and it ends before what
    /// looks like the next one.
    pub(super) is_broken: bool,
}

/// What a byte means for the document that it may belong to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Meaning {
    /// It belongs to it.
    Within,
    /// It is its last byte.
    Last,
    /// It is its last byte, unless it is one bracket too many, or a bracket before it is missing.
    PerhapsLast,
    /// It comes after it.
    After,
    /// It begins the next one; the comma before it was taken already.
    NextItem,
    /// It begins the next one, or the next item of a collection in the broken document.
    PerhapsNextItem,
}

impl Inside {
    /// Takes the next byte.
    pub(super) fn take(&mut self, byte: u8) -> Meaning {
        if self.string != InString::No {
            match (self.string, byte) {
                (InString::Escaped, _) => self.string = InString::Yes,
                (_, b'\\') => self.string = InString::Escaped,
                (_, b'"') => (self.string, self.last) = (InString::No, b'"'),
                (_, b'\n') => {
                    self.string = InString::No;
                    self.breaks();
                }
                _ => {}
            }
            return Meaning::Within;
        }
        if byte.is_ascii_whitespace() {
            return Meaning::Within;
        }
        let before_that = std::mem::replace(&mut self.before, self.last);
        let before = std::mem::replace(&mut self.last, byte);
        if self.is_broken {
            return match (before_that, before, byte) {
                (b'}', b',', b'{') => Meaning::PerhapsNextItem,
                _ => Meaning::Within,
            };
        }
        let (is_first, top) = (before == 0, self.open.last().copied());
        if top.is_none() && !is_first && matches!(byte, b',' | b']' | b'{' | b'[' | b'"') {
            return Meaning::After;
        }
        match byte {
            // In an object a value comes after a colon only: the object before has no end.
            b'{' if top == Some(b'{') && before != b':' => {
                let is_in_collection = self.open.contains(&b'[');
                return if is_in_collection { Meaning::PerhapsNextItem } else { Meaning::NextItem };
            }
            b'{' | b'[' if self.open.len() == OPEN_MAX => self.breaks(),
            b'{' | b'[' => self.open.push(byte),
            b'}' | b']' => return self.close(byte, is_first),
            b'"' => {
                if before == b'"' {
                    self.breaks();
                }
                self.string = InString::Yes;
            }
            b',' | b':' => {}
            _ if before == b'"' => self.breaks(),
            _ => {}
        }
        Meaning::Within
    }

    fn close(&mut self, byte: u8, is_first: bool) -> Meaning {
        let opened = if byte == b'}' { b'{' } else { b'[' };
        if is_first {
            self.breaks();
            return Meaning::Within;
        }
        self.is_mismatched |= self.open.last() != Some(&opened);
        if !self.open.contains(&opened) {
            // The array ends before the document does.
            return Meaning::After;
        }
        while self.open.pop().is_some_and(|open| open != opened) {}
        match (self.open.is_empty(), self.is_mismatched) {
            (true, false) => Meaning::Last,
            (true, true) => Meaning::PerhapsLast,
            (false, _) => Meaning::Within,
        }
    }

    /// Takes the document for broken.
    pub(super) fn breaks(&mut self) {
        self.is_broken = true;
        self.open = vec![];
    }

    /// Goes on after the end of a collection in the document, which is broken.
    pub(super) fn after_collection(&mut self) {
        self.breaks();
        self.last = b']';
    }

    /// Returns whether the last byte closed an array.
    pub(super) fn is_after_array(&self) -> bool {
        self.last == b']'
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn brackets_without_end_take_no_memory() {
        let mut inside = Inside::default();
        for _ in 0..1 << 20 {
            assert_eq!(inside.take(b'['), Meaning::Within);
        }

        assert!(inside.is_broken && inside.open.capacity() <= 2 * OPEN_MAX, "{inside:?}");
    }
}
