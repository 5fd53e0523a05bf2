//! Ask, decide, write for the data API: upsert, replace by id, delete.

use std::collections::HashMap;
use std::sync::Arc;

use homeroom_access::{Grant, UpsertGrant, namespace_subject};
use homeroom_http::{Kind, Problem, Timestamp, Violations};
use homeroom_model::{PropertyKind, Resource};
use homeroom_store::{
    Answer, Ask, Decide, Decision, DocumentId, KindId, Link, NaturalKey, NewDocument, Plan,
    References, Row, Tombstone, Uuid, Write,
};

use crate::catalog::Catalog;
use crate::json::Json;
use crate::validate::{Document, key_values, validate};

/// Most places that one problem names.
const NAMED_MAX: usize = 100;

/// What the caller demands of the stored version.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Precondition {
    /// Nothing.
    #[default]
    None,
    /// One of these versions (`If-Match`).
    Is(Vec<String>),
    /// Any version, but there must be one (`If-Match: *`).
    Exists,
    /// None of these versions (`If-None-Match`).
    IsNot(Vec<String>),
    /// There must be none yet (`If-None-Match: *`).
    IsNew,
}

impl Precondition {
    fn check(&self, row: Option<&Row>) -> Result<(), Problem> {
        let met = match (self, row) {
            (Self::None, _) | (Self::Exists, Some(_)) | (Self::IsNew | Self::IsNot(_), None) => {
                true
            }
            (Self::Is(_) | Self::Exists, None) | (Self::IsNew, Some(_)) => false,
            (Self::Is(versions), Some(row)) => versions.contains(&row.change_version.to_string()),
            (Self::IsNot(versions), Some(row)) => {
                !versions.contains(&row.change_version.to_string())
            }
        };
        if met { Ok(()) } else { Err(Problem::of(Kind::OptimisticLockFailed)) }
    }
}

/// What an upsert or a replacement did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// A new document.
    Created,
    /// A stored document has a new text.
    Updated,
    /// The document was there, word for word; nothing was written.
    Unchanged,
}

/// What was done to which document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Written {
    /// What was done.
    pub effect: Effect,
    /// Public id of the document.
    pub uuid: Uuid,
    /// Its version before; that of a change comes with the plan's outcome.
    pub version_before: i64,
}

/// Where a document is looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// By its identity; created where it is missing.
    Identity,
    /// By its public id; 404 where it is missing.
    Id(Uuid),
}

/// Creates the document, or replaces the one that has the same identity.
pub fn upsert(
    catalog: &Arc<Catalog>,
    document: Document,
    grant: UpsertGrant,
    precondition: Precondition,
    now: Timestamp,
) -> Plan<Save> {
    Plan {
        ask: vec![Ask::Document(document.key)],
        decide: Save::new(catalog, document, grant, precondition, now, Place::Identity),
    }
}

/// Replaces the document that has this public id.
pub fn replace(
    catalog: &Arc<Catalog>,
    id: Uuid,
    document: Document,
    grant: Grant,
    precondition: Precondition,
    now: Timestamp,
) -> Plan<Save> {
    let grant = UpsertGrant { create: Err(Problem::of(Kind::NotFound)), update: Ok(grant) };
    Plan {
        ask: vec![Ask::DocumentByUuid(id)],
        decide: Save::new(catalog, document, grant, precondition, now, Place::Id(id)),
    }
}

