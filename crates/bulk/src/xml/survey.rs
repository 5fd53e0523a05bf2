//! The first pass over an interchange: checks that it is well formed, and finds its records.

use std::fs::File;
use std::io::BufReader;

use super::ids::{Collector, IDS_MAX};
use super::root::RootTag;
use super::scan::{Scanner, Token};
use super::shapes::{RecordElement, Shapes};
use crate::levels::Levels;
use crate::place::{At, Malformed, Spot};
use crate::survey::Survey;

/// Reads a whole interchange and keeps only places and counts.
///
/// # Errors
///
/// [`Malformed`] when it is not well formed, exceeds a limit, or is not an interchange.
pub(crate) fn survey(
    file: &File,
    index: u32,
    shapes: &Shapes<'_>,
    levels: &Levels,
) -> Result<Survey, Malformed> {
    let mut scanner = Scanner::new(BufReader::with_capacity(1 << 16, file), Spot::START);
    let mut survey = Survey { root: root(&mut scanner)?, ..Survey::default() };
    let mut ids = Collector::default();
    loop {
        match scanner.next()? {
            Token::Start => {
                let start = scanner.start();
                let name = scanner.tag().name.clone();
                note_ids(&scanner, &mut ids)?;
                let outside = scanner.depth() - 1;
                while scanner.depth() > outside {
                    match scanner.next()? {
                        Token::Start => note_ids(&scanner, &mut ids)?,
                        Token::Eof => return Err(inside(&scanner)),
                        Token::End | Token::Text => {}
                    }
                }
                let end = scanner.spot().offset;
                match shapes.record_element(&name) {
                    RecordElement::Record(resource) => {
                        survey.record(levels, Some(resource), start, end);
                    }
                    RecordElement::Reference => {}
                    RecordElement::Unknown => {
                        let (offset, line) = (start.offset, start.line);
                        survey
                            .unknown(&name, At { file: index, offset, bytes: end - offset, line });
                    }
                }
            }
            Token::End => break,
            Token::Text => {}
            Token::Eof => return Err(inside(&scanner)),
        }
    }
    loop {
        match scanner.next()? {
            Token::Eof => break,
            Token::Text if scanner.text().trim().is_empty() => {}
            Token::Text | Token::Start | Token::End => {
                return Err(scanner.start().malformed("there is content after the root element"));
            }
        }
    }
    survey.ids = ids.finish();
    Ok(survey)
}

fn root(scanner: &mut Scanner<BufReader<&File>>) -> Result<RootTag, Malformed> {
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
    let name = &scanner.tag().name;
    if !name.starts_with("Interchange") {
        return Err(scanner.start().malformed(format!(
            "the root element is {name}; the root element of an interchange begins with Interchange"
        )));
    }
    Ok(RootTag { start: scanner.start().offset, end: scanner.spot().offset })
}

fn inside(scanner: &Scanner<BufReader<&File>>) -> Malformed {
    scanner.start().malformed("the file ends inside an element; it may have been cut off")
}

fn note_ids(scanner: &Scanner<BufReader<&File>>, ids: &mut Collector) -> Result<(), Malformed> {
    let tag = scanner.tag();
    let noted = tag.id.as_ref().is_none_or(|id| ids.id(id, scanner.start().offset))
        && tag.reference.as_ref().is_none_or(|id| ids.reference(id));
    if noted {
        return Ok(());
    }
    Err(scanner
        .start()
        .malformed(format!("the file has more than {IDS_MAX} ids or references to them; split it")))
}
