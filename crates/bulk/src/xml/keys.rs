//! Resolves references by `id` to the keys of the elements that they name.

use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::fs::File;
use std::io::{BufReader, Seek, SeekFrom};
use std::path::Path;
use std::rc::Rc;

use homeroom_document::Code;
use homeroom_model::xml::reference_shape;
use homeroom_model::{ColumnSource, Model, PropertyKind, Resource, Target};

use super::build::{Builder, ById, contradiction};
use super::ids::{Found, Ids};
use super::scan::{Scanner, Token};
use super::shapes::{RecordElement, Shapes};
use crate::flaw::Flaw;
use crate::place::{Malformed, Spot};

/// Most ids between a reference and the values of its key.
const CHAIN_MAX: usize = 8;
/// Most keys that are cached.
const REMEMBERED_MAX: usize = 16_384;

/// Finds keys by the ids of one file.
pub(crate) struct Keys<'a> {
    model: &'a Model,
    shapes: &'a Shapes<'a>,
    path: &'a Path,
    ids: &'a Ids,
    file: RefCell<Option<File>>,
    remembered: RefCell<HashMap<String, Remembered>>,
    /// Whether the current read has exceeded the length limit of a chain.
    is_too_long: Cell<bool>,
}

/// The cached result for an id.
struct Remembered {
    found: Result<Rc<Named>, String>,
    /// Remaining chain length with which the limit was exceeded; a longer remaining chain may
    /// succeed.
    too_long_for: Option<usize>,
}

/// The element that an id names: its target and its key, in key order.
struct Named {
    target: Target,
    values: Vec<Option<String>>,
}

impl<'a> Keys<'a> {
    /// Makes a resolver for a file's ids.
    pub(crate) fn new(
        model: &'a Model,
        shapes: &'a Shapes<'a>,
        path: &'a Path,
        ids: &'a Ids,
    ) -> Self {
        let (file, remembered) = (RefCell::default(), RefCell::default());
        Self { model, shapes, path, ids, file, remembered, is_too_long: Cell::default() }
    }

    /// Fills a record's references by `id`.
    pub(crate) fn fill(&self, builder: &mut Builder<'_>) {
        self.fill_within(builder, CHAIN_MAX);
    }

    fn fill_within(&self, builder: &mut Builder<'_>, chain: usize) {
        for reference in std::mem::take(&mut builder.by_id) {
            let ById { place, members, target, id, path } = reference;
            let found = self.named(&id, chain).and_then(|named| self.key_as(&named, target));
            match found {
                Err(message) => builder.flaw(Flaw {
                    place: None,
                    code: Code::Unresolved,
                    path,
                    general: "A ref cannot be resolved.",
                    message: format!("The ref names the id {id}: {message}."),
                    hint: "Give this id to the intended record or reference in this file, or \
                           write the identity instead of ref.",
                }),
                Ok(values) => {
                    let scalars = self.model.target_key(target).iter().map(|column| column.scalar);
                    for ((member, value), scalar) in members.iter().zip(values).zip(scalars) {
                        if !builder.fill(place, member, value.into(), scalar) {
                            let message = format!(
                                "The element with the id {id} has a different {member} than another element says."
                            );
                            builder.flaw(contradiction(path.clone(), message));
                        }
                    }
                }
            }
        }
    }

    fn named(&self, id: &str, chain: usize) -> Result<Rc<Named>, String> {
        if let Some(known) = self.remembered.borrow().get(id)
            && known.too_long_for.is_none_or(|room| chain <= room)
        {
            self.is_too_long.set(self.is_too_long.get() || known.too_long_for.is_some());
            return known.found.clone();
        }
        let was_too_long = self.is_too_long.replace(false);
        let found = match self.ids.find(id) {
            Found::Nothing => Err("no element of this file has it".into()),
            Found::Several => Err("more than one element of this file has it".into()),
            Found::At(offset) => self.read(offset, chain).map(Rc::new),
        };
        let mut remembered = self.remembered.borrow_mut();
        if remembered.len() >= REMEMBERED_MAX {
            remembered.clear();
        }
        let is_too_long = self.is_too_long.get();
        let too_long_for = is_too_long.then_some(chain);
        remembered.insert(id.to_owned(), Remembered { found: found.clone(), too_long_for });
        self.is_too_long.set(was_too_long || is_too_long);
        found
    }

