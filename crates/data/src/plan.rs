//! Ask, decide, write for the data API: upsert, replace by id, delete.

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

/// What the caller demands of the stored version.
///
/// Source: RFC 9110 §13.2.2 (`If-Match` is looked at first, then `If-None-Match`).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Precondition {
    /// The stored version is one of these (`If-Match`).
    pub is: Option<EntityTags>,
    /// The stored version is none of these (`If-None-Match`).
    pub is_not: Option<EntityTags>,
}

impl Precondition {
    /// There must be none yet (`If-None-Match: *`).
    pub fn is_new() -> Self {
        Self { is: None, is_not: Some(EntityTags::Any) }
    }

    /// Reads what a request demands.
    ///
    /// # Errors
    ///
    /// 400 where a header is not understood.
    pub fn read(headers: &HeaderMap) -> Result<Self, Problem> {
        Ok(Self {
            is: EntityTags::read(headers, &header::IF_MATCH)?,
            is_not: EntityTags::read(headers, &header::IF_NONE_MATCH)?,
        })
    }

    /// Whether the stored version is one of those that `If-Match` demands.
    pub(crate) fn check_is(&self, version: Option<i64>) -> Result<(), Problem> {
        let is_met = self.is.as_ref().is_none_or(|tags| {
            version.is_some_and(|version| tags.match_strongly(&version.to_string()))
        });
        let why = "If-Match does not name the version that is stored.";
        if is_met { Ok(()) } else { Err(Problem::of(Kind::OptimisticLockFailed).error(why)) }
    }

    /// Whether the stored version is one of those that `If-None-Match` names.
    pub(crate) fn is_known(&self, version: i64) -> bool {
        self.is_not.as_ref().is_some_and(|tags| tags.match_weakly(&version.to_string()))
    }

    fn check(&self, row: Option<&Row>) -> Result<(), Problem> {
        let version = row.map(|row| row.change_version);
        self.check_is(version)?;
        if version.is_some_and(|version| self.is_known(version)) {
            return Err(Problem::of(Kind::OptimisticLockFailed)
                .error("If-None-Match names the version that is stored."));
        }
        Ok(())
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
    let grant = UpsertGrant { create: Err(Problem::of(Kind::NotFound)), update: Ok(grant) };
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

/// Checks what of a grant comes before relationships: namespace, views, and then the owner.
///
/// # Errors
///
/// 403 when the grant does not reach it.
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

/// The beginnings of ways from whom a stored document is about.
pub(crate) fn stored_starts(
    catalog: &Catalog,
    resource: &Resource,
    row: &Row,
) -> Vec<Option<Start>> {
    rights::stored(catalog, resource, row).into_iter().map(|mark| mark.map(Start::Number)).collect()
}

/// The value of a canonical document's namespace subject.
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

/// What is said of a descriptor that does not exist.
pub(crate) fn unknown_descriptor(name: &str) -> String {
    format!("The value is no known {name}.")
}
