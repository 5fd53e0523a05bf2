//! How far the store in a file has counted.

use rusqlite::Connection;

use crate::error::StoreError;

/// Returns the newest change version of all documents and deletions, or the last skipped one if
/// greater.
pub(crate) fn newest_change_version(connection: &Connection) -> Result<i64, StoreError> {
    let passed_over = "SELECT coalesce(max(last), 0) FROM passed_over";
    let passed_over: i64 = connection.query_row(passed_over, [], |row| row.get(0))?;
    Ok(newest_written(connection)?.max(passed_over))
}

/// Returns the newest change version of all documents and deletions.
pub(crate) fn newest_written(connection: &Connection) -> Result<i64, StoreError> {
    // One index look-up for each kind; a maximum over all would read every document.
    Ok(connection.query_row(
        "SELECT max(coalesce((SELECT max(cv) FROM tomb), 0),
                    coalesce((SELECT max(m) FROM (SELECT (SELECT max(cv) FROM doc WHERE kind = k.id) AS m FROM kind k)), 0))",
        [],
        |row| row.get(0),
    )?)
}

/// Returns the greatest number that a document has or had.
pub(crate) const LAST_ID: &str = "SELECT max(coalesce((SELECT max(id) FROM doc), 0),
    coalesce((SELECT id FROM high_water WHERE name = 'doc'), 0))";
