//! An export in progress.

use std::time::Instant;

use homeroom_document::Catalog;
use homeroom_model::Resource;
use homeroom_store::Snapshot;

use super::manifest::Manifest;
use super::options::{ExportOptions, ExportProgress};
use crate::table::Table;

/// An export in progress.
pub(super) struct Run<'a> {
    pub(super) catalog: &'a Catalog,
    pub(super) snapshot: &'a Snapshot,
    pub(super) options: &'a ExportOptions,
    pub(super) is_stopped: &'a dyn Fn() -> bool,
    pub(super) begun: Instant,
    pub(super) progress: ExportProgress,
    pub(super) tell: &'a mut dyn FnMut(&ExportProgress),
    /// Tables of all resources.
    pub(super) tables: Vec<Table>,
    pub(super) manifest: Manifest,
}

/// Returns the name of a resource in an export, `ed-fi/students`.
pub(super) fn resource_name(resource: &Resource) -> String {
    format!("{}/{}", resource.schema, resource.endpoint)
}