/// The decision of [`upsert`] and [`replace`].
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
    fn new(
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
            modified: self.now.0,
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

/// Deletes the document that has this public id, unless others refer to it.
pub fn delete(
    catalog: &Arc<Catalog>,
    resource: &Resource,
    id: Uuid,
    grant: Grant,
    precondition: Precondition,
    now: Timestamp,
) -> Plan<Delete> {
    Plan {
        ask: vec![Ask::DocumentByUuid(id)],
        decide: Delete {
            catalog: Arc::clone(catalog),
            resource: resource.id,
            grant,
            precondition,
            now,
            stored: None,
        },
    }
}

/// The decision of [`delete`].
pub struct Delete {
    catalog: Arc<Catalog>,
    resource: homeroom_model::ResourceId,
    grant: Grant,
    precondition: Precondition,
    now: Timestamp,
    stored: Option<Row>,
}

impl Delete {
    fn step(&mut self, found: Vec<Answer>) -> Result<Decision<(), Problem>, Problem> {
        let resource = self.catalog.model.resource(self.resource);
        match found.into_iter().next() {
            Some(Answer::Document(row)) => {
                let row = row.filter(|row| row.kind == self.catalog.kind(self.resource));
                let Some(row) = row else {
                    self.precondition.check(None)?;
                    return Err(Problem::of(Kind::NotFound));
                };
                check_stored(&self.grant, resource, &row.body)?;
                self.precondition.check(Some(&row))?;
                let id = row.id;
                self.stored = Some(row);
                Ok(Decision::Ask(vec![Ask::Referrers(id)]))
            }
            Some(Answer::Referrers(kinds)) if kinds.is_empty() => {
                let row = self.stored.take().expect("the first round stored it");
                let alias = identity_under_base(&self.catalog, resource, &row.body);
                let tombstone =
                    Tombstone { key_values: key_values(resource, &row.body), modified: self.now.0 };
                Ok(Decision::Write(
                    vec![Write::Delete { row: Box::new(row), alias, tombstone }],
                    (),
                ))
            }
            Some(Answer::Referrers(kinds)) => {
                let names: Vec<&str> = kinds
                    .iter()
                    .filter_map(|kind| self.catalog.resource(*kind))
                    .map(|resource| resource.name.as_str())
                    .collect();
                Err(Problem::of(Kind::DependentItemExists)
                    .detail(format!("The document is still referred to by: {}.", names.join(", ")))
                    .hint("Delete the documents that refer to it first."))
            }
            _ => Err(Problem::internal("the store answered another question")),
        }
    }
}

impl Decide for Delete {
    type Done = ();
    type Refusal = Problem;

    fn decide(&mut self, found: Vec<Answer>) -> Decision<(), Problem> {
        self.step(found).unwrap_or_else(Decision::Refuse)
    }
}

/// Checks a stored document against a grant.
///
/// # Errors
///
/// 403 when the grant does not reach it.
pub fn check_stored(grant: &Grant, resource: &Resource, body: &str) -> Result<(), Problem> {
    if grant.namespace_prefixes.is_none() {
        return Ok(());
    }
    grant.check_stored(namespace_of(resource, body).as_deref())
}

fn check_proposed(grant: &Grant, resource: &Resource, body: &str) -> Result<(), Problem> {
    if grant.namespace_prefixes.is_none() {
        return Ok(());
    }
    grant.check_proposed(namespace_of(resource, body).as_deref())
}

/// The value of a document's namespace subject.
fn namespace_of(resource: &Resource, body: &str) -> Option<String> {
    let place = &namespace_subject(resource)?.place;
    let Ok(Json::Object(members)) = Json::read(body.as_bytes()) else { return None };
    let property = &resource.properties[*place.steps.first()?];
    let value = Json::member(&members, &property.name)?;
    let value = match (&property.kind, place.part, value) {
        (PropertyKind::Reference(reference), Some(part), Json::Object(parts)) => {
            Json::member(parts.as_slice(), &reference.parts[part].name)?
        }
        (_, _, value) => value,
    };
    if let Json::Text(text) = value { Some(text.to_string()) } else { None }
}

/// The hash of a stored document's identity under its abstract base.
fn identity_under_base(catalog: &Catalog, resource: &Resource, body: &str) -> Option<NaturalKey> {
    resource.base.as_ref()?;
    let json = Json::read(body.as_bytes()).ok()?;
    validate(catalog, resource, &json).ok()?.alias
}

/// What is said of a descriptor that does not exist.
pub(crate) fn unknown_descriptor(name: &str) -> String {
    format!("The value is no known {name}.")
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
