//! Views in the file.

use std::path::Path;

use rusqlite::{Connection, OpenFlags, OptionalExtension};

use crate::error::StoreError;
use crate::sqlite::lock::{Lock, is_open_here, real_file};
use crate::sqlite::open::{BUSY, open_existing};
use crate::sqlite::place;
use crate::views::View;

/// A comment in each of Homeroom's views; other views are left alone.
const MARK: &str = "/* homeroom */";
/// The view that holds the version of the views.
const VERSION_VIEW: &str = "homeroom_views";
/// Page cache of the connection, in KiB.
const CACHE_KIB: u32 = 2_048;

pub(crate) fn views_version(path: &Path) -> Result<Option<String>, StoreError> {
    let (connection, _) = open_existing(path, CACHE_KIB)?;
    let text: Option<String> = connection
        .query_row(
            "SELECT sql FROM sqlite_schema WHERE type = 'view' AND name = ?1",
            [VERSION_VIEW],
            |row| row.get(0),
        )
        .optional()?;
    if text.is_none() {
        return Ok(None);
    }
    Ok(connection
        .query_row("SELECT version FROM homeroom_views", [], |row| row.get(0))
        .optional()?)
}

/// Replaces the views in a file that this process has open as a store, or that no process has open.
pub(crate) fn replace_views(path: &Path, views: &[View], version: &str) -> Result<(), StoreError> {
    drop(open_existing(path, CACHE_KIB)?);
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let real = real_file(path).map_err(|error| {
        StoreError::Unusable(format!("cannot open {}: {error}", path.display()))
    })?;
    // If this process has the store open, it holds the lock already; another process's store is
    // refused.
    let lock = if is_open_here(&real) { None } else { Some(Lock::of_place(path)?) };
    let connection = Connection::open_with_flags(&real, flags)?;
    connection.busy_timeout(BUSY)?;
    // Checkpoints are left to the server.
    connection.pragma_update(None, "wal_autocheckpoint", 0)?;
    connection.pragma_update(None, "synchronous", "full")?;
    place::refuse_second_name(&connection, &real)?;
    if let Some(lock) = &lock {
        lock.check()?;
    }
    connection.execute_batch("BEGIN IMMEDIATE")?;
    let done =
        replace(&connection, views, version).and_then(|()| Ok(connection.execute_batch("COMMIT")?));
    if done.is_err() && !connection.is_autocommit() {
        _ = connection.execute_batch("ROLLBACK");
    }
    done
}

fn replace(connection: &Connection, views: &[View], version: &str) -> Result<(), StoreError> {
    let ours: Vec<String> = connection
        .prepare("SELECT name FROM sqlite_schema WHERE type = 'view' AND instr(sql, ?1) > 0")?
        .query_map([MARK], |row| row.get(0))?
        .collect::<Result<_, _>>()?;
    for name in ours {
        connection.execute_batch(&format!("DROP VIEW {}", quoted(&name)))?;
    }
    for view in views {
        let name = format!("{}_{}", view.schema, view.name);
        create(connection, &name, &view.select)?;
    }
    if !views.is_empty() {
        let version = version.replace('\'', "''");
        create(connection, VERSION_VIEW, &format!("SELECT '{version}' AS version"))?;
    }
    Ok(())
}

fn create(connection: &Connection, name: &str, select: &str) -> Result<(), StoreError> {
    let made =
        connection.execute_batch(&format!("CREATE VIEW {} AS {MARK} {select}", quoted(name)));
    made.map_err(|error| match error.to_string() {
        why if why.contains("already exists") => StoreError::Unusable(format!(
            "something else is called {name}; give it another name, or drop it"
        )),
        _ => error.into(),
    })
}

fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}
