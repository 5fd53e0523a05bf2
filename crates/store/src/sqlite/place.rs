//! Detects whether the file is a copy, and decides where a copy continues.

use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use rusqlite::{Connection, OptionalExtension, params};

use super::counters::LAST_ID;
use super::counters::newest_change_version;
use crate::copies::{ALL_KINDS, COPIED, Counted, Raised, now_us};
use crate::error::StoreError;
use crate::id::Uuid;
use crate::sqlite::lock::{FileId, Lock};

/// Name of the row that identifies the file that the store was last written to.
const FILE: &str = "file";
/// Name of the row with the random word that `FILE.lock` repeats; each opening changes it.
const WORD: &str = "word";
/// Name of the row with the time at which `FILE.lock` was changed last, by us; see
/// [`Lock::changed_at`].
const LOCK_CHANGED: &str = "lock_changed";
/// Name of the row that says that the file has a seal behind its pages, until somebody writes to it.
const SEALED: &str = "sealed";
/// Name of the row with the path by which the file was opened last.
const PATH: &str = "path";

/// Makes a file that is a copy continue above everything that its original may have issued, before
/// anybody reads it or writes to it. Returns where it continues, if it is a copy. Records the file,
/// its path and this opening.
pub(super) fn settle(connection: &Connection, lock: &Lock) -> Result<Option<Raised>, StoreError> {
    let path = lock.path();
    let file = file(path)?;
    let known = value(connection, FILE)?;
    let is_marked = value(connection, COPIED)?.is_some();
    let raised = if is_marked || is_other(connection, lock, known.as_deref(), &file)? {
        let raised = raise(connection, path, Counted::default())?;
        tracing::warn!(
            file = %path.display(),
            version = raised.version,
            "the file is a copy: change versions continue above all that the original may have \
             issued"
        );
        Some(raised)
    } else {
        // A store that was never opened by a Homeroom with this check is accepted as it is.
        if known.is_none() {
            put(connection, FILE, &file)?;
        }
        None
    };
    let name = path.to_string_lossy();
    if value(connection, PATH)?.as_deref() != Some(&*name) {
        put(connection, PATH, &name)?;
        // A process that opens the file by another name sees the change without the log next to
        // this one.
        connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(()))?;
    }
    if let Err(error) = change_word(connection, lock) {
        tracing::warn!(%error, "an earlier copy of the file could be mistaken for it");
    }
    Ok(raised)
}

/// Returns whether the file is not the one last written to, or is an earlier state of it.
fn is_other(
    connection: &Connection,
    lock: &Lock,
    known: Option<&str>,
    file: &str,
) -> Result<bool, StoreError> {
    let Some(known) = known else { return Ok(false) };
    if known != file {
        return Ok(true);
    }
    // A file system can give a new file the number of a deleted one. A new or deleted lock file
    // proves nothing, and neither does one of an older Homeroom.
    let words = lock.words();
    if words.is_empty() {
        return Ok(false);
    }
    // A folder restored from a copy has the same lock file with the same word, but restoring cannot
    // set the time of the file's last change.
    let changed = value(connection, LOCK_CHANGED)?;
    let is_put_back = changed.is_some_and(|changed| lock.changed_at() != Some(changed));
    let own = value(connection, WORD)?;
    Ok(is_put_back || own.is_none_or(|own| !words.contains(&own)))
}

/// Puts a new word into the store and into its lock file; copies taken before do not have it.
pub(super) fn change_word(connection: &Connection, lock: &Lock) -> Result<(), StoreError> {
    let own = value(connection, WORD)?;
    let new = Uuid::new().to_string();
    let cannot = |error: std::io::Error| {
        StoreError::Failed(format!("cannot write {}.lock: {error}", lock.path().display()))
    };
    // After a crash the store has one of these two.
    let both: Vec<&str> = own.iter().map(String::as_str).chain([new.as_str()]).collect();
    lock.write_words(&both).map_err(cannot)?;
    put(connection, WORD, &new)?;
    lock.write_words(&[&new]).map_err(cannot)?;
    match lock.changed_at() {
        Some(changed) => put(connection, LOCK_CHANGED, &changed),
        None => Ok(()),
    }
}

