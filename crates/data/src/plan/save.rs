//! The decision of an upsert and of a replacement by id.

use std::collections::HashMap;
use std::sync::Arc;

use homeroom_access::UpsertGrant;
use homeroom_http::{Kind, Problem, Timestamp, Violations};
use homeroom_model::Resource;
use homeroom_store::{
    Answer, Ask, Decide, Decision, DocumentId, KindId, Link, NaturalKey, NewDocument, References,
    Row, Uuid, Write,
};

use super::{
    Effect, Place, Precondition, Written, check_proposed, check_stored, unknown_descriptor,
};
use crate::catalog::Catalog;
use crate::validate::{Document, key_values};

/// Most places that one problem names.
const NAMED_MAX: usize = 100;

/// The decision of [`super::upsert`] and [`super::replace`].
#[derive(Clone)]
pub struct Save {
    catalog: Arc<Catalog>,
    document: Option<Document>,
    grant: UpsertGrant,
    precondition: Precondition,
    now: Timestamp,
    place: Place,
    stored: Option<Row>,
    /// Identities asked for in the second round, in order.
    asked: Vec<NaturalKey>,
    is_second_round: bool,
}

impl Save {
    pub(super) fn new(
        catalog: &Arc<Catalog>,
        document: Document,
        grant: UpsertGrant,
        precondition: Precondition,
        now: Timestamp,
        place: Place,
    ) -> Self {
        Self {
            catalog: Arc::clone(catalog),
            document: Some(document),
            grant,
            precondition,
            now,
            place,
            stored: None,
            asked: vec![],
            is_second_round: false,
        }
    }

    /// The document was looked up: is it there, may the caller, is there anything to do?
    fn first(&mut self, found: Vec<Answer>) -> Result<Decision<Written, Problem>, Problem> {
        let document = self.document.as_ref().expect("the second round takes it, not the first");
        let resource = self.catalog.model.resource(document.resource);
        let row = match found.into_iter().next() {
            Some(Answer::Document(row)) => row,
            _ => None,
        };
        let row = row.filter(|row| row.kind == self.catalog.kind(document.resource));
        if let (Place::Id(_), None) = (self.place, &row) {
            self.precondition.check(None)?;
            return Err(Problem::of(Kind::NotFound));
        }
        if let Some(row) = &row {
            let grant = self.grant.update.as_ref().map_err(Clone::clone)?;
            check_stored(grant, resource, &row.body)?;
            check_proposed(grant, resource, &document.body)?;
            self.precondition.check(Some(row))?;
            if row.key != document.key {
                return Err(key_change(resource));
            }
            if row.body == document.body {
                let unchanged = Written {
                    effect: Effect::Unchanged,
                    uuid: row.uuid,
                    version_before: row.change_version,
                };
                return Ok(Decision::Write(vec![], unchanged));
            }
        } else {
            let grant = self.grant.create.as_ref().map_err(Clone::clone)?;
            check_proposed(grant, resource, &document.body)?;
            self.precondition.check(None)?;
        }
        self.stored = row;
        self.is_second_round = true;
        self.asked = document
            .references
            .iter()
            .map(|reference| reference.key)
            .chain(document.descriptors.iter().map(|descriptor| descriptor.key))
            .chain(document.alias)
            .collect();
        self.asked.sort_unstable();
        self.asked.dedup();
        if self.asked.is_empty() {
            return self.second(vec![]);
        }
        Ok(Decision::Ask(self.asked.iter().copied().map(Ask::Target).collect()))
    }

    /// The targets were looked up: do they all exist?
    fn second(&mut self, found: Vec<Answer>) -> Result<Decision<Written, Problem>, Problem> {
        let document = self.document.take().expect("a plan is decided once");
        let resource = self.catalog.model.resource(document.resource);
        let kind = self.catalog.kind(document.resource);
        let uuid = self.stored.as_ref().map_or_else(Uuid::new, |row| row.uuid);
        let itself = (self.stored.as_ref().map_or(DocumentId::ITSELF, |row| row.id), uuid, kind);
        let mut targets: HashMap<NaturalKey, (DocumentId, Uuid, KindId)> = HashMap::new();
        for (key, answer) in self.asked.iter().zip(found) {
            if let Answer::Target(Some(target)) = answer {
                targets.insert(*key, target);
            }
        }
        if let Some(alias) = document.alias {
            if targets.get(&alias).is_some_and(|target| target.0 != itself.0) {
                return Err(identity_taken(resource, &document.body));
            }
            targets.insert(alias, itself);
        }
        targets.insert(document.key, itself);
        let references = self.resolve(resource, &document, &targets)?;
        let new = NewDocument {
            uuid,
            kind,
            key: document.key,
            alias: document.alias,
            body: document.body,
            references,
            // A clock that was set back takes no document's moment back.
            modified: self.stored.as_ref().map_or(self.now.0, |row| row.modified.max(self.now.0)),
        };
        Ok(match self.stored.take() {
            None => Decision::Write(
                vec![Write::Create(new)],
                Written { effect: Effect::Created, uuid, version_before: 0 },
            ),
            Some(row) => Decision::Write(
                vec![Write::Replace { old: row.id, old_references: row.references, new }],
                Written { effect: Effect::Updated, uuid, version_before: row.change_version },
            ),
        })
    }