    /// Reads the element at an offset and returns its target and key.
    fn read(&self, offset: u64, chain: usize) -> Result<Named, String> {
        let Some(chain) = chain.checked_sub(1) else {
            self.is_too_long.set(true);
            return Err(format!("more than {CHAIN_MAX} ids refer to each other in a chain"));
        };
        let again = |error: Malformed| format!("it cannot be read again: {}", error.message);
        let io = |error: std::io::Error| format!("it cannot be read again: {error}");
        let mut file = match self.file.borrow_mut().take() {
            Some(file) => file,
            None => File::open(self.path).map_err(io)?,
        };
        file.seek(SeekFrom::Start(offset)).map_err(io)?;
        let mut scanner = Scanner::new(BufReader::new(&file), Spot::on_line(offset, 1));
        scanner.next().map_err(again)?;
        let element = scanner.tag().name.to_owned();
        let named = if let RecordElement::Record(id) = self.shapes.record_element(&element) {
            let mut builder = Builder::new(self.shapes.of_record(id));
            feed(&mut scanner, &mut builder).map_err(again)?;
            self.fill_within(&mut builder, chain);
            let values = own_key(self.model.resource(id), &builder);
            Ok(Named { target: Target::Resource(id), values })
        } else if let Some(id) = scanner.tag().reference.map(Cow::into_owned) {
            let named = self.named(&id, chain)?;
            Ok(Named { target: named.target, values: named.values.clone() })
        } else {
            self.read_reference(&mut scanner, chain)
        };
        drop(scanner);
        *self.file.borrow_mut() = Some(file);
        named
    }

    /// Reads a reference whose start tag was just read; the identity in it states its target.
    fn read_reference(
        &self,
        scanner: &mut Scanner<BufReader<&File>>,
        chain: usize,
    ) -> Result<Named, String> {
        let again = |error: Malformed| format!("it cannot be read again: {}", error.message);
        loop {
            match scanner.next().map_err(again)? {
                Token::Start => break,
                Token::Eof => return Err("it cannot be read again: the file ends inside it".into()),
                Token::End | Token::Text if scanner.depth() == 0 => {
                    return Err("the reference that has it is empty".into());
                }
                Token::End | Token::Text => {}
            }
        }
        let target = scanner.tag().name.strip_suffix("Identity");
        let Some(target) = target.and_then(|name| self.model.by_name(name)) else {
            return Err(
                "the element that has it is neither a record nor a reference by identity".into()
            );
        };
        let shape = reference_shape(self.model, target);
        let mut builder = Builder::new(&shape);
        builder.start(&scanner.tag());
        feed(scanner, &mut builder).map_err(again)?;
        self.fill_within(&mut builder, chain);
        let members = self.model.target_key(target).iter();
        let values =
            members.map(|column| builder.text_at(&[&column.name]).map(str::to_owned)).collect();
        Ok(Named { target, values })
    }

    /// Converts the key of a named element to that of `wanted`, in key order.
    fn key_as(&self, named: &Named, wanted: Target) -> Result<Vec<String>, String> {
        let base_of = |resource: &Resource| resource.base.clone();
        let values: Vec<Option<String>> = match (named.target, wanted) {
            (there, wanted) if there == wanted => named.values.clone(),
            (Target::Resource(own), Target::Abstract(base)) => {
                match base_of(self.model.resource(own)).filter(|found| found.id == base) {
                    Some(found) => {
                        found.columns.iter().map(|at| named.values[*at].clone()).collect()
                    }
                    None => return Err(self.mismatch(named.target, wanted)),
                }
            }
            (Target::Abstract(base), Target::Resource(own)) => {
                let resource = self.model.resource(own);
                match base_of(resource).filter(|found| found.id == base) {
                    Some(found) => (0..resource.key.len())
                        .map(|at| {
                            let column = found.columns.iter().position(|column| *column == at)?;
                            named.values[column].clone()
                        })
                        .collect(),
                    None => return Err(self.mismatch(named.target, wanted)),
                }
            }
            (there, wanted) => return Err(self.mismatch(there, wanted)),
        };
        let name = self.model.target_name(named.target);
        values
            .into_iter()
            .collect::<Option<_>>()
            .ok_or_else(|| format!("the {name} that has it lacks a part of its own identity"))
    }

    fn mismatch(&self, there: Target, wanted: Target) -> String {
        let (there, wanted) = (self.model.target_name(there), self.model.target_name(wanted));
        format!("it belongs to a {there}, not to a {wanted}")
    }
}

/// Feeds a record's tokens to its builder, up to the record's end.
pub(crate) fn feed<R: std::io::BufRead>(
    scanner: &mut Scanner<R>,
    builder: &mut Builder<'_>,
) -> Result<(), Malformed> {
    loop {
        match scanner.next()? {
            Token::Start => builder.start(&scanner.tag()),
            Token::Text => builder.text(scanner.text().to_owned().into()),
            Token::End if builder.end() => return Ok(()),
            Token::End => {}
            Token::Eof => return Err(scanner.start().malformed("the file ends inside a record")),
        }
    }
}

/// Returns a record's own key, in key order.
pub(crate) fn own_key(resource: &Resource, builder: &Builder<'_>) -> Vec<Option<String>> {
    let values = resource.key.iter().map(|column| match column.source {
        ColumnSource::Scalar(at) => builder.text_at(&[&resource.properties[at].name]),
        ColumnSource::Part(at, part) => match &resource.properties[at].kind {
            PropertyKind::Reference(reference) => {
                builder.text_at(&[&resource.properties[at].name, &reference.parts[part].name])
            }
            _ => None,
        },
    });
    values.map(|value| value.map(str::to_owned)).collect()
}
