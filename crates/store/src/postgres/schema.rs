//! The version of a database's tables.

use super::connection::Connection;
use super::error::{Fault, damaged};
use crate::error::StoreError;
use crate::migration::newest;

/// Reads the version of the tables, without holding it.
pub(super) const VERSION: &str = "SELECT version FROM homeroom_store WHERE name = 'schema'";

/// Returns the number that a statement finds, if there is one.
pub(super) async fn find_version(
    connection: &Connection,
    text: &str,
) -> Result<Option<i64>, Fault> {
    let rows = connection.answered(connection.query(text, &[])).await?;
    Ok(rows.first().map(|row| row.try_get(0)).transpose()?)
}

/// Returns the version of the tables without checking it.
pub(super) async fn schema(connection: &Connection) -> Result<i64, Fault> {
    version(connection, VERSION).await
}

/// Refuses tables that are newer than this program knows. The caller holds the counter, so no
/// migration can come in between.
pub(super) async fn refuse_newer(connection: &Connection) -> Result<(), Fault> {
    not_newer(schema(connection).await?)
}

/// Refuses a version that is newer than this program knows.
pub(super) fn not_newer(found: i64) -> Result<(), Fault> {
    if found > newest() {
        return Err(Fault::Everybody(StoreError::FromTheFuture { found, known: newest() }));
    }
    Ok(())
}

/// Returns the number that a statement finds; there must be one.
pub(super) async fn version(connection: &Connection, text: &str) -> Result<i64, Fault> {
    find_version(connection, text).await?.ok_or_else(|| damaged("homeroom_store"))
}
