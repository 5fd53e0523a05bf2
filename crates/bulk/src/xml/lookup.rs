//! References by other values than the key: finds the one stored document that has all of them.

use std::cell::RefCell;
use std::collections::HashMap;

use homeroom_document::Code;
use homeroom_document::json::Json;
use homeroom_document::scalar;
use homeroom_model::xml::XmlElement;
use homeroom_model::{ColumnSource, Model, Property, PropertyKind, Resource, Scalar, Target};
use homeroom_store::{DocumentId, StoreError};

use super::build::{Builder, ByLookup, Raw, contradiction};
use super::keys::own_key;
use super::shapes::Shapes;
use super::token::Tag;
use crate::flaw::Flaw;
use crate::identity;
use crate::target::Target as WriteTarget;

/// Most answers that are cached.
const REMEMBERED_MAX: usize = 16_384;
/// Number of documents that are read at a time.
const PAGE: u16 = 2_000;

/// Finds documents by the values in lookups.
pub(crate) struct Lookups<'a> {
    store: WriteTarget<'a>,
    shapes: &'a Shapes<'a>,
    remembered: RefCell<HashMap<Question, Answer>>,
}

/// What a lookup asks: the document of a target that has the values of the given elements.
pub(crate) type Question = (Target, Raw);

/// Takes a record's lookups out of it.
pub(crate) fn questions(builder: &mut Builder<'_>) -> Vec<Question> {
    let lookups = std::mem::take(&mut builder.by_lookup).into_iter();
    lookups.map(|lookup| (lookup.target, lookup.given)).collect()
}

/// A key, or why there is none.
type Answer = Result<Vec<String>, String>;

impl<'a> Lookups<'a> {
    /// Makes a finder of documents in a store.
    pub(crate) fn new(store: WriteTarget<'a>, shapes: &'a Shapes<'a>) -> Self {
        Self { store, shapes, remembered: RefCell::default() }
    }

    /// Clears all cached answers, because the store has changed.
    pub(crate) fn forget(&self) {
        self.remembered.borrow_mut().clear();
    }

    /// Whether the answers to all questions are cached.
    pub(crate) fn knows(&self, questions: &[Question]) -> bool {
        let remembered = self.remembered.borrow();
        questions.iter().all(|question| remembered.contains_key(question))
    }

    /// Fills a record's references by lookup.
    ///
    /// # Errors
    ///
    /// Returns an error of the store.
    pub(crate) fn fill(&self, builder: &mut Builder<'_>) -> Result<(), StoreError> {
        for lookup in std::mem::take(&mut builder.by_lookup) {
            let ByLookup { place, members, target, given, path } = lookup;
            match self.key(target, given)? {
                Err(message) => builder.flaw(Flaw {
                    place: None,
                    code: Code::Unresolved,
                    path,
                    general: "A lookup cannot be resolved.",
                    message,
                    hint: "Write the identity instead of the lookup, or values that exactly one \
                           stored document has.",
                }),
                Ok(values) => {
                    let scalars = self.model().target_key(target).iter().map(|c| c.scalar);
                    for ((member, value), scalar) in members.iter().zip(&values).zip(scalars) {
                        if !builder.fill(place, member, value.clone().into(), scalar) {
                            let message = format!(
                                "The document that the lookup finds has a different {member} than an element says."
                            );
                            builder.flaw(contradiction(path.clone(), message));
                        }
                    }
                }
            }
        }
        Ok(())
    }

