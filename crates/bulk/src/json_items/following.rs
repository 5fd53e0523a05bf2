//! What follows a fault in an array.

use super::inside::{Inside, Meaning};

/// Tells items of a collection in a broken document from the documents that follow it: these go on to
/// the end of the array, while a collection ends and its document goes on.
#[derive(Debug, Default)]
pub(super) struct Following {
    /// The item that is read, or where a comma or bracket comes next.
    item: Option<Inside>,
    /// The last bracket or comma between items.
    last: u8,
}

/// What the bytes after a fault say so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Found {
    Nothing,
    /// The collection ended before this byte.
    Collection,
    Documents,
}

impl Following {
    /// Begins after a byte: zero after an item.
    pub(super) fn new(last: u8) -> Self {
        Self { item: None, last }
    }

    /// Takes the next byte.
    pub(super) fn take(&mut self, byte: u8) -> Found {
        if let Some(item) = &mut self.item {
            match item.take(byte) {
                Meaning::Within if item.is_broken => return Found::Documents,
                Meaning::Within => return Found::Nothing,
                Meaning::Last => {
                    self.item = None;
                    return Found::Nothing;
                }
                _ => return Found::Documents,
            }
        }
        if byte.is_ascii_whitespace() {
            return Found::Nothing;
        }
        let before = std::mem::replace(&mut self.last, byte);
        match (before, byte) {
            (b',', b'{') => {
                let mut item = Inside::default();
                item.take(byte);
                self.item = Some(item);
                self.last = 0;
                Found::Nothing
            }
            (0, b',' | b']') => Found::Nothing,
            (b']', b',' | b'}' | b']') => Found::Collection,
            _ => Found::Documents,
        }
    }

    /// Returns whether the last byte closed the collection or the array.
    pub(super) fn has_ended(&self) -> bool {
        self.item.is_none() && self.last == b']'
    }
}
