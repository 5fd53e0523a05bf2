//! Whether the file is a copy, and where a copy goes on.

use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use rusqlite::{Connection, OptionalExtension, params};

use crate::copies::{ALL_KINDS, COPIED, Counted, Raised, now_us};
use crate::error::StoreError;
use crate::id::Uuid;
use crate::sqlite::lock::{FileId, Lock};
use crate::sqlite::snapshot::newest_change_version;
use crate::sqlite::writer::LAST_ID;

/// Name of the row that says which file the store was last written to in.
const FILE: &str = "file";
/// Name of the row with the word that stands in `FILE.lock`, too: another one at each opening.
const WORD: &str = "word";
/// Name of the row with the path by which the file was opened last.
const PATH: &str = "path";

/// Has a file that is a copy go on above all that its original may have given out, before anybody
/// reads it or writes to it; gives where it goes on, if it is one. Takes note of the file, its path
/// and of this opening.
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
            "the file is a copy: change versions go on above all that the other one may have given \
             out"
        );
        Some(raised)
    } else {
        // A store that was never opened by a Homeroom that knew of this is taken as it is.
        if known.is_none() {
            put(connection, FILE, &file)?;
        }
        None
    };
    let name = path.to_string_lossy();
    if value(connection, PATH)?.as_deref() != Some(&*name) {
        put(connection, PATH, &name)?;
        // Who opens the file by another name sees it, without the log that is beside this one.
        connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(()))?;
    }
    if let Err(error) = change_word(connection, lock) {
        tracing::warn!(%error, "an earlier copy of the file could be taken for it");
    }
    Ok(raised)
}

/// Whether it is another file than the one that was written to last, or an earlier state of it.
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
    // A file system gives a new file the number of a deleted one. A lock that is new or deleted says
    // nothing, nor does one of an older Homeroom.
    let words = lock.words();
    let own = value(connection, WORD)?;
    Ok(!words.is_empty() && own.is_none_or(|own| !words.contains(&own)))
}

/// Puts another word into the store and into its lock: a copy that was taken before has not got it.
pub(super) fn change_word(connection: &Connection, lock: &Lock) -> Result<(), StoreError> {
    let own = value(connection, WORD)?;
    let new = Uuid::new().to_string();
    let cannot = |error: std::io::Error| {
        StoreError::Failed(format!("cannot write {}.lock: {error}", lock.path().display()))
    };
    // Whichever the store has after a crash is one of the two.
    let both: Vec<&str> = own.iter().map(String::as_str).chain([new.as_str()]).collect();
    lock.write_words(&both).map_err(cannot)?;
    put(connection, WORD, &new)?;
    lock.write_words(&[&new]).map_err(cannot)
}

/// Puts another word into what is to become the store; gives it, for the lock.
pub(super) fn put_word(connection: &Connection) -> Result<String, StoreError> {
    let new = Uuid::new().to_string();
    put(connection, WORD, &new)?;
    Ok(new)
}

/// Refuses a second name of a file (a hard link) whose log stands, or would be looked for, beside
/// the first.
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
        "{} is a second name of {name}, beside which the store's log is; open it as {name}, or remove \
         that name after a server on it was stopped",
        path.display()
    )))
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

/// Marks a file as a copy that was taken at this moment: the process that writes to it first has it go
/// on above all that was given out.
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
