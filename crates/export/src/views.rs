//! Reporting views: every [`Table`] of the model as a query over the documents.

mod postgres;
mod sqlite;

use homeroom_model::{Model, Resource};
use homeroom_store::{KindId, StoreError, StoreUrl, View, replace_views, views_version};
use sha2::{Digest as _, Sha256};

use crate::table::{Table, postgres_name, tables};

/// The SQL dialect of a view.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dialect {
    /// SQLite, in which a view is named `edfi_StudentSchoolAssociation`.
    Sqlite,
    /// PostgreSQL, in which a view is named `edfi.studentschoolassociation`.
    Postgres,
}

impl Dialect {
    /// Returns the dialect of a store.
    pub fn of(url: &StoreUrl) -> Self {
        match url {
            StoreUrl::Sqlite(_) => Self::Sqlite,
            StoreUrl::Postgres(_) => Self::Postgres,
        }
    }

    /// Returns the view of a table for documents of a kind.
    pub fn view(self, table: &Table, kind: KindId) -> View {
        match self {
            Self::Sqlite => sqlite::view(table, kind),
            Self::Postgres => postgres::view(table, kind),
        }
    }

    /// Returns a script that creates temporary views for one session, without changing the store.
    /// Temporary views have no schema of their own, so the schema becomes a prefix:
    /// `edfi_StudentSchoolAssociation`.
    pub fn script(self, views: &[View]) -> String {
        let name: fn(&View) -> String = match self {
            Self::Sqlite => |view| format!("\"{}_{}\"", view.schema, view.name),
            Self::Postgres => {
                |view| format!("\"{}\"", postgres_name(&format!("{}_{}", view.schema, view.name)))
            }
        };
        let temporary =
            |view: &View| format!("CREATE TEMPORARY VIEW {} AS {};\n", name(view), view.select);
        views.iter().map(temporary).collect()
    }
}

/// Returns the views of all resources, or of those that `only` names (`students`, `Student`,
/// `ed-fi/students`; unknown names are ignored). `kind` returns the number of a resource in the
/// store.
pub fn views(
    model: &Model,
    dialect: Dialect,
    only: &[String],
    kind: &dyn Fn(&Resource) -> Option<KindId>,
) -> Vec<View> {
    let only: Vec<_> = only.iter().map(|name| model.named(name).map(|r| r.id)).collect();
    tables(model)
        .iter()
        .filter(|table| only.is_empty() || only.contains(&Some(table.resource)))
        .filter_map(|table| Some(dialect.view(table, kind(model.resource(table.resource))?)))
        .collect()
}

/// Replaces the views in a store; `only` is the list of names from which the views were made.
///
/// # Errors
///
/// Returns an error of the store.
pub fn apply(url: &StoreUrl, views: &[View], only: &[String]) -> Result<(), StoreError> {
    replace_views(url, views, &format!("{} {}", hash(views), only.join(",")))
}

/// Recreates the views of a store if they no longer match the model; `make` returns the views for
/// the names that were given to [`apply`]. Returns whether that was needed. A store without views
/// gets none.
///
/// # Errors
///
/// Returns an error of the store.
pub fn renew(url: &StoreUrl, make: &dyn Fn(&[String]) -> Vec<View>) -> Result<bool, StoreError> {
    let Some(found) = views_version(url)? else { return Ok(false) };
    let (before, only) = found.split_once(' ').unwrap_or((&found, ""));
    let only: Vec<String> =
        only.split(',').filter(|name| !name.is_empty()).map(str::to_owned).collect();
    let views = make(&only);
    if before == hash(&views) {
        return Ok(false);
    }
    apply(url, &views, &only).map(|()| true)
}

/// Returns a hash that distinguishes these views from those of another model.
fn hash(views: &[View]) -> String {
    let mut hash = Sha256::new();
    for View { schema, name, select } in views {
        for part in [schema, name, select] {
            hash.update(part.as_bytes());
            hash.update([0]);
        }
    }
    let digest = hash.finalize();
    u64::from_be_bytes(digest[..8].try_into().unwrap_or_default()).to_string()
}