    fn model(&self) -> &'a Model {
        &self.store.catalog.model
    }

    /// Returns the key of the one document that has the given values.
    fn key(&self, target: Target, given: Raw) -> Result<Answer, StoreError> {
        let question = (target, given);
        if let Some(answer) = self.remembered.borrow().get(&question) {
            return Ok(answer.clone());
        }
        let answer = self.look_up(target, &question.1)?;
        let mut remembered = self.remembered.borrow_mut();
        if remembered.len() >= REMEMBERED_MAX {
            remembered.clear();
        }
        remembered.insert(question, answer.clone());
        Ok(answer)
    }

    fn look_up(&self, target: Target, given: &Raw) -> Result<Answer, StoreError> {
        let name = self.model().target_name(target);
        let resources = match target {
            Target::Resource(id) => vec![id],
            Target::Abstract(id) => self.model().base(id).subclasses.clone(),
        };
        let mut found: Option<Vec<String>> = None;
        let mut is_understood = false;
        for resource in resources.into_iter().map(|id| self.model().resource(id)) {
            let Some(builder) = self.read(resource, given) else { continue };
            is_understood = true;
            let whole: Option<Vec<String>> = own_key(resource, &builder).into_iter().collect();
            let keys = match (whole, builder.into_json()) {
                // A complete key identifies the document, whether it is stored or not.
                (Some(key), _) if matches!(target, Target::Resource(_)) => vec![key],
                (_, Json::Object(members)) if members.is_empty() => vec![],
                (_, wanted) => self.matching(resource, &wanted)?,
            };
            for key in keys {
                let key = match (target, &resource.base) {
                    (Target::Abstract(_), Some(base)) => {
                        base.columns.iter().map(|at| key[*at].clone()).collect()
                    }
                    _ => key,
                };
                if found.replace(key).is_some() {
                    return Ok(Err(format!("More than one {name} has the values of the lookup.")));
                }
            }
        }
        Ok(match found {
            Some(key) => Ok(key),
            None if is_understood => Err(format!("No {name} has the values of the lookup.")),
            None => Err(format!("A {name} does not have the elements of the lookup.")),
        })
    }

    /// Reads the lookup's elements as elements of a resource's record.
    fn read(&self, resource: &Resource, given: &Raw) -> Option<Builder<'_>> {
        let shape = self.shapes.of_record(resource.id);
        let mut builder = Builder::new(shape);
        for child in &given.children {
            let name = self.own_name(resource, shape, &child.name);
            feed(&mut builder, child, name);
        }
        (builder.strays.is_empty() && builder.flaws.is_empty()).then_some(builder)
    }

    /// Returns the element's name in this resource: some subclasses rename the base's key column.
    fn own_name<'n>(
        &'n self,
        resource: &'n Resource,
        shape: &XmlElement,
        name: &'n str,
    ) -> &'n str {
        if shape.child(name).is_some() {
            return name;
        }
        let Some(base) = &resource.base else { return name };
        let columns = self.model().base(base.id).key.iter().zip(&base.columns);
        let own = columns.into_iter().find_map(|(column, own)| {
            column.name.eq_ignore_ascii_case(name).then_some(resource.key[*own].source)
        });
        match own {
            Some(ColumnSource::Scalar(at)) => &resource.properties[at].xml,
            _ => name,
        }
    }

    /// Returns the keys of at most two stored documents that have the wanted values.
    fn matching(
        &self,
        resource: &Resource,
        wanted: &Json<'_>,
    ) -> Result<Vec<Vec<String>>, StoreError> {
        let mut found = vec![];
        let mut after = DocumentId(0);
        loop {
            let kind = self.store.catalog.kind(resource.id);
            let page = self.store.texts(kind, after, PAGE)?;
            let is_last = page.len() < usize::from(PAGE);
            for (id, body) in page {
                after = id;
                let Ok(stored) = Json::read(body.as_bytes()) else { continue };
                if has(&resource.properties, wanted, &stored) {
                    found.extend(identity::plain_columns(resource, &stored));
                    if found.len() > 1 {
                        return Ok(found);
                    }
                }
            }
            if is_last {
                return Ok(found);
            }
        }
    }
}

fn feed(builder: &mut Builder<'_>, raw: &Raw, name: &str) {
    builder.start(&Tag { name, ..Tag::default() });
    builder.text(raw.text.clone().into());
    for child in &raw.children {
        feed(builder, child, &child.name);
    }
    builder.end();
}

/// Whether a stored document has all wanted values; each wanted item must match some stored item.
fn has(properties: &[Property], wanted: &Json<'_>, stored: &Json<'_>) -> bool {
    let (Json::Object(wanted), Json::Object(stored)) = (wanted, stored) else { return false };
    wanted.iter().all(|(name, wanted)| {
        let Some(property) = properties.iter().find(|property| property.name == *name) else {
            return false;
        };
        let Some(stored) = Json::member(stored, name) else { return false };
        match (&property.kind, wanted, stored) {
            (PropertyKind::Scalar(scalar), wanted, stored) => same(*scalar, wanted, stored),
            (PropertyKind::Object(inner), wanted, stored) => has(inner, wanted, stored),
            (PropertyKind::List(inner), Json::Array(wanted), Json::Array(stored)) => {
                wanted.iter().all(|wanted| stored.iter().any(|stored| has(inner, wanted, stored)))
            }
            (PropertyKind::Reference(reference), Json::Object(wanted), Json::Object(stored)) => {
                wanted.iter().all(|(name, wanted)| {
                    let part = reference.parts.iter().find(|part| part.name == *name);
                    part.zip(Json::member(stored, name))
                        .is_some_and(|(part, stored)| same(part.scalar, wanted, stored))
                })
            }
            _ => false,
        }
    })
}

fn same(scalar: Scalar, wanted: &Json<'_>, stored: &Json<'_>) -> bool {
    let canonical = |json| {
        let mut text = String::new();
        scalar::write(&mut text, scalar, json).ok().map(|()| text)
    };
    match (canonical(wanted), canonical(stored)) {
        (Some(wanted), Some(stored)) if matches!(scalar, Scalar::Descriptor(_)) => {
            wanted.eq_ignore_ascii_case(&stored)
        }
        (Some(wanted), Some(stored)) => wanted == stored,
        _ => false,
    }
}