/// Writes a new random word to a file that is to become the store. Returns it for the lock file.
pub(super) fn put_word(connection: &Connection) -> Result<String, StoreError> {
    let new = Uuid::new().to_string();
    put(connection, WORD, &new)?;
    // The lock file is written after this, so when it changes is not known yet.
    connection.execute("DELETE FROM place WHERE name = ?1", [LOCK_CHANGED])?;
    Ok(new)
}

/// Refuses a second name (hard link) of a file whose log is, or would be expected, next to the
/// first name.
pub(super) fn refuse_second_name(connection: &Connection, path: &Path) -> Result<(), StoreError> {
    let about = std::fs::metadata(path).ok().filter(|about| about.nlink() > 1);
    let Some(about) = about else { return Ok(()) };
    let text = "SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name = 'place'";
    if connection.query_row(text, [], |row| row.get::<_, i64>(0))? == 0 {
        return Ok(());
    }
    let Some(name) = value(connection, PATH)? else { return Ok(()) };
    if Path::new(&name) == path || FileId::of(Path::new(&name)) != Some(FileId::of_metadata(&about))
    {
        return Ok(());
    }
    Err(StoreError::Unusable(format!(
        "{} is a second name of {name}, and the store's log is beside {name}; open it as {name}, \
         or remove that name after stopping the server that uses it",
        path.display()
    )))
}

/// Makes the store continue above itself, above `others` and above everything that may have been
/// issued since its state.
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
    connection.execute("DELETE FROM place WHERE name IN (?1, ?2)", [COPIED, SEALED])?;
    Ok(())
}

/// Says in a file that a seal will follow it.
pub(super) fn promise_seal(connection: &Connection) -> Result<(), StoreError> {
    put(connection, SEALED, "1")
}

/// Returns whether a file must have a seal: a backup that nobody has written to since. A backup of an
/// older Homeroom has none.
pub(super) fn is_sealed(connection: &Connection) -> Result<bool, StoreError> {
    let text = "SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name = 'place'";
    let has_place = connection.query_row(text, [], |row| row.get::<_, i64>(0))? > 0;
    Ok(has_place && value(connection, SEALED)?.is_some())
}

/// Says in a file that no seal follows it any more.
pub(super) fn forget_seal(connection: &Connection) -> Result<(), StoreError> {
    connection.execute("DELETE FROM place WHERE name = ?1", [SEALED])?;
    Ok(())
}

/// Marks a file as a copy taken now: the process that writes to it first makes it continue above
/// everything that was issued.
pub(super) fn mark(connection: &Connection) -> Result<(), StoreError> {
    put(connection, COPIED, &now_us().to_string())
}

/// Returns how far a store has counted, including one that an older Homeroom has created.
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

/// Returns the file's device and inode.
fn file(path: &Path) -> Result<String, StoreError> {
    let about = std::fs::metadata(path).map_err(|error| {
        StoreError::Unusable(format!("cannot look at {}: {error}", path.display()))
    })?;
    Ok(format!("{}:{}", about.dev(), about.ino()))
}

/// Returns what a file says of itself.
pub(super) fn value(connection: &Connection, name: &str) -> Result<Option<String>, StoreError> {
    let text = "SELECT value FROM place WHERE name = ?1";
    Ok(connection.query_row(text, [name], |row| row.get(0)).optional()?)
}

fn put(connection: &Connection, name: &str, value: &str) -> Result<(), StoreError> {
    let text = "INSERT INTO place (name, value) VALUES (?1, ?2)
                ON CONFLICT (name) DO UPDATE SET value = excluded.value";
    connection.execute(text, [name, value])?;
    Ok(())
}
