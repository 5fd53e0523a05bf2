//! The elements below a root, one after the other, however long the file is.

use std::io::Read;

use homeroom_document::DOCUMENT_BYTES_MAX;
use memchr::memmem;

use super::bounds::{Below, Bounds, Element};
use super::shapes::Shapes;
use super::window::Window;
use crate::place::{Malformed, Spot};

/// Most bytes of an element that are looked at together; a record of that length is too large.
const ELEMENT_BYTES_MAX: usize = DOCUMENT_BYTES_MAX + (1 << 16);

/// Reads the elements below a root.
pub(crate) struct Elements<'s, R> {
    window: Window<R>,
    bounds: Bounds<'s>,
}

/// What comes next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Found {
    /// An element, with its places in [`Elements::bytes`].
    Element(Element),
    /// An element that is too large to be looked at; only its start is in [`Elements::bytes`].
    Large(Element),
    /// The end tag of the root.
    End(usize),
    /// Something that does not belong there, up to an offset in [`Elements::bytes`].
    Stray(Malformed, usize),
    /// The end of the file.
    Nothing,
}

impl<'s, R: Read> Elements<'s, R> {
    /// Reads a source that begins at `spot`, between two elements below the named root.
    pub(crate) fn new(source: R, spot: Spot, shapes: &'s Shapes<'s>, root: &[u8]) -> Self {
        Self { window: Window::new(source, spot), bounds: Bounds::new(shapes, root) }
    }

    /// Returns the bytes that [`Elements::next`] speaks of.
    pub(crate) fn bytes(&self) -> &[u8] {
        self.window.bytes()
    }

    /// Returns the position of an offset in [`Elements::bytes`].
    pub(crate) fn spot(&self, offset: usize) -> Spot {
        self.window.spot().after(&self.window.bytes()[..offset])
    }

    /// Finds what comes next; reads as far as necessary.
    pub(crate) fn next(&mut self) -> Result<Found, Malformed> {
        loop {
            let is_full = self.bytes().len() >= ELEMENT_BYTES_MAX;
            let is_whole = self.window.is_whole();
            match self.bounds.next(self.window.bytes(), 0, is_whole || is_full) {
                Below::Element(element) if element.end == self.bytes().len() && !is_whole => {
                    return Ok(Found::Large(element));
                }
                Below::Element(element) => return Ok(Found::Element(element)),
                Below::End(_, end) => return Ok(Found::End(end)),
                Below::Stray(from, to, message) => {
                    return Ok(Found::Stray(self.spot(from).malformed(message), to));
                }
                Below::Unfinished(from) => {
                    self.window.advance(from);
                    self.grow()?;
                }
                Below::Nothing if is_whole => return Ok(Found::Nothing),
                Below::Nothing => {
                    self.window.advance(self.bytes().len());
                    self.grow()?;
                }
            }
        }
    }

    /// Goes on after an offset in [`Elements::bytes`].
    pub(crate) fn pass(&mut self, offset: usize) {
        self.window.advance(offset);
    }

    /// Goes on after an element that is too large. Returns the offset in the file of its end.
    pub(crate) fn pass_large(&mut self, element: Element) -> Result<u64, Malformed> {
        let close = format!("{}>", element.name(self.bytes()));
        self.window.advance(element.inside);
        loop {
            let bytes = self.window.bytes();
            if let Some(at) = memmem::find(bytes, close.as_bytes()) {
                self.window.advance(at + close.len());
                break;
            }
            if self.window.is_whole() {
                self.window.advance(bytes.len());
                break;
            }
            self.window.advance(bytes.len().saturating_sub(close.len()));
            self.grow()?;
        }
        Ok(self.window.spot().offset)
    }

    fn grow(&mut self) -> Result<(), Malformed> {
        let spot = self.window.spot();
        let grown = self.window.grow();
        grown.map_err(|error| spot.malformed(format!("the file cannot be read: {error}")))
    }
}
