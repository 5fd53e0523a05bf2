//! The marks and the ties that follow from a document.

use homeroom_model::{Place, Resource};
use homeroom_store::{DocumentId, NaturalKey, References, Row, Start, Tie};

use super::about::About;
use super::routes::Maker;
use super::text::text_at;
use crate::catalog::Catalog;

/// Returns the marks of a document, given its own number and those of its other subjects. The mark
/// of `owner` is the last.
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
pub fn stored(catalog: &Catalog, resource: &Resource, row: &Row) -> Vec<Option<i64>> {
    let slots = catalog.routes.slots(resource.id).len();
    let mut marks: Vec<Option<i64>> = References::marks(&row.references).take(slots).collect();
    marks.resize(slots, None);
    marks
}

/// Returns the owner's token of a stored document.
pub fn owner(catalog: &Catalog, resource: &Resource, row: &Row) -> Option<i64> {
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

/// Returns the starting points of questions about the relationships of a stored document: its
/// subjects.
pub fn stored_starts(catalog: &Catalog, resource: &Resource, row: &Row) -> Vec<Option<Start>> {
    stored(catalog, resource, row).into_iter().map(|mark| mark.map(Start::Number)).collect()
}
