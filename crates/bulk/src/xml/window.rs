//! A window over a file that is read from its beginning to its end.

use std::io::{self, Read, Seek, SeekFrom};

use memchr::memmem;

use crate::place::Spot;

/// Bytes that are read at a time.
pub(crate) const BLOCK: usize = 1 << 20;

/// The bytes of a source from a position on; grows as far as it is asked to.
pub(crate) struct Window<R> {
    source: R,
    buffer: Vec<u8>,
    /// Index of the first byte that is still needed.
    start: usize,
    spot: Spot,
    is_whole: bool,
}

impl<R: Read + Seek> Window<R> {
    /// Makes a window over a source that begins at `spot`.
    pub(crate) fn new(source: R, spot: Spot) -> Self {
        Self { source, buffer: vec![], start: 0, spot, is_whole: false }
    }

    /// Returns the bytes that have been read and are still needed.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.buffer[self.start..]
    }

    /// Returns the position of the first of them.
    pub(crate) fn spot(&self) -> Spot {
        self.spot
    }

    /// Whether no more bytes follow.
    pub(crate) fn is_whole(&self) -> bool {
        self.is_whole
    }

    /// Moves the window's beginning.
    pub(crate) fn advance(&mut self, count: usize) {
        self.spot = self.spot.after(&self.buffer[self.start..self.start + count]);
        self.start += count;
    }

    /// Whether `wanted` comes before any `other` in what has not been read yet. The window stays.
    pub(crate) fn is_ahead(&mut self, wanted: &[u8], other: &[u8]) -> io::Result<bool> {
        let back = self.source.stream_position()?;
        // Either may have begun in what was read.
        let begun = wanted.len().max(other.len()) - 1;
        let mut ahead = self.buffer[self.buffer.len().saturating_sub(begun)..].to_vec();
        let found = loop {
            let limit = u64::try_from(BLOCK).unwrap_or(u64::MAX);
            let read = (&mut self.source).take(limit).read_to_end(&mut ahead)?;
            let wanted = memmem::find(&ahead, wanted);
            let is_other = memmem::find(&ahead[..wanted.unwrap_or(ahead.len())], other).is_some();
            if wanted.is_some() || is_other || read < BLOCK {
                break wanted.is_some() && !is_other;
            }
            ahead.drain(..ahead.len() - begun);
        };
        self.source.seek(SeekFrom::Start(back))?;
        Ok(found)
    }

    /// Reads more bytes.
    pub(crate) fn grow(&mut self) -> io::Result<()> {
        self.buffer.drain(..self.start);
        self.start = 0;
        let limit = u64::try_from(BLOCK).unwrap_or(u64::MAX);
        let read = (&mut self.source).take(limit).read_to_end(&mut self.buffer)?;
        self.is_whole = read < BLOCK;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_grows_and_moves_to_the_end() {
        let text = "ab\nc".repeat(BLOCK / 2);
        let mut window = Window::new(io::Cursor::new(&text), Spot::START);
        let mut seen = 0;

        while !window.is_whole() {
            window.grow().unwrap();
            let count = window.bytes().len() - usize::from(!window.is_whole());
            assert_eq!(window.bytes()[..count], text.as_bytes()[seen..seen + count]);
            window.advance(count);
            seen += count;
        }

        assert_eq!(seen, text.len());
        assert_eq!(window.spot().offset, text.len() as u64);
        assert_eq!(window.spot().line, 1 + (BLOCK / 2) as u64);
    }
}
