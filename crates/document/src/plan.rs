//! Plans that write and delete documents: upsert, replace by id, delete.

mod delete;
mod outcome;
mod precondition;
mod reach;
mod respell;
mod save;

use std::sync::Arc;

use homeroom_access::{Grant, UpsertGrant};
use homeroom_model::Resource;
use homeroom_store::{Ask, ChangedAt, NaturalKey, Plan, Uuid};

use crate::catalog::Catalog;
use crate::validate::Document;
use save::Grants;

pub use delete::Delete;
pub use outcome::{Effect, Written};
pub use precondition::{Precondition, Versions};
pub use reach::check_stored;
pub use save::Save;

/// Creates the document, or replaces the one that has the same identity.
pub fn upsert(
    catalog: &Arc<Catalog>,
    document: Document,
    grant: UpsertGrant,
    precondition: Precondition,
    now: ChangedAt,
) -> Plan<Save> {
    let first = Ask::Document(document.key);
    Save::plan(catalog, document, Grants::ByIdentity(grant), precondition, now, first)
}

/// Replaces the document that has this public id.
pub fn replace(
    catalog: &Arc<Catalog>,
    id: Uuid,
    document: Document,
    grant: Grant,
    precondition: Precondition,
    now: ChangedAt,
) -> Plan<Save> {
    let first = Ask::DocumentByUuid(id);
    Save::plan(catalog, document, Grants::ById(grant), precondition, now, first)
}

/// Deletes the document that has this public id, unless others refer to it.
pub fn delete(
    catalog: &Arc<Catalog>,
    resource: &Resource,
    id: Uuid,
    grant: Grant,
    precondition: Precondition,
    now: ChangedAt,
) -> Plan<Delete> {
    let decide = Delete::new(catalog, resource.id, grant, precondition, now);
    Plan { ask: vec![Ask::DocumentByUuid(id)], decide }
}

/// Deletes the document that has this identity, unless others refer to it.
pub fn delete_identified(
    catalog: &Arc<Catalog>,
    resource: &Resource,
    key: NaturalKey,
    grant: Grant,
    precondition: Precondition,
    now: ChangedAt,
) -> Plan<Delete> {
    let decide = Delete::new(catalog, resource.id, grant, precondition, now);
    Plan { ask: vec![Ask::Document(key)], decide }
}
