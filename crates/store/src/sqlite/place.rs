//! Whether the file is a copy, and where a copy goes on.

use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use rusqlite::{Connection, OptionalExtension, params};

use crate::copies::{ALL_KINDS, COPIED, Counted, Raised, now_us};
use crate::error::StoreError;
use crate::sqlite::snapshot::newest_change_version;
use crate::sqlite::writer::LAST_ID;

/// Name of the row that says which file the store was last written to in.
const FILE: &str = "file";

/// Has a file that is a copy go on above all that its original may have given out, before anybody
/// reads it or writes to it; gives where it goes on, if it is one.
pub(super) fn settle(connection: &Connection, path: &Path) -> Result<Option<Raised>, StoreError> {
    let file = file(path)?;
    let known = value(connection, FILE)?;
    let is_marked = value(connection, COPIED)?.is_some();
    if !is_marked && known.as_ref() == Some(&file) {
        return Ok(None);
    }
    // A store that was never opened by a Homeroom that knew of this is taken as it is.
    if !is_marked && known.is_none() {
        put(connection, FILE, &file)?;
        return Ok(None);
    }
    let raised = raise(connection, path, Counted::default())?;
    tracing::warn!(
        file = %path.display(),
        version = raised.version,
        "the file is a copy: change versions go on above all that the other one may have given out"
    );
    Ok(Some(raised))
}

/// Has the store go on above itself, above `others` and above all that may have been given out
/// since its state.
pub(super) fn raise(
    connection: &Connection,
    path: &Path,
    others: Counted,
) -> Result<Raised, StoreError> {
    let file = file(path)?;
    let own = counted(connection)?;
    let copied = value(connection, COPIED)?.and_then(|moment| moment.parse().ok()).unwrap_or(0);
    let raised = own.max(others).raised(now_us().max(copied))?;
    connection.execute_batch("BEGIN IMMEDIATE")?;
    let done = write(connection, own.change_version, raised)
        .and_then(|()| put(connection, FILE, &file))
        .and_then(|()| Ok(connection.execute_batch("COMMIT")?));
    if let Err(error) = done {
        _ = connection.execute_batch("ROLLBACK");
        return Err(error);
    }
    Ok(raised)
}

fn write(connection: &Connection, before: i64, raised: Raised) -> Result<(), StoreError> {
    if raised.version > before {
        connection.execute(
            "INSERT INTO passed_over (first, last) VALUES (?1, ?2)
             ON CONFLICT (first) DO UPDATE SET last = excluded.last",
            params![before + 1, raised.version],
        )?;
    }
    connection.execute(
        "INSERT INTO high_water (name, id) VALUES ('doc', ?1)
         ON CONFLICT (name) DO UPDATE SET id = excluded.id",
        [raised.version],
    )?;
    connection.execute("UPDATE access_version SET version = ?1 WHERE id = 1", [raised.version])?;
    connection.execute(
        "INSERT INTO managed_last (kind, id) VALUES (?1, ?2)
         ON CONFLICT (kind) DO UPDATE SET id = excluded.id",
        params![ALL_KINDS, raised.managed],
    )?;
    connection.execute("DELETE FROM place WHERE name = ?1", [COPIED])?;
    Ok(())
}

/// Marks a file as a copy that was taken at this moment: whoever writes to it first raises it.
pub(super) fn mark(connection: &Connection) -> Result<(), StoreError> {
    put(connection, COPIED, &now_us().to_string())
}

/// How far a store has counted; of one that an older Homeroom has made, too.
pub(super) fn counted(connection: &Connection) -> Result<Counted, StoreError> {
    let number = |sql: &str| connection.query_row(sql, [], |row| row.get(0));
    Ok(Counted {
        number: number(LAST_ID)?,
        change_version: newest_change_version(connection)?,
        access: number("SELECT coalesce(max(version), 0) FROM access_version")?,
        ties: 0,
        managed: number("SELECT coalesce(max(id), 0) FROM managed_last")?,
    })
}

/// Device and inode.
fn file(path: &Path) -> Result<String, StoreError> {
    let about = std::fs::metadata(path).map_err(|error| {
        StoreError::Unusable(format!("cannot look at {}: {error}", path.display()))
    })?;
    Ok(format!("{}:{}", about.dev(), about.ino()))
}

fn value(connection: &Connection, name: &str) -> Result<Option<String>, StoreError> {
    let text = "SELECT value FROM place WHERE name = ?1";
    Ok(connection.query_row(text, [name], |row| row.get(0)).optional()?)
}

fn put(connection: &Connection, name: &str, value: &str) -> Result<(), StoreError> {
    let text = "INSERT INTO place (name, value) VALUES (?1, ?2)
                ON CONFLICT (name) DO UPDATE SET value = excluded.value";
    connection.execute(text, [name, value])?;
    Ok(())
}
