//! Reads the records of one interchange file.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

use homeroom_document::{Code, DOCUMENT_BYTES_MAX};
use homeroom_model::{Model, ResourceId};

use super::bounds::name_at;
use super::build::Builder;
use super::elements::{Elements, Found};
use super::keys::Keys;
use super::lookup::{Lookups, questions};
use super::root::RootTag;
use super::shapes::{RecordElement, Shapes};
use super::slice::{Fault, Piece, Pieces};
use crate::error::LoadError;
use crate::flaw::Flaw;
use crate::place::{At, Malformed, Spot};
use crate::record::Record;
use crate::survey::{Run, Survey};

/// An interchange file that has been surveyed.
pub(crate) struct XmlFile<'a> {
    shapes: &'a Shapes<'a>,
    keys: Keys<'a>,
    path: &'a Path,
    index: u32,
    root: &'a RootTag,
}

/// Why reading a file stopped.
#[derive(Debug)]
pub(crate) enum ReadError {
    /// The file does not match its survey.
    Malformed(Malformed),
    /// The load cannot go on.
    Load(LoadError),
}

impl From<Malformed> for ReadError {
    fn from(error: Malformed) -> Self {
        Self::Malformed(error)
    }
}

impl From<LoadError> for ReadError {
    fn from(error: LoadError) -> Self {
        Self::Load(error)
    }
}

impl<'a> XmlFile<'a> {
    /// Makes a reader for a file that was surveyed.
    pub(crate) fn new(
        model: &'a Model,
        shapes: &'a Shapes<'a>,
        path: &'a Path,
        index: u32,
        survey: &'a Survey,
    ) -> Self {
        let Survey { ids, root, .. } = survey;
        Self { shapes, keys: Keys::new(model, shapes, path, ids), path, index, root }
    }

    /// Calls `take` with each wanted record of a run, in the order of the file. Without `lookups`,
    /// a record that has any is incomplete.
    pub(crate) fn each(
        &self,
        run: Run,
        is_wanted: &dyn Fn(ResourceId) -> bool,
        lookups: Option<&Lookups<'_>>,
        take: &mut dyn FnMut(Record<'_>) -> Result<(), LoadError>,
    ) -> Result<(), ReadError> {
        let source = self.open(run.start)?.take(run.end - run.start.offset);
        let mut elements = Elements::new(source, run.start, self.shapes, &self.root.name);
        loop {
            match elements.next()? {
                Found::Element(element) => {
                    let name = element.name(elements.bytes());
                    if let RecordElement::Record(id) = self.shapes.record_element(name)
                        && is_wanted(id)
                    {
                        let start = elements.spot(element.start);
                        let bytes = &elements.bytes()[element.start..element.end];
                        take(self.record(bytes, start, id, lookups)?)?;
                    }
                    elements.pass(element.end);
                }
                Found::Large(element) => {
                    let start = elements.spot(element.start);
                    let name = element.name(elements.bytes());
                    let element_of = self.shapes.record_element(name);
                    let end = elements.pass_large(element)?;
                    if let RecordElement::Record(id) = element_of
                        && is_wanted(id)
                    {
                        take(too_large(self.at_place(start, end), id))?;
                    }
                }
                Found::Stray(_, end) | Found::End(end) => elements.pass(end),
                Found::Nothing => {
                    let end = elements.spot(elements.bytes().len());
                    return if end.offset < run.end { Err(changed(end).into()) } else { Ok(()) };
                }
            }
        }
    }

    /// Calls `take` with the place of each unknown element where a record is expected.
    pub(crate) fn each_unknown(
        &self,
        take: &mut dyn FnMut(At) -> Result<(), LoadError>,
    ) -> Result<(), ReadError> {
        let start = Spot::on_line(self.root.end, 1);
        let mut elements = Elements::new(self.open(start)?, start, self.shapes, &self.root.name);
        loop {
            let found = elements.next()?;
            let (start, name, end) = match found {
                Found::Element(element) => {
                    let name = element.name(elements.bytes()).to_owned();
                    let start = elements.spot(element.start);
                    elements.pass(element.end);
                    (start, name, start.offset + (element.end - element.start) as u64)
                }
                Found::Large(element) => {
                    let name = element.name(elements.bytes()).to_owned();
                    let start = elements.spot(element.start);
                    (start, name, elements.pass_large(element)?)
                }
                Found::Stray(_, end) => {
                    elements.pass(end);
                    continue;
                }
                Found::End(_) | Found::Nothing => return Ok(()),
            };
            if self.shapes.record_element(&name) == RecordElement::Unknown {
                take(self.at_place(start, end))?;
            }
        }
    }

    /// Reads one record again and passes it to `take`.
    pub(crate) fn at<T>(
        &self,
        at: At,
        lookups: &Lookups<'_>,
        take: impl FnOnce(Record<'_>) -> T,
    ) -> Result<T, ReadError> {
        let spot = Spot::on_line(at.offset, at.line);
        let mut bytes = vec![];
        let read = self.open(spot)?.take(at.bytes.min(BYTES_MAX + 1)).read_to_end(&mut bytes);
        read.map_err(|error| unreadable(spot, &error))?;
        // `Elements` would not find it: a start tag that lacks a quote ends only where the next record begins, and the
        // next record is not in these bytes.
        let name = name_at(&bytes).ok_or_else(|| changed(spot))?;
        let RecordElement::Record(id) = self.shapes.record_element(name) else {
            return Err(changed(spot).into());
        };
        if at.bytes > BYTES_MAX {
            return Ok(take(too_large(at, id)));
        }
        Ok(take(self.record(&bytes, spot, id, Some(lookups))?))
    }

    fn at_place(&self, start: Spot, end: u64) -> At {
        let Spot { offset, line, .. } = start;
        At { file: self.index, offset, bytes: end - offset, line }
    }

    /// Reads a record, which is all of `bytes`.
    fn record<'r>(
        &'r self,
        bytes: &'r [u8],
        start: Spot,
        id: ResourceId,
        lookups: Option<&Lookups<'_>>,
    ) -> Result<Record<'r>, LoadError> {
        let at = self.at_place(start, start.offset + bytes.len() as u64);
        if at.bytes > BYTES_MAX {
            return Ok(too_large(at, id));
        }
        let mut builder = Builder::new(self.shapes.of_record(id));
        let read = match std::str::from_utf8(bytes) {
            Ok(text) => build(&mut builder, text),
            Err(error) => Err(Fault {
                at: error.valid_up_to(),
                message: "the bytes there are not UTF-8; convert the file".into(),
            }),
        };
        if let Err(fault) = read {
            return Ok(broken(at, id, start.after(&bytes[..fault.at]), &fault.message));
        }
        self.keys.fill(&mut builder);
        let asked = match lookups {
            Some(lookups) => {
                lookups.fill(&mut builder).map_err(LoadError::Store)?;
                vec![]
            }
            None => questions(&mut builder),
        };
        let flaws = std::mem::take(&mut builder.flaws);
        let strays = std::mem::take(&mut builder.strays);
        let json = builder.into_json();
        Ok(Record { lookups: asked, ..Record::new(at, Some(id), json, flaws, strays) })
    }

