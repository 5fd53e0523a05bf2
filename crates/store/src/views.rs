//! Views for reporting on a store: named statements that read it.
//!
//! They are not part of the schema: serving needs none of them, and each can be created again. In a
//! file, the process that has it open creates them, if there is one; in PostgreSQL, any user with
//! the right to.

mod view;

pub use self::view::View;
use crate::error::StoreError;
use crate::store::StoreUrl;
use crate::{postgres, sqlite};

/// Replaces all views that were put there before by these, in one transaction, and stores their
/// version. With no views, all are removed.
///
/// # Errors
///
/// [`StoreError::Unusable`] when it is not a store, or a name is taken by something else;
/// [`StoreError::InUse`] when another process has the file open.
pub fn replace_views(url: &StoreUrl, views: &[View], version: &str) -> Result<(), StoreError> {
    match url {
        StoreUrl::Sqlite(path) => sqlite::replace_views(path, views, version),
        StoreUrl::Postgres(url) => postgres::replace_views(url, views, version),
    }
}

/// Returns the version that was stored with the views; [`None`] where there are none.
///
/// # Errors
///
/// The same as [`replace_views`].
pub fn views_version(url: &StoreUrl) -> Result<Option<String>, StoreError> {
    match url {
        StoreUrl::Sqlite(path) => sqlite::views_version(path),
        StoreUrl::Postgres(url) => postgres::views_version(url),
    }
}
