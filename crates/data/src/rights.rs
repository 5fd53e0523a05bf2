//! Who may see a document: what of it decides, and how that stands to the caller.
//!
//! A document's *marks* are the numbers of those it is about (an organization's id, the document of
//! a person), one a subject of its resource, and its owner's token. *Ties* are what makes an
//! organization belong to another and a person to an organization. Both are the store's; which
//! document has which comes from the model.

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

/// Whom a document is about, by one of its resource's subjects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum About {
    /// An organization, by its id; and the identity of its document, save it is this one.
    Organization(i64, Option<NaturalKey>),
    /// A person, by the identity of its document.
    Person(NaturalKey),
    /// The person that the document itself is.
    Itself,
}

impl About {
    /// Where a way from it begins, in a document of this identity.
    pub(crate) fn start(self, document: NaturalKey) -> Start {
        match self {
            Self::Organization(id, _) => Start::Number(id),
            Self::Person(key) => Start::Document(key),
            Self::Itself => Start::Document(document),
        }
    }

    /// The identity of the other document that it names.
    pub(crate) fn target(self) -> Option<NaturalKey> {
        match self {
            Self::Organization(_, key) => key,
            Self::Person(key) => Some(key),
            Self::Itself => None,
        }
    }
}

/// Whom a document is about, one entry a slot of its resource.
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

/// The JSON text at a place of a canonical document.
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

/// The marks of a document, given its own number and those of the others it is about; `owner` comes
/// last.
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

/// Whom a stored document is about: the marks of its slots.
pub(crate) fn stored(catalog: &Catalog, resource: &Resource, row: &Row) -> Vec<Option<i64>> {
    let slots = catalog.routes.slots(resource.id).len();
    let mut marks: Vec<Option<i64>> = References::marks(&row.references).take(slots).collect();
    marks.resize(slots, None);
    marks
}

/// The owner's token of a stored document.
pub(crate) fn owner(catalog: &Catalog, resource: &Resource, row: &Row) -> Option<i64> {
    References::marks(&row.references).nth(catalog.routes.slots(resource.id).len()).flatten()
}

/// The ties that a document makes, given its text and the marks of its slots.
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

/// The ties that a stored document makes.
pub(crate) fn ties_of(catalog: &Catalog, resource: &Resource, row: &Row) -> Vec<Tie> {
    let marks: Vec<Option<i64>> = References::marks(&row.references).collect();
    ties(catalog, resource, &row.body, &marks)
}

/// The places of a document's references to others of a base.
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

/// All that a document's subjects name beside itself.
pub(crate) fn targets(about: &[Option<About>]) -> impl Iterator<Item = NaturalKey> + '_ {
    about.iter().flatten().filter_map(|about| about.target())
}

/// Whom a document that is sent is about.
pub(crate) fn proposed(catalog: &Catalog, document: &Document) -> Vec<Option<About>> {
    about(catalog, catalog.model.resource(document.resource), &document.body)
}