    fn open(&self, at: Spot) -> Result<File, Malformed> {
        let open = || {
            let mut file = File::open(self.path)?;
            file.seek(SeekFrom::Start(at.offset))?;
            Ok::<_, std::io::Error>(file)
        };
        open().map_err(|error| unreadable(at, &error))
    }
}

const BYTES_MAX: u64 = DOCUMENT_BYTES_MAX as u64;

/// Feeds the tokens of a whole record to its builder.
fn build<'r>(builder: &mut Builder<'r>, text: &'r str) -> Result<(), Fault> {
    let mut pieces = Pieces::new(text, 1);
    // The start tag of the record itself.
    pieces.next()?;
    loop {
        match pieces.next()? {
            Piece::Start(tag) => builder.start(&tag),
            Piece::Text(text) => builder.text(text),
            Piece::End if builder.end() => return Ok(()),
            Piece::End => {}
            Piece::Eof => {
                return Err(Fault {
                    at: text.len(),
                    message: "the element does not end before the next one begins".into(),
                });
            }
        }
    }
}

fn too_large(at: At, id: ResourceId) -> Record<'static> {
    let flaw = Flaw {
        place: None,
        code: Code::TooLarge,
        path: String::new(),
        general: "A record is too large.",
        message: format!("The record is larger than {DOCUMENT_BYTES_MAX} bytes."),
        hint: "Split it, or leave out what is not needed.",
    };
    Record::flawed(at, Some(id), flaw)
}

/// Returns a record that is not well formed.
fn broken(at: At, id: ResourceId, spot: Spot, message: &str) -> Record<'static> {
    let (line, column) = (spot.line, spot.column());
    let short = |number: u64| u32::try_from(number).unwrap_or(u32::MAX);
    let flaw = Flaw {
        place: Some((short(line), short(column))),
        code: Code::Unreadable,
        path: String::new(),
        general: "A record is not well-formed XML.",
        message: format!("The record cannot be read: {message} (line {line}, column {column})."),
        hint: "Mend the element there, and load it again.",
    };
    Record::flawed(at, Some(id), flaw)
}

fn changed(at: Spot) -> Malformed {
    at.malformed("the file has changed since the load began")
}

fn unreadable(at: Spot, error: &std::io::Error) -> Malformed {
    at.malformed(format!("the file cannot be read: {error}"))
}
