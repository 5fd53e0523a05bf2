//! The organizations and persons that a document is about.

use homeroom_model::{Resource, SubjectOf, Target};
use homeroom_store::{NaturalKey, Start};

use super::routes::Slot;
use super::text::text_at;
use crate::catalog::Catalog;
use crate::validate::Document;

/// The organization or person that one subject of a document names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum About {
    /// An organization, by its id, and the identity of its document unless that is the document
    /// itself.
    Organization(i64, Option<NaturalKey>),
    /// A person, by the identity of the person's document.
    Person(NaturalKey),
    /// The person whom the document itself describes.
    Itself,
}

impl About {
    /// Returns the start of a path from it; `document` is the identity of the document itself.
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

/// Returns the subjects of a document, one entry per slot of its resource.
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

/// Returns the other documents that a document's subjects name.
pub(crate) fn targets(about: &[Option<About>]) -> impl Iterator<Item = NaturalKey> + '_ {
    about.iter().flatten().filter_map(|about| about.target())
}

/// Returns the subjects of a document that is being sent.
pub(crate) fn proposed(catalog: &Catalog, document: &Document) -> Vec<Option<About>> {
    about(catalog, catalog.model.resource(document.resource), &document.body)
}
