//! How the file of a direct load is journalled, and how it is given back.

use rusqlite::Connection;

use crate::error::StoreError;

/// Changes how the file is journalled.
pub(super) fn set_journal(connection: &Connection, mode: &str) -> Result<(), StoreError> {
    let sql = format!("PRAGMA journal_mode = {mode}");
    let now: String = connection.query_row(&sql, [], |row| row.get(0))?;
    if now == mode {
        return Ok(());
    }
    Err(StoreError::Unusable(format!(
        "the store is being read by another process, so its journal cannot be changed to {mode}; \
         try again when that has ended"
    )))
}

/// Gives the file the journal that an open store has, and closes it.
pub(super) fn close(connection: Connection) -> Result<(), StoreError> {
    if let Err(error) = connection.execute_batch("PRAGMA optimize") {
        tracing::warn!(%error, "the statistics could not be renewed");
    }
    connection.pragma_update(None, "locking_mode", "normal")?;
    set_journal(&connection, "wal")?;
    connection.close().map_err(|(_, error)| error.into())
}
