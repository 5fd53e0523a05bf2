//! Compares the stored data beside one document's text with the text.

use std::collections::{HashMap, HashSet};

use homeroom_model::{EXTENSIONS, Resource};
use homeroom_store::{
    DocumentId, Edge, Identity, KindId, NaturalKey, References, Row, Snapshot, StoreError,
};

use super::descriptors::Descriptors;
use super::findings::{Findings, Wrong};
use super::sums::Sums;
use crate::catalog::Catalog;
use crate::json::Json;
use crate::rights::{self, About};
use crate::validate::{Document, column_text, examine, identity};

/// Most identities that are kept between pages.
const REMEMBERED_MAX: usize = 200_000;
/// Most identities that are requested at once.
const ASKED_MAX: usize = 10_000;

/// Checks documents, page by page.
pub(super) struct Looker<'a> {
    catalog: &'a Catalog,
    snapshot: &'a Snapshot,
    /// Referenced documents looked up so far, including all those of the current page.
    known: HashMap<DocumentId, Option<Identity>>,
    met: HashSet<KindId>,
    descriptors: Descriptors,
    /// Text that a body contains if the document has extensions.
    extensions: String,
}

/// A subject of a document that is not stored with it.
struct Missing {
    key: NaturalKey,
    document: i64,
    wrong: Wrong,
}

impl<'a> Looker<'a> {
    pub(super) fn new(
        catalog: &'a Catalog,
        snapshot: &'a Snapshot,
        descriptors: Descriptors,
    ) -> Self {
        let extensions = format!("\"{EXTENSIONS}\":");
        let (known, met) = (HashMap::new(), HashSet::new());
        Self { catalog, snapshot, known, met, descriptors, extensions }
    }

    /// Whether a document of a kind has been checked.
    pub(super) fn has_any(&self, kind: KindId) -> bool {
        self.met.contains(&kind)
    }

    /// Checks a page of one kind; for a kind that the model does not have, only edges can be
    /// checked.
    pub(super) fn page(
        &mut self,
        resource: Option<&Resource>,
        page: &[Row],
        expected: &mut Sums,
        findings: &mut Findings,
    ) -> Result<(), StoreError> {
        for row in page {
            self.met.insert(row.kind);
            for target in References::targets(&row.references) {
                expected.edge(Edge { target, kind: row.kind, source: row.id });
            }
        }
        let Some(resource) = resource else { return Ok(()) };
        self.look_up(page)?;
        let mut missing = vec![];
        for row in page {
            for tie in rights::ties_of(self.catalog, resource, row) {
                expected.tie(&tie, row.id.0);
            }
            let Ok(json) = Json::read(row.body.as_bytes()) else {
                findings.add(resource, Wrong::Json, row.id.0);
                continue;
            };
            let about = rights::about(self.catalog, resource, &row.body);
            if !self.has_right_marks(resource, row, &about, &mut missing) {
                findings.add(resource, Wrong::Marks, row.id.0);
            }
            let has_extensions = row.body.contains(&self.extensions);
            let Ok(document) = examine(self.catalog, resource, &json) else {
                if has_extensions {
                    findings.unserved(resource, row.id.0);
                } else {
                    findings.add(resource, Wrong::Model, row.id.0);
                }
                // The identity is in members that every version of the model has.
                match written_identity(self.catalog, resource, &row.body) {
                    Some((key, alias)) if key == row.key => {
                        if let Some(alias) = alias {
                            expected.alias(row.id, alias);
                        }
                    }
                    _ => findings.add(resource, Wrong::Identity, row.id.0),
                }
                continue;
            };
            if document.key != row.key {
                findings.add(resource, Wrong::Identity, row.id.0);
            }
            if let Some(alias) = document.alias {
                expected.alias(row.id, alias);
            }
            if document.body != row.body {
                if has_extensions {
                    findings.unserved(resource, row.id.0);
                } else {
                    findings.add(resource, Wrong::Canonical, row.id.0);
                }
                continue;
            }
            if !self.descriptors.are_spelled_in(&document) {
                findings.add(resource, Wrong::Spelling, row.id.0);
            }
            if !self.has_right_gaps(resource, row) {
                findings.add(resource, Wrong::Gaps, row.id.0);
            }
            if !self.has_right_links(row, &document) {
                findings.add(resource, Wrong::References, row.id.0);
            }
            if !self.has_right_others(row, &document, &about, &mut missing) {
                findings.add(resource, Wrong::Others, row.id.0);
            }
        }
        self.look_for(resource, missing, findings)
    }

    /// Looks up all documents that a page's documents refer to or have as subjects.
    fn look_up(&mut self, page: &[Row]) -> Result<(), StoreError> {
        if self.known.len() > REMEMBERED_MAX {
            self.known.clear();
        }
        let mut asked: Vec<DocumentId> = vec![];
        for row in page {
            asked.extend(References::targets(&row.references));
            asked.extend(References::marks(&row.references).flatten().map(DocumentId));
        }
        asked.sort_unstable();
        asked.dedup();
        asked.retain(|id| !self.known.contains_key(id));
        for some in asked.chunks(ASKED_MAX) {
            self.known.extend(some.iter().map(|id| (*id, None)));
            let found = self.snapshot.identities(some)?;
            self.known.extend(found.into_iter().map(|found| (found.id, Some(found))));
        }
        Ok(())
    }

