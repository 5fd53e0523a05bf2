//! The first pass over an interchange: finds its records. What is in them is read, and checked to
//! be well formed, in the second pass.

use std::fs::File;
use std::io::{BufReader, Read, Seek, SeekFrom};

use memchr::memchr;

use super::bounds::Element;
use super::elements::{Elements, Found};
use super::ids::{Collector, IDS_MAX};
use super::root::RootTag;
use super::scan::{Scanner, Token};
use super::shapes::{RecordElement, Shapes};
use super::slice::{Piece, Pieces};
use super::token::DOCTYPE;
use crate::levels::Levels;
use crate::place::{At, Malformed, Spot};
use crate::survey::Survey;

/// Most parts of a file that do not belong there and are reported one by one.
const STRAYS_MAX: usize = 100;

/// Reads a whole interchange and keeps only places and counts.
///
/// # Errors
///
/// [`Malformed`] when it is not an interchange, or has too many ids.
pub(crate) fn survey(
    file: &File,
    index: u32,
    shapes: &Shapes<'_>,
    levels: &Levels,
) -> Result<Survey, Malformed> {
    let (root, after, doctype) = root(file)?;
    let mut source = file;
    let sought = source.seek(SeekFrom::Start(after.offset));
    sought.map_err(|error| after.malformed(format!("the file cannot be read: {error}")))?;
    let mut elements = Elements::new(source, after, shapes, &root.name);
    let is_empty = root.is_empty;
    let mut survey = Survey::of_root(root);
    survey.strays.extend(doctype.map(|at| at.malformed(DOCTYPE)));
    let mut surveying =
        Surveying { index, shapes, levels, survey, more: None, ids: Collector::default() };
    if is_empty || surveying.records(&mut elements)? {
        surveying.after_root(&mut elements)?;
    }
    let Surveying { mut survey, more, ids, .. } = surveying;
    survey.strays.extend(more.map(|(first, more)| Malformed {
        message: format!(
            "{}; {more} such parts from here on are not told one by one",
            first.message
        ),
        ..first
    }));
    survey.ids = ids.finish();
    Ok(survey)
}

/// A survey and what is needed for it.
struct Surveying<'f> {
    index: u32,
    shapes: &'f Shapes<'f>,
    levels: &'f Levels,
    survey: Survey,
    /// The first stray that is not kept, and the number of all such.
    more: Option<(Malformed, u64)>,
    ids: Collector,
}

impl Surveying<'_> {
    /// Finds the records below the root. Returns whether the root has an end.
    fn records<R: Read + Seek>(
        &mut self,
        elements: &mut Elements<'_, R>,
    ) -> Result<bool, Malformed> {
        loop {
            match elements.next()? {
                Found::Element(element) => {
                    self.note_ids(elements, element)?;
                    let start = elements.spot(element.start);
                    let end = start.offset + (element.end - element.start) as u64;
                    self.element(element.name(elements.bytes()), start, end);
                    elements.pass(element.end);
                }
                Found::Large(element) => {
                    let start = elements.spot(element.start);
                    let name = element.name(elements.bytes()).to_owned();
                    let end = elements.pass_large(element)?;
                    self.element(&name, start, end);
                }
                Found::Stray(stray, end) => {
                    self.stray(stray);
                    elements.pass(end);
                }
                Found::End(end) => {
                    elements.pass(end);
                    return Ok(true);
                }
                Found::Nothing => {
                    let end = elements.spot(elements.bytes().len());
                    self.stray(end.malformed(
                        "the file ends before its root element does; it may have been cut off",
                    ));
                    return Ok(false);
                }
            }
        }
    }

    fn element(&mut self, name: &str, start: Spot, end: u64) {
        match self.shapes.record_element(name) {
            RecordElement::Record(resource) => {
                self.survey.record(self.levels, Some(resource), start, end);
            }
            RecordElement::Reference => {}
            RecordElement::Unknown => {
                let Spot { offset, line, .. } = start;
                let at = At { file: self.index, offset, bytes: end - offset, line };
                self.survey.unknown(name, at);
            }
        }
    }

    fn stray(&mut self, stray: Malformed) {
        if self.survey.strays.len() < STRAYS_MAX {
            self.survey.strays.push(stray);
        } else {
            let (_, more) = self.more.get_or_insert((stray, 0));
            *more += 1;
        }
    }

    /// Notes the ids in an element, and the references to ids. One that is not well formed has none
    /// from its fault on.
    fn note_ids<R: Read + Seek>(
        &mut self,
        elements: &Elements<'_, R>,
        element: Element,
    ) -> Result<(), Malformed> {
        let bytes = elements.bytes();
        let Element { start, inside, end, .. } = element;
        // An attribute has a `=`; most records have none.
        let part = if memchr(b'=', &bytes[inside..end]).is_some() {
            &bytes[start..end]
        } else if memchr(b'=', &bytes[start..inside]).is_some() {
            &bytes[start..inside]
        } else {
            return Ok(());
        };
        let Ok(text) = std::str::from_utf8(part) else { return Ok(()) };
        let offset = elements.spot(start).offset;
        let mut pieces = Pieces::new(text, 1);
        while let Ok(piece) = pieces.next() {
            let tag = match piece {
                Piece::Start(tag) => tag,
                Piece::End | Piece::Text(_) => continue,
                Piece::Eof => break,
            };
            let offset = offset + pieces.start() as u64;
            let noted = tag.id.is_none_or(|id| self.ids.id(&id, offset))
                && tag.reference.is_none_or(|id| self.ids.reference(&id));
            if !noted {
                return Err(elements.spot(start).malformed(format!(
                    "the file has more than {IDS_MAX} ids or references to them; split it"
                )));
            }
        }
        Ok(())
    }

    /// Looks for content after the root.
    fn after_root<R: Read + Seek>(
        &mut self,
        elements: &mut Elements<'_, R>,
    ) -> Result<(), Malformed> {
        let stray = match elements.next()? {
            Found::Nothing => return Ok(()),
            Found::Element(element) | Found::Large(element) => elements.spot(element.start),
            Found::Stray(stray, _) => {
                self.stray(stray);
                return Ok(());
            }
            Found::End(end) => elements.spot(end),
        };
        self.stray(stray.malformed("there is content after the root element; it was ignored"));
        Ok(())
    }
}

/// Reads up to the end of the root's start tag. Returns it, the position after it, and that of a
/// `DOCTYPE` before it.
fn root(file: &File) -> Result<(RootTag, Spot, Option<Spot>), Malformed> {
    let mut scanner = Scanner::new(BufReader::with_capacity(1 << 13, file), Spot::START);
    loop {
        match scanner.next()? {
            Token::Start => break,
            Token::Text if scanner.text().trim().is_empty() => {}
            Token::Text | Token::End => {
                return Err(scanner.start().malformed("there is text before the root element"));
            }
            Token::Eof => return Err(scanner.start().malformed("the file has no root element")),
        }
    }
    let name = scanner.tag().name;
    if !name.starts_with("Interchange") {
        return Err(scanner.start().malformed(format!(
            "the root element is {name}; the root element of an interchange begins with Interchange"
        )));
    }
    let (start, after) = (scanner.start(), scanner.spot());
    let mut tag = vec![];
    let mut source = file;
    let read = source
        .seek(SeekFrom::Start(start.offset))
        .and_then(|_| source.take(after.offset - start.offset).read_to_end(&mut tag));
    read.map_err(|error| start.malformed(format!("the file cannot be read: {error}")))?;
    Ok((RootTag::new(start.offset, &tag), after, scanner.doctype()))
}
