//! Reads the records of one interchange file.

use std::fs::File;
use std::io::{BufReader, Seek, SeekFrom};
use std::path::Path;

use homeroom_document::Code;
use homeroom_document::DOCUMENT_BYTES_MAX;
use homeroom_model::{Model, ResourceId};

use super::build::Builder;
use super::ids::Ids;
use super::keys::Keys;
use super::lookup::Lookups;
use super::root::RootTag;
use super::scan::{Scanner, Token};
use super::shapes::{RecordElement, Shapes};
use crate::error::LoadError;
use crate::flaw::Flaw;
use crate::place::{At, Malformed, Spot};
use crate::record::Record;
use crate::survey::Run;

/// An interchange file that has been surveyed.
pub(crate) struct XmlFile<'a> {
    shapes: &'a Shapes<'a>,
    lookups: &'a Lookups<'a>,
    keys: Keys<'a>,
    path: &'a Path,
    index: u32,
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
    /// Makes a reader for a file and the ids that its survey found.
    pub(crate) fn new(
        model: &'a Model,
        shapes: &'a Shapes<'a>,
        lookups: &'a Lookups<'a>,
        path: &'a Path,
        index: u32,
        ids: &'a Ids,
    ) -> Self {
        Self { shapes, lookups, keys: Keys::new(model, shapes, path, ids), path, index }
    }

    /// Calls `take` with each wanted record of a run, in the order of the file.
    pub(crate) fn each(
        &self,
        run: Run,
        is_wanted: &dyn Fn(ResourceId) -> bool,
        take: &mut dyn FnMut(Record<'_>) -> Result<(), LoadError>,
    ) -> Result<(), ReadError> {
        let file = self.open(run.start)?;
        let mut scanner = Scanner::new(BufReader::with_capacity(1 << 16, file), run.start);
        while scanner.spot().offset < run.end {
            match scanner.next()? {
                Token::Start => match self.shapes.record_element(&scanner.tag().name) {
                    RecordElement::Record(id) if is_wanted(id) => {
                        take(self.record(&mut scanner, id)?)?;
                    }
                    _ => scanner.skip()?,
                },
                Token::Text => {}
                Token::End | Token::Eof => return Err(changed(scanner.start()).into()),
            }
        }
        Ok(())
    }

    /// Calls `take` with the place of each unknown element where a record is expected.
    pub(crate) fn each_unknown(
        &self,
        root: &RootTag,
        take: &mut dyn FnMut(At) -> Result<(), LoadError>,
    ) -> Result<(), ReadError> {
        let start = Spot::on_line(root.end, 1);
        let mut scanner = Scanner::new(BufReader::with_capacity(1 << 16, self.open(start)?), start);
        // The scanner starts after the root's tag, so the root's end tag is an error; it ends the
        // file.
        while let Ok(token) = scanner.next() {
            if token == Token::Eof {
                break;
            }
            if token != Token::Start {
                continue;
            }
            let Spot { offset, line, .. } = scanner.start();
            let element = self.shapes.record_element(&scanner.tag().name);
            scanner.skip()?;
            if element == RecordElement::Unknown {
                let bytes = scanner.spot().offset - offset;
                take(At { file: self.index, offset, bytes, line })?;
            }
        }
        Ok(())
    }

    /// Reads one record again.
    pub(crate) fn at(&self, at: At) -> Result<Record<'_>, ReadError> {
        let spot = Spot::on_line(at.offset, at.line);
        let mut scanner = Scanner::new(BufReader::new(self.open(spot)?), spot);
        if scanner.next()? == Token::Start
            && let RecordElement::Record(id) = self.shapes.record_element(&scanner.tag().name)
        {
            return self.record(&mut scanner, id);
        }
        Err(changed(scanner.start()).into())
    }

    /// Reads a record whose element has just begun.
    fn record(
        &self,
        scanner: &mut Scanner<BufReader<File>>,
        id: ResourceId,
    ) -> Result<Record<'_>, ReadError> {
        let start = scanner.start();
        let mut builder = Builder::new(self.shapes.of_record(id));
        let outside = scanner.depth() - 1;
        loop {
            match scanner.next()? {
                Token::Start => builder.start(scanner.tag()),
                Token::Text => builder.text(scanner.text()),
                Token::End if builder.end() => break,
                Token::End => {}
                Token::Eof => return Err(changed(scanner.start()).into()),
            }
            if scanner.spot().offset - start.offset > DOCUMENT_BYTES_MAX as u64 {
                while scanner.depth() > outside {
                    if scanner.next()? == Token::Eof {
                        return Err(changed(scanner.start()).into());
                    }
                }
                builder = Builder::new(self.shapes.of_record(id));
                builder.flaw(Flaw {
                    place: None,
                    code: Code::TooLarge,
                    path: String::new(),
                    general: "A record is too large.",
                    message: format!("The record is larger than {DOCUMENT_BYTES_MAX} bytes."),
                    hint: "Split it, or leave out what is not needed.",
                });
                break;
            }
        }
        self.keys.fill(&mut builder);
        self.lookups.fill(&mut builder).map_err(LoadError::Store)?;
        let (offset, line) = (start.offset, start.line);
        let at = At { file: self.index, offset, bytes: scanner.spot().offset - offset, line };
        let flaws = std::mem::take(&mut builder.flaws);
        let strays = std::mem::take(&mut builder.strays);
        Ok(Record { at, resource: Some(id), json: builder.into_json(), flaws, strays })
    }

    fn open(&self, at: Spot) -> Result<File, Malformed> {
        let open = || {
            let mut file = File::open(self.path)?;
            file.seek(SeekFrom::Start(at.offset))?;
            Ok::<_, std::io::Error>(file)
        };
        open().map_err(|error| at.malformed(format!("the file cannot be read: {error}")))
    }
}

fn changed(at: Spot) -> Malformed {
    at.malformed("the file has changed since the load began")
}