    fn resolve(
        &self,
        resource: &Resource,
        document: &Document,
        targets: &HashMap<NaturalKey, (DocumentId, Uuid, KindId)>,
    ) -> Result<References, Problem> {
        let mut references = References::default();
        let mut unknown = Violations::new();
        let mut missing: Vec<(String, &str)> = vec![];
        for reference in &document.references {
            if let Some((target, uuid, kind)) = targets.get(&reference.key) {
                references.links.push(Link {
                    offset: reference.offset,
                    target: *target,
                    kind: *kind,
                    uuid: *uuid,
                });
            } else {
                let name = self.catalog.model.target_name(reference.target);
                missing.push((reference.path.json(resource), name));
            }
        }
        for descriptor in &document.descriptors {
            if let Some((target, ..)) = targets.get(&descriptor.key) {
                references.others.push(*target);
            } else if unknown.len() < NAMED_MAX {
                let name = &self.catalog.model.resource(descriptor.descriptor).name;
                unknown
                    .entry(descriptor.path.json(resource))
                    .or_default()
                    .push(unknown_descriptor(name));
            }
        }
        references.others.sort_unstable();
        references.others.dedup();
        if !unknown.is_empty() {
            let mut problem = Problem::of(Kind::BadRequest)
                .detail("The document uses descriptor values that this store does not have.")
                .violations(unknown)
                .hint("Send the descriptor first, or use one that GET of the descriptor's endpoint lists.");
            problem.errors = unresolved_all(&missing);
            return Err(problem);
        }
        if !missing.is_empty() {
            let mut names: Vec<&str> = missing.iter().map(|(_, name)| *name).collect();
            names.sort_unstable();
            names.dedup();
            let mut problem = Problem::of(Kind::UnresolvedReference)
                .detail(format!("The referenced {} does not exist.", names.join(", ")))
                .hint("Send the referenced document first; /metadata/data/v3/dependencies gives an order that works.");
            problem.errors = unresolved_all(&missing);
            return Err(problem);
        }
        Ok(references)
    }
}

impl Decide for Save {
    type Done = Written;
    type Refusal = Problem;

    fn decide(&mut self, found: Vec<Answer>) -> Decision<Written, Problem> {
        let decided = if self.is_second_round { self.second(found) } else { self.first(found) };
        decided.unwrap_or_else(Decision::Refuse)
    }
}

/// The first lines about references without a target, and how many more there are.
fn unresolved_all(missing: &[(String, &str)]) -> Vec<String> {
    let mut lines: Vec<String> =
        missing.iter().take(NAMED_MAX).map(|(path, name)| unresolved(path, name)).collect();
    if missing.len() > NAMED_MAX {
        lines.push(format!("… and {} more.", missing.len() - NAMED_MAX));
    }
    lines
}

fn unresolved(path: &str, name: &str) -> String {
    format!("{path}: the referenced {name} does not exist.")
}

fn identity_taken(resource: &Resource, body: &str) -> Problem {
    Problem::of(Kind::NonUniqueIdentity)
        .detail("A document of another kind already has these identifying values.")
        .error(format!("{} {}", resource.name, key_values(resource, body)))
        .hint("The identity must be unique among all kinds of the same base.")
}

fn key_change(resource: &Resource) -> Problem {
    let columns: Vec<&str> = resource.key.iter().map(|column| column.name.as_str()).collect();
    let problem = Problem::of(Kind::KeyChangeNotSupported).error(format!(
        "Identifying values of {}: {}.",
        resource.name,
        columns.join(", ")
    ));
    if resource.updatable_key {
        problem.detail("Changing the identifying values of a stored document is not built yet; delete the document and create it anew.")
    } else {
        problem
    }
}
