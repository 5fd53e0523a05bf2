//! Plans of the data API: upsert, replace by id, delete.

mod delete;
mod respell;
mod save;

use std::sync::Arc;

use homeroom_access::{Grant, Phase, UpsertGrant, namespace_subject};
use homeroom_http::{EntityTags, Kind, Problem, Timestamp};
use homeroom_model::{PropertyKind, Resource};
use homeroom_store::{Ask, Plan, Row, Start, Uuid};
use http::{HeaderMap, header};

use crate::catalog::Catalog;
use crate::json::{Json, member_text};
use crate::rights::{self, Asked, AskedViews};
use crate::validate::Document;

pub use delete::Delete;
pub use respell::text_over;
pub use save::Save;

/// The caller's condition on the stored version.
///
/// Source: RFC 9110 §13.2.2 (`If-Match` is evaluated first, then `If-None-Match`).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Precondition {
    /// The stored version must be one of these (`If-Match`).
    pub is: Option<EntityTags>,
    /// The stored version must not be one of these (`If-None-Match`).
    pub is_not: Option<EntityTags>,
}

impl Precondition {
    /// Requires that the document does not exist yet (`If-None-Match: *`).
    pub fn is_new() -> Self {
        Self { is: None, is_not: Some(EntityTags::Any) }
    }

    /// Reads the condition from a request's headers.
    ///
    /// # Errors
    ///
    /// 400 if a header cannot be read.
    pub fn read(headers: &HeaderMap) -> Result<Self, Problem> {
        Ok(Self {
            is: EntityTags::read(headers, &header::IF_MATCH)?,
            is_not: EntityTags::read(headers, &header::IF_NONE_MATCH)?,
        })
    }

    /// Checks that the stored version is one that `If-Match` names.
    pub(crate) fn check_is(&self, version: Option<i64>) -> Result<(), Problem> {
        let is_met = self.is.as_ref().is_none_or(|tags| {
            version.is_some_and(|version| tags.match_strongly(&version.to_string()))
        });
        let why = "If-Match does not match the stored version.";
        if is_met { Ok(()) } else { Err(Problem::of(Kind::OptimisticLockFailed).error(why)) }
    }

    /// Whether `If-None-Match` names the stored version.
    pub(crate) fn is_known(&self, version: i64) -> bool {
        self.is_not.as_ref().is_some_and(|tags| tags.match_weakly(&version.to_string()))
    }

    fn check(&self, row: Option<&Row>) -> Result<(), Problem> {
        let version = row.map(|row| row.change_version);
        self.check_is(version)?;
        if version.is_some_and(|version| self.is_known(version)) {
            return Err(Problem::of(Kind::OptimisticLockFailed)
                .error("If-None-Match matches the stored version."));
        }
        Ok(())
    }
}

/// Effect of an upsert or a replacement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// A new document was created.
    Created,
    /// A stored document got a new text.
    Updated,
    /// The document was already stored with the same text; nothing was written.
    Unchanged,
}

/// Outcome of a write to a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Written {
    /// What the write did.
    pub effect: Effect,
    /// Public id of the document.
    pub uuid: Uuid,
    /// Its version before the write; the new version comes with the plan's outcome.
    pub version_before: i64,
}

/// How the document is looked up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// By its identity; it is created if missing.
    Identity,
    /// By its public id; 404 if missing.
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
    let first = Ask::Document(document.key);
    Save::new(catalog, document, grant, precondition, now, Place::Identity).plan(first)
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
    let grant = UpsertGrant { create: Ok(Grant::default()), update: Ok(grant) };
    Save::new(catalog, document, grant, precondition, now, Place::Id(id))
        .plan(Ask::DocumentByUuid(id))
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
            asked: Asked::default(),
            views: AskedViews::default(),
        },
    }
}

/// Checks the parts of a grant that come before relationships: namespace and views, then the owner.
///
/// # Errors
///
/// 403 if the grant does not reach the document.
pub(crate) fn check_stored(
    catalog: &Catalog,
    grant: &Grant,
    resource: &Resource,
    row: &Row,
    views: &AskedViews,
) -> Result<(), Problem> {
    views.check(catalog, grant, resource, (&row.body, row.key), Phase::Stored)?;
    if grant.ownership_tokens.is_some() {
        grant.check_owner(rights::owner(catalog, resource, row))?;
    }
    Ok(())
}

/// Returns the starting points for relationship questions: the subjects of a stored document.
pub(crate) fn stored_starts(
    catalog: &Catalog,
    resource: &Resource,
    row: &Row,
) -> Vec<Option<Start>> {
    rights::stored(catalog, resource, row).into_iter().map(|mark| mark.map(Start::Number)).collect()
}

/// Returns the value of a canonical document's namespace subject.
pub(crate) fn namespace_of(resource: &Resource, body: &str) -> Option<String> {
    let place = &namespace_subject(resource)?.place;
    let property = &resource.properties[*place.steps.first()?];
    let mut value = member_text(body, &property.name)?;
    if let (PropertyKind::Reference(reference), Some(part)) = (&property.kind, place.part) {
        value = member_text(value, &reference.parts[part].name)?;
    }
    match Json::read(value.as_bytes()).ok()? {
        Json::Text(text) => Some(text.into_owned()),
        _ => None,
    }
}

/// Returns the message for a descriptor that does not exist.
pub(crate) fn unknown_descriptor(name: &str) -> String {
    format!("The value is not a known {name}.")
}
