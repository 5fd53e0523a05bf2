//! Views for people who report on a store: named statements that read it.
//!
//! They are no part of the schema: none is needed to serve, each can be made again. In a file, the
//! process that has it open makes them, if there is one; in PostgreSQL, any user with the right to.

use crate::error::StoreError;
use crate::store::StoreUrl;
use crate::{postgres, sqlite};

/// A view.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct View {
    /// `edfi`; where an engine has no schemas it stands before the name, with `_`. In PostgreSQL,
    /// a store in another schema than `public` puts that before it: `homeroom_edfi`.
    pub schema: String,
    /// Its name.
    pub name: String,
    /// The statement whose rows it shows.
    pub select: String,
}

/// Replaces all views that were put there before by these, in one transaction, and keeps a word by
/// which they can be told from others. With no views, all go.
///
/// # Errors
///
/// [`StoreError::Unusable`] when it is no store, or a name is taken by something else;
/// [`StoreError::InUse`] when another process has the file open.
pub fn replace_views(url: &StoreUrl, views: &[View], version: &str) -> Result<(), StoreError> {
    match url {
        StoreUrl::Sqlite(path) => sqlite::replace_views(path, views, version),
        StoreUrl::Postgres(url) => postgres::replace_views(url, views, version),
    }
}

/// The word that was kept with the views; nothing where there are none.
///
/// # Errors
///
/// As [`replace_views`].
pub fn views_version(url: &StoreUrl) -> Result<Option<String>, StoreError> {
    match url {
        StoreUrl::Sqlite(path) => sqlite::views_version(path),
        StoreUrl::Postgres(url) => postgres::views_version(url),
    }
}
