//! Whether what rights go by is what the documents say: marks and ties against texts.

use std::collections::{BTreeMap, HashMap};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::Arc;

use homeroom_model::{Model, Resource, SubjectOf};
use homeroom_store::{KindId, NaturalKey, Row, Snapshot, Span, StoreError, Tie};

use super::{About, about, label_names, stored, ties_of};
use crate::catalog::Catalog;

/// A number of ties, and a sum over them that does not depend on their order.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
struct Sum {
    count: u64,
    hashes: u64,
}

impl Sum {
    fn add(&mut self, tie: &Tie, via: i64) {
        let mut hasher = DefaultHasher::new();
        (tie, via).hash(&mut hasher);
        self.count += 1;
        self.hashes = self.hashes.wrapping_add(hasher.finish());
    }
}

/// Looks through a snapshot for documents whose marks are not what their text says, and for ties that
/// no document makes or that are missing. Gives what is wrong, with numbers of documents, nothing
/// else of them.
///
/// # Errors
///
/// The snapshot's own.
pub fn audit_rights(model: &Arc<Model>, snapshot: &Snapshot) -> Result<Vec<String>, StoreError> {
    let catalog = Catalog::of_snapshot(Arc::clone(model), snapshot)?;
    let mut problems = vec![];
    let mut expected: BTreeMap<KindId, Sum> = BTreeMap::new();
    let people = people(&catalog, snapshot)?;
    for resource in &model.resources {
        let has_marks = !catalog.routes.slots(resource.id).is_empty();
        if !has_marks && catalog.routes.makers(resource.id).is_empty() {
            continue;
        }
        let (mut wrong, mut example) = (0_u64, 0);
        each(&catalog, snapshot, resource, |row| {
            if stored(&catalog, resource, row) != said(&catalog, resource, row, &people) {
                (wrong, example) = (wrong + 1, row.id.0);
            }
            for tie in ties_of(&catalog, resource, row) {
                expected.entry(tie.label).or_default().add(&tie, row.id.0);
            }
        })?;
        if wrong > 0 {
            problems.push(format!(
                "{wrong} document(s) of {} are marked as about others than their text says (for \
                 example document {example})",
                resource.path()
            ));
        }
    }
    let found = found(snapshot)?;
    problems.extend(wrong_ties(&catalog, snapshot, &expected, &found)?);
    Ok(problems)
}

/// The numbers of all people's documents.
fn people(catalog: &Catalog, snapshot: &Snapshot) -> Result<HashMap<NaturalKey, i64>, StoreError> {
    let mut numbers = HashMap::new();
    for resource in &catalog.model.resources {
        let slots = catalog.routes.slots(resource.id);
        if slots.iter().any(|slot| slot.is_itself && matches!(slot.of, SubjectOf::Person(_))) {
            each(catalog, snapshot, resource, |row| _ = numbers.insert(row.key, row.id.0))?;
        }
    }
    Ok(numbers)
}

/// The marks that a document should have.
fn said(
    catalog: &Catalog,
    resource: &Resource,
    row: &Row,
    people: &HashMap<NaturalKey, i64>,
) -> Vec<Option<i64>> {
    let about = about(catalog, resource, &row.body).into_iter();
    let mark = |about: Option<About>| match about? {
        About::Organization(id, _) => Some(id),
        About::Person(key) => people.get(&key).copied(),
        About::Itself => Some(row.id.0),
    };
    about.map(mark).collect()
}

fn each(
    catalog: &Catalog,
    snapshot: &Snapshot,
    resource: &Resource,
    mut look: impl FnMut(&Row),
) -> Result<(), StoreError> {
    let kind = catalog.kind(resource.id);
    let mut last: Option<Row> = None;
    loop {
        let mut page = snapshot.documents(kind, Span::Whole, last.as_ref())?;
        page.iter().for_each(&mut look);
        last = page.pop();
        if last.is_none() {
            return Ok(());
        }
    }
}

/// The ties that there are.
fn found(snapshot: &Snapshot) -> Result<BTreeMap<KindId, Sum>, StoreError> {
    let mut found: BTreeMap<KindId, Sum> = BTreeMap::new();
    let mut last = None;
    loop {
        let page = snapshot.ties(last)?;
        for (tie, via) in &page {
            found.entry(tie.label).or_default().add(tie, *via);
        }
        last = page.last().copied();
        if last.is_none() {
            return Ok(found);
        }
    }
}

/// What is wrong with the ties of each label that the model knows; a store may have others, of an
/// extension that is not served any more.
fn wrong_ties(
    catalog: &Catalog,
    snapshot: &Snapshot,
    expected: &BTreeMap<KindId, Sum>,
    found: &BTreeMap<KindId, Sum>,
) -> Result<Vec<String>, StoreError> {
    let labels = label_names(&catalog.model);
    let is_known = |name: &String, kind| catalog.resource(kind).is_some() || labels.contains(name);
    let mut problems = vec![];
    for (name, kind) in snapshot.kinds()? {
        let of = |sums: &BTreeMap<KindId, Sum>| sums.get(&kind).copied().unwrap_or_default();
        let (expected, found) = (of(expected), of(found));
        if expected != found && is_known(&name, kind) {
            problems.push(format!(
                "the {} ties of '{name}' are not the {} that documents make",
                found.count, expected.count
            ));
        }
    }
    Ok(problems)
}
