//! Decides who may see a document: what it concerns, and how that relates to the caller.
//!
//! A document's *marks* are numbers of its subjects, one per subject of its resource (an
//! organization's id, the number of a person's document), followed by its owner's token. A *tie*
//! states that an organization belongs to another, or a person to an organization. The store keeps
//! both; the model says which document has which.

mod bounds;
mod catalog;
pub(crate) mod explain;
mod standing;
mod views;

use homeroom_model::{Place, PropertyKind, Reference, Resource, SubjectOf, Target};
use homeroom_store::{DocumentId, NaturalKey, References, Row, Start, Tie};

use crate::catalog::Catalog;
use crate::json::member_text;
use crate::validate::Document;

pub(crate) use bounds::bounds;
pub(crate) use catalog::{Maker, Routes, Slot, label_names};
pub(crate) use standing::{Asked, questions};
pub(crate) use views::{AskedViews, past_start, test, through};

/// What a document concerns, by one subject of its resource.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum About {
    /// An organization, by its id, with the identity of its document unless it is this one.
    Organization(i64, Option<NaturalKey>),
    /// A person, by the identity of its document.
    Person(NaturalKey),
    /// The person whom the document itself describes.
    Itself,
}

impl About {
    /// Returns where a path from it begins, in a document of this identity.
    pub(crate) fn start(self, document: NaturalKey) -> Start {
        match self {
            Self::Organization(id, _) => Start::Number(id),
            Self::Person(key) => Start::Document(key),
            Self::Itself => Start::Document(document),
        }
    }

    /// Returns the identity of the other document that it names.
    pub(crate) fn target(self) -> Option<NaturalKey> {
        match self {
            Self::Organization(_, key) => key,
            Self::Person(key) => Some(key),
            Self::Itself => None,
        }
    }
}

/// What a document concerns, one entry per slot of its resource.
pub(crate) fn about(catalog: &Catalog, resource: &Resource, body: &str) -> Vec<Option<About>> {
    let slots = catalog.routes.slots(resource.id);
    slots.iter().map(|slot| about_one(catalog, resource, slot, body)).collect()
}

fn about_one(catalog: &Catalog, resource: &Resource, slot: &Slot, body: &str) -> Option<About> {
    if slot.is_itself && matches!(slot.of, SubjectOf::Person(_)) {
        return Some(About::Itself);
    }
    let text = text_at(resource, &slot.place, body)?;
    match slot.of {
        SubjectOf::Organization(base) => {
            let id = text.parse().ok()?;
            let key = || catalog.key(Target::Abstract(base), [text.as_bytes()]);
            Some(About::Organization(id, (!slot.is_itself).then(key)))
        }
        SubjectOf::Person(person) => {
            Some(About::Person(catalog.key(Target::Resource(person), [text.as_bytes()])))
        }
        SubjectOf::Other => None,
    }
}

/// Returns the JSON text at a place of a canonical document.
fn text_at<'b>(resource: &Resource, place: &Place, body: &'b str) -> Option<&'b str> {
    let property = &resource.properties[*place.steps.first()?];
    let text = member_text(body, &property.name)?;
    match (&property.kind, place.part) {
        (PropertyKind::Reference(reference), Some(part)) => {
            member_text(text, &reference.parts[part].name)
        }
        _ => Some(text),
    }
}

/// Returns the marks of a document, given its own number and those of its other subjects. `owner`
/// comes last.
pub(crate) fn marks(
    about: &[Option<About>],
    own: DocumentId,
    owner: Option<i64>,
    number: impl Fn(NaturalKey) -> Option<i64>,
) -> Vec<Option<i64>> {
    let mark = |about: &Option<About>| match (*about)? {
        About::Organization(id, _) => Some(id),
        About::Person(key) => number(key),
        About::Itself => Some(own.0),
    };
    let mut marks: Vec<Option<i64>> = about.iter().map(mark).collect();
    if owner.is_some() {
        marks.push(owner);
    }
    marks
}

/// Returns the subjects of a stored document: the marks of its slots.
pub(crate) fn stored(catalog: &Catalog, resource: &Resource, row: &Row) -> Vec<Option<i64>> {
    let slots = catalog.routes.slots(resource.id).len();
    let mut marks: Vec<Option<i64>> = References::marks(&row.references).take(slots).collect();
    marks.resize(slots, None);
    marks
}

/// Returns the owner's token of a stored document.
pub(crate) fn owner(catalog: &Catalog, resource: &Resource, row: &Row) -> Option<i64> {
    References::marks(&row.references).nth(catalog.routes.slots(resource.id).len()).flatten()
}

/// Returns the ties that a document makes, given its text and the marks of its slots.
pub(crate) fn ties(
    catalog: &Catalog,
    resource: &Resource,
    body: &str,
    marks: &[Option<i64>],
) -> Vec<Tie> {
    let mark = |slot: usize| marks.get(slot).copied().flatten();
    let mut ties = vec![];
    for maker in catalog.routes.makers(resource.id) {
        match maker {
            Maker::Person { label, item, holder } => {
                if let (Some(item), Some(holder)) = (mark(*item), mark(*holder)) {
                    ties.push(Tie { label: *label, item, holder });
                }
            }
            Maker::Organization { label, own, parents } => {
                let number = |place: &Place| text_at(resource, place, body)?.parse().ok();
                if let Some(item) = number(own) {
                    let holders = parents.iter().filter_map(number).chain([item]);
                    ties.extend(holders.map(|holder| Tie { label: *label, item, holder }));
                }
            }
        }
    }
    ties.sort_unstable();
    ties.dedup();
    ties
}

/// Returns the ties that a stored document makes.
pub(crate) fn ties_of(catalog: &Catalog, resource: &Resource, row: &Row) -> Vec<Tie> {
    let marks: Vec<Option<i64>> = References::marks(&row.references).collect();
    ties(catalog, resource, &row.body, &marks)
}

/// Returns the places of a document's references to other members of a base.
fn parents(
    catalog_model: &homeroom_model::Model,
    resource: &Resource,
    base: homeroom_model::AbstractId,
) -> Vec<Place> {
    let is_of_base = |reference: &Reference| match reference.target {
        Target::Abstract(other) => other == base,
        Target::Resource(id) => {
            catalog_model.resource(id).base.as_ref().is_some_and(|other| other.id == base)
        }
    };
    let properties = resource.properties.iter().enumerate();
    let places = properties.filter_map(|(at, property)| match &property.kind {
        PropertyKind::Reference(reference)
            if reference.parts.len() == 1 && is_of_base(reference) =>
        {
            Some(Place { steps: vec![at], part: Some(0) })
        }
        _ => None,
    });
    places.collect()
}

/// Returns the other documents that a document's subjects name.
pub(crate) fn targets(about: &[Option<About>]) -> impl Iterator<Item = NaturalKey> + '_ {
    about.iter().flatten().filter_map(|about| about.target())
}

/// Returns the subjects of a document that is being sent.
pub(crate) fn proposed(catalog: &Catalog, document: &Document) -> Vec<Option<About>> {
    about(catalog, catalog.model.resource(document.resource), &document.body)
}
