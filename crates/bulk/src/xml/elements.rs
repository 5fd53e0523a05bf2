//! The elements below a root, one after the other, however long the file is.

use std::io::{Read, Seek};

use homeroom_document::DOCUMENT_BYTES_MAX;
use memchr::{memmem, memrchr};

use super::bounds::{
    Below, Bounds, COMMENT, COMMENT_END, Element, EndTag, OPEN_COMMENT, with_text,
};
use super::shapes::Shapes;
use super::window::Window;
use crate::place::{Malformed, Spot};

/// Most bytes of an element that are looked at together; a record of that length is too large.
const ELEMENT_BYTES_MAX: usize = DOCUMENT_BYTES_MAX + (1 << 16);

/// Most bytes of the end tag of an element that is too large.
const END_TAG_BYTES_MAX: usize = 1 << 12;

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

impl<'s, R: Read + Seek> Elements<'s, R> {
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
            if is_full && !is_whole && self.is_in_comment() {
                if self.window.is_ahead(COMMENT_END, COMMENT).map_err(|e| self.unreadable(&e))? {
                    self.pass_comment()?;
                    continue;
                }
                return Ok(Found::Stray(
                    self.spot(0).malformed(OPEN_COMMENT),
                    with_text(self.bytes(), COMMENT.len()),
                ));
            }
            match self.bounds.next(self.window.bytes(), 0, is_whole || is_full) {
                // Where it ends is not known: the bytes were taken for all there are.
                Below::Element(element)
                    if is_full && !is_whole && element.end == self.bytes().len() =>
                {
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
        let close = EndTag::of(element.whole_name(self.bytes()));
        self.window.advance(element.inside);
        loop {
            let bytes = self.window.bytes();
            match close.find(bytes) {
                Some(end) => {
                    self.window.advance(end);
                    break;
                }
                None if self.window.is_whole() => {
                    self.window.advance(bytes.len());
                    break;
                }
                None => {
                    // What may be the beginning of the end tag is kept.
                    let tail = bytes.len().saturating_sub(END_TAG_BYTES_MAX);
                    let begun = memrchr(b'<', &bytes[tail..]).map_or(bytes.len(), |at| tail + at);
                    self.window.advance(begun);
                    self.grow()?;
                }
            }
        }
        Ok(self.window.spot().offset)
    }

    /// Whether all bytes there are belong to a comment.
    fn is_in_comment(&mut self) -> bool {
        self.window.bytes().starts_with(COMMENT)
            && self.bounds.next(self.window.bytes(), 0, false) == Below::Unfinished(0)
    }

    /// Goes on after a comment that has an end.
    fn pass_comment(&mut self) -> Result<(), Malformed> {
        self.window.advance(COMMENT.len());
        loop {
            let bytes = self.window.bytes();
            if let Some(end) = memmem::find(bytes, COMMENT_END) {
                self.window.advance(end + COMMENT_END.len());
                return Ok(());
            }
            if self.window.is_whole() {
                self.window.advance(bytes.len());
                return Ok(());
            }
            // What may be the beginning of its end is kept.
            self.window.advance(bytes.len().saturating_sub(COMMENT_END.len() - 1));
            self.grow()?;
        }
    }

    fn grow(&mut self) -> Result<(), Malformed> {
        self.window.grow().map_err(|error| self.unreadable(&error))
    }

    fn unreadable(&self, error: &std::io::Error) -> Malformed {
        self.window.spot().malformed(format!("the file cannot be read: {error}"))
    }
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::*;
    use crate::xml::window::BLOCK;

    /// Returns each element's name and length, a `+` after one that is too large, and what is wrong.
    fn elements(text: &str) -> Vec<String> {
        let model = crate::tests::model();
        let shapes = Shapes::of(&model);
        let mut elements = Elements::new(Cursor::new(text), Spot::START, &shapes, b"InterchangeX");
        let mut found = vec![];
        loop {
            match elements.next().unwrap() {
                Found::Element(element) => {
                    let name = element.name(elements.bytes());
                    found.push(format!("{name} {}", element.end - element.start));
                    elements.pass(element.end);
                }
                Found::Large(element) => {
                    let start = elements.spot(element.start).offset;
                    let name = element.name(elements.bytes()).to_owned();
                    let end = elements.pass_large(element).unwrap();
                    found.push(format!("{name} {}+", end - start));
                }
                Found::Stray(stray, end) => {
                    found.push(stray.message);
                    elements.pass(end);
                }
                Found::End(end) => elements.pass(end),
                Found::Nothing => return found,
            }
        }
    }

    #[test]
    fn a_record_is_whole_wherever_a_block_ends() {
        let grade = "<Grade><LearningStandardGrade>B</LearningStandardGrade><x>1</x></Grade>";
        for before in BLOCK - grade.len() - 3..BLOCK + 3 {
            let space = " ".repeat(before);
            let text = format!("{space}{grade}{grade}</InterchangeX>");
            let one = format!("Grade {}", grade.len());
            assert_eq!(elements(&text), [one.clone(), one], "{before}");
        }
    }

    #[test]
    fn a_comment_without_an_end_hides_nothing_and_one_with_an_end_is_passed_however_long_it_is() {
        let filling = "<Grade>1</Grade>".repeat(ELEMENT_BYTES_MAX / 16 + 10);
        let count = filling.len() / 16;
        let one = "Grade 16".to_owned();

        let closed = elements(&format!("<Grade>1</Grade><!--{filling}--><Grade>1</Grade>"));
        let open = elements(&format!("<Grade>1</Grade><!--{filling}<Grade>1</Grade>"));
        let second = elements(&format!("<!--{filling}<!-- x --><Grade>1</Grade>"));

        assert_eq!(closed, [one.clone(), one.clone()]);
        assert_eq!((open.len(), &*open[1]), (count + 3, OPEN_COMMENT));
        assert_eq!((second.len(), &*second[0]), (count + 2, OPEN_COMMENT));
        assert!(open.iter().chain(&second).filter(|found| **found == one).count() == 2 * count + 3);
    }

    #[test]
    fn a_record_that_is_too_large_ends_with_its_own_end_tag() {
        let filling = "<GradeType>1</GradeType><a>".to_owned() + &"y".repeat(BLOCK / 3) + "</a>";
        let count = ELEMENT_BYTES_MAX / filling.len() + 4;
        for more in 0..12 {
            let inside = filling.repeat(count) + &"z".repeat(more);
            for tag in ["Grade", "ed:Grade"] {
                let large = format!("<{tag}>{inside}<MyGrade>1</MyGrade></{tag} >");
                let text = format!("{large}<{tag}>1</{tag}></InterchangeX>");
                let small = 2 * tag.len() + 6;
                let length = large.len();
                assert_eq!(elements(&text), [format!("Grade {length}+"), format!("Grade {small}")]);
            }
        }
    }
}