    fn identity(&self, id: DocumentId) -> Option<&Identity> {
        self.known.get(&id)?.as_ref()
    }

    /// Whether the row's marks name exactly the organizations and persons that are the subjects of
    /// the text. One more mark may follow, that of the document's owner.
    fn has_right_marks(
        &self,
        resource: &Resource,
        row: &Row,
        about: &[Option<About>],
        missing: &mut Vec<Missing>,
    ) -> bool {
        if References::marks(&row.references).len() > about.len() + 1 {
            return false;
        }
        let stored = rights::stored(self.catalog, resource, row);
        stored.iter().zip(about).all(|(mark, about)| match (mark, about) {
            (mark, Some(About::Organization(id, _))) => *mark == Some(*id),
            (mark, Some(About::Itself)) => *mark == Some(row.id.0),
            (Some(number), Some(About::Person(key))) => {
                self.identity(DocumentId(*number)).is_some_and(|person| person.key == *key)
            }
            (None, Some(About::Person(key))) => {
                missing.push(Missing { key: *key, document: row.id.0, wrong: Wrong::Marks });
                true
            }
            (mark, None) => mark.is_none(),
        })
    }

    /// Whether each reference is stored with its place and its target.
    fn has_right_links(&self, row: &Row, document: &Document) -> bool {
        let links: Vec<_> = References::links(&row.references).collect();
        let is_right =
            |(link, found): (&homeroom_store::Link, &crate::validate::FoundReference)| {
                self.identity(link.target).is_some_and(|target| {
                    link.offset == found.offset
                        && (link.kind, link.uuid) == (target.kind, target.uuid)
                        && carries(target, found.key)
                })
            };
        links.len() == document.references.len()
            && links.iter().zip(&document.references).all(is_right)
    }

    /// Whether the noted places of missing empty collections match the text. Places that are not
    /// noted, or were noted for another model, are found again on each read.
    fn has_right_gaps(&self, resource: &Resource, row: &Row) -> bool {
        let empties = self.catalog.empties(resource.id);
        match References::gaps(&row.references) {
            Some((shape, places)) if shape == empties.shape() => places.eq(empties.find(&row.body)),
            _ => true,
        }
    }

    /// Whether the further targets are exactly the descriptors and the subjects of the text.
    fn has_right_others(
        &self,
        row: &Row,
        document: &Document,
        about: &[Option<About>],
        missing: &mut Vec<Missing>,
    ) -> bool {
        let others: Vec<DocumentId> = References::others(&row.references).collect();
        let descriptors: HashSet<NaturalKey> =
            document.descriptors.iter().map(|descriptor| descriptor.key).collect();
        let people: HashSet<NaturalKey> = rights::targets(about).collect();
        let mut covered: HashSet<NaturalKey> = HashSet::new();
        for other in &others {
            let Some(target) = self.identity(*other) else { return false };
            let before = covered.len();
            let keys = [Some(target.key), target.alias].into_iter().flatten();
            covered.extend(keys.filter(|key| descriptors.contains(key) || people.contains(key)));
            if covered.len() == before {
                return false;
            }
        }
        for key in people.difference(&covered) {
            missing.push(Missing { key: *key, document: row.id.0, wrong: Wrong::Others });
        }
        descriptors.is_subset(&covered) && others.is_sorted_by(|a, b| a < b)
    }

    /// Reports missing subjects that existed when the document was written; others need not be
    /// stored.
    fn look_for(
        &self,
        resource: &Resource,
        missing: Vec<Missing>,
        findings: &mut Findings,
    ) -> Result<(), StoreError> {
        let mut keys: Vec<NaturalKey> = missing.iter().map(|missing| missing.key).collect();
        keys.sort_unstable();
        keys.dedup();
        let mut numbers: HashMap<NaturalKey, i64> = HashMap::new();
        for some in keys.chunks(ASKED_MAX) {
            numbers.extend(self.snapshot.carriers(some)?);
        }
        for missing in missing {
            // Numbers are never reused, and a referenced document cannot be deleted, so a document
            // with a lower number existed at that time.
            if numbers.get(&missing.key).is_some_and(|number| *number < missing.document) {
                findings.add(resource, missing.wrong, missing.document);
            }
        }
        Ok(())
    }
}

/// Returns the identity in a text exactly as written, and the one under its base, whatever else the
/// text contains.
fn written_identity(
    catalog: &Catalog,
    resource: &Resource,
    body: &str,
) -> Option<(NaturalKey, Option<NaturalKey>)> {
    let texts: Option<Vec<&str>> =
        resource.key.iter().map(|column| column_text(resource, body, column.source)).collect();
    Some(identity(catalog, resource, &texts?))
}

/// Whether a document has an identity, as its own or under its base.
fn carries(target: &Identity, key: NaturalKey) -> bool {
    target.key == key || target.alias == Some(key)
}
