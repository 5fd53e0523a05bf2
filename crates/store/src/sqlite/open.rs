//! Opens, migrates and checks the file.
#![expect(clippy::disallowed_methods, reason = "checks of the tables have a time limit")]

use std::fs::OpenOptions;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OpenFlags};

use crate::error::StoreError;
use crate::health::{CHECKS, TOO_OLD_TO_CHECK};
use crate::migration::{HAS_DOCUMENTS, MIGRATIONS, is_too_old, newest, too_old};
use crate::sqlite::direct::{complete_if_left, refuse_incomplete};
use crate::sqlite::lock::{Lock, real_file};
use crate::sqlite::place;
use crate::sqlite::seal::{self, Flaw};
use crate::store::Health;

/// Marks a file as Homeroom's in its header (`PRAGMA application_id`): "HMRM".
const APPLICATION_ID: i64 = 0x484d_524d;

/// How long a connection waits for the lock of another one.
pub(crate) const BUSY: Duration = Duration::from_secs(5);

/// Opens the file for writing: takes the lock, creates and migrates as needed. The lock has to
/// outlive the connection.
pub(crate) fn open_file(
    path: &Path,
    page_bytes: u32,
    cache_kib: u32,
) -> Result<(Lock, Connection), StoreError> {
    let (lock, connection) = prepare_file(path, page_bytes, cache_kib)?;
    complete_if_left(&connection)?;
    // The first read opens the log, which a file that was in another mode does not have yet.
    connection.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(()))?;
    lock.keep()?;
    Ok((lock, connection))
}

/// Does the same, except that the files may still change.
pub(crate) fn prepare_file(
    path: &Path,
    page_bytes: u32,
    cache_kib: u32,
) -> Result<(Lock, Connection), StoreError> {
    let lock = Lock::of_store(path)?;
    let path = lock.path();
    let connection = Connection::open(path).map_err(|error| {
        StoreError::Unusable(format!("cannot open {}: {error}", path.display()))
    })?;
    connection.busy_timeout(BUSY)?;
    keep_plans(&connection)?;
    connection.pragma_update(None, "page_size", page_bytes)?;
    let version = version(&connection, path)?;
    connection.pragma_update(None, "journal_mode", "wal")?;
    connection.pragma_update(None, "synchronous", "full")?;
    connection.pragma_update(None, "wal_autocheckpoint", 0)?;
    connection.pragma_update(None, "cache_size", -i64::from(cache_kib))?;
    connection.pragma_update(None, "temp_store", "memory")?;
    // What is deleted within a page is zeroed, which costs no write.
    connection.pragma_update(None, "secure_delete", "fast")?;
    connection.set_prepared_statement_cache_capacity(64);
    if is_too_old(version)
        && connection.query_row(HAS_DOCUMENTS, [], |row| row.get::<_, i64>(0))? > 0
    {
        return Err(too_old(path.display()));
    }
    place::refuse_second_name(&connection, path)?;
    lock.check()?;
    migrate(&connection, version)?;
    Ok((lock, connection))
}

/// Opens a second, read-only connection.
pub(crate) fn open_reader(path: &Path, cache_kib: u32) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY
        | OpenFlags::SQLITE_OPEN_NO_MUTEX
        | OpenFlags::SQLITE_OPEN_URI;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(BUSY)?;
    keep_plans(&connection)?;
    connection.pragma_update(None, "cache_size", -i64::from(cache_kib))?;
    connection.pragma_update(None, "temp_store", "memory")?;
    connection.set_prepared_statement_cache_capacity(64);
    Ok(connection)
}

/// Lets a prepared statement keep its plan whatever is bound to it. Otherwise SQLite prepares a statement anew each
/// time if its limit is an argument.
///
/// Source: <https://www.sqlite.org/queryplanner-ng.html>, query planner stability guarantee.
fn keep_plans(connection: &Connection) -> rusqlite::Result<()> {
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true).map(drop)
}

/// Creates the file, if it does not exist, so that only its owner may read it; SQLite gives the
/// files next to it the same permissions. An existing file keeps its permissions.
pub(crate) fn make_private(path: &Path) -> Result<(), StoreError> {
    let made = OpenOptions::new().create(true).truncate(false).write(true).mode(0o600).open(path);
    made.map(drop)
        .map_err(|error| StoreError::Unusable(format!("cannot open {}: {error}", path.display())))
}

fn version(connection: &Connection, path: &Path) -> Result<i64, StoreError> {
    let not_ours = |_| {
        StoreError::Unusable(format!("{} is not a Homeroom store (not SQLite)", path.display()))
    };
    let application: i64 =
        connection.query_row("PRAGMA application_id", [], |row| row.get(0)).map_err(not_ours)?;
    let found: i64 =
        connection.query_row("PRAGMA user_version", [], |row| row.get(0)).map_err(not_ours)?;
    let tables: i64 = connection
        .query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))
        .map_err(not_ours)?;
    if application != APPLICATION_ID && tables > 0 {
        return Err(StoreError::Unusable(format!(
            "{} is another program's SQLite file",
            path.display()
        )));
    }
    if found > newest() {
        return Err(StoreError::FromTheFuture { found, known: newest() });
    }
    Ok(found)
}

/// Migrates the tables of a store to the newest version; an empty file is not a store.
pub(super) fn bring_up_to_date(connection: &Connection, path: &Path) -> Result<(), StoreError> {
    let version = version(connection, path)?;
    if version == 0 {
        return Err(StoreError::Unusable(format!("{} is not a Homeroom store", path.display())));
    }
    if is_too_old(version)
        && connection.query_row(HAS_DOCUMENTS, [], |row| row.get::<_, i64>(0))? > 0
    {
        return Err(too_old(path.display()));
    }
    migrate(connection, version)
}

/// Makes the newest tables in an empty file.
pub(super) fn make_tables(connection: &Connection) -> Result<(), StoreError> {
    for migration in MIGRATIONS {
        connection.execute_batch(migration.sqlite)?;
    }
    connection.pragma_update(None, "application_id", APPLICATION_ID)?;
    Ok(connection.pragma_update(None, "user_version", newest())?)
}

fn migrate(connection: &Connection, from: i64) -> Result<(), StoreError> {
    for migration in MIGRATIONS.iter().filter(|migration| migration.version > from) {
        tracing::info!(version = migration.version, name = migration.name, "migrates the store");
        connection.execute_batch("BEGIN IMMEDIATE")?;
        let done = connection.execute_batch(migration.sqlite).and_then(|()| {
            connection.pragma_update(None, "application_id", APPLICATION_ID)?;
            connection.pragma_update(None, "user_version", migration.version)?;
            connection.execute_batch("COMMIT")
        });
        if let Err(error) = done {
            _ = connection.execute_batch("ROLLBACK");
            return Err(error.into());
        }
    }
    Ok(())
}

/// Opens a store's file for reading only, whether or not a process has it open for writing. Also
/// returns its schema version.
pub(crate) fn open_existing(path: &Path, cache_kib: u32) -> Result<(Connection, i64), StoreError> {
    let cannot_open = |error: &dyn std::fmt::Display| {
        StoreError::Unusable(format!("cannot open {}: {error}", path.display()))
    };
    // Not opened: closing a second descriptor would drop this process's locks on the file.
    let real = existing_file(path).map_err(|error| cannot_open(&error))?;
    let connection =
        open_reader(&real, cache_kib).map_err(|error| match error.sqlite_error_code() {
            Some(ErrorCode::NotADatabase) => StoreError::Unusable(format!(
                "{} is not a Homeroom store (not SQLite)",
                path.display()
            )),
            _ => cannot_open(&error),
        })?;
    let found = version(&connection, path)?;
    if found == 0 {
        return Err(StoreError::Unusable(format!("{} is not a Homeroom store", path.display())));
    }
    refuse_incomplete(&connection)?;
    Ok((connection, found))
}

/// Returns the path of an existing file, with links resolved.
fn existing_file(path: &Path) -> std::io::Result<PathBuf> {
    std::fs::metadata(path)?;
    real_file(path)
}

/// Looks for damage: first in the file's structure, then by comparing the tables, as far as time
/// permits.
pub(crate) fn check(path: &Path, time_max: Duration) -> Result<Health, StoreError> {
    let end = Instant::now() + time_max;
    let (mut connection, version) = open_existing(path, 65_536)?;
    connection.progress_handler(STEPS, Some(move || Instant::now() >= end))?;
    let mut health = Health::default();
    // The result of an interrupted statement is unknown.
    let done = |found: rusqlite::Result<String>| match found {
        Ok(hit) => Ok(Some(hit)),
        Err(rusqlite::Error::QueryReturnedNoRows) => Ok(None),
        Err(error) if error.sqlite_error_code() == Some(ErrorCode::OperationInterrupted) => {
            Err(None)
        }
        Err(error) => Err(Some(error)),
    };
    // What cannot be read is told below.
    if place::is_sealed(&connection).unwrap_or(false) {
        match seal::compare(path, &|| Instant::now() >= end) {
            Ok(_) => {}
            Err(Flaw::Damaged(why)) => {
                health.problems.push(why);
                return Ok(health);
            }
            Err(Flaw::Late) => {
                health.left_out.push("whether the file's bytes are those that were written".into());
            }
            Err(Flaw::Unread(error)) => return Err(unread(path, &error)),
        }
    }
    match done(connection.query_row("PRAGMA integrity_check(1)", [], |row| row.get(0))) {
        Ok(Some(integrity)) if integrity != "ok" => {
            health.problems.push(integrity);
            return Ok(health);
        }
        Ok(_) => {}
        Err(None) => {
            health.left_out.push("the file's own structure".into());
            return Ok(health);
        }
        Err(Some(error)) => return Err(error.into()),
    }
    if version < newest() {
        health.left_out.push(TOO_OLD_TO_CHECK.into());
        return Ok(health);
    }
    for (what, sql) in CHECKS.iter().chain(OWN_CHECKS) {
        match done(connection.query_row(sql, [], |row| row.get(0))) {
            Ok(None) => {}
            Ok(Some(hit)) => health.problems.push(format!("{what} (for example {hit})")),
            Err(None) => health.left_out.push(format!("whether {what}")),
            Err(Some(error)) => return Err(error.into()),
        }
    }
    Ok(health)
}

/// Returns the error for a file that cannot be read.
pub(super) fn unread(path: &Path, error: &std::io::Error) -> StoreError {
    StoreError::Unusable(format!("cannot read {}: {error}", path.display()))
}

/// Virtual-machine steps between two checks of the clock.
const STEPS: i32 = 100_000;

/// Checks that only this database can make.
const OWN_CHECKS: &[(&str, &str)] = &[
    (
        "a document cannot be found by its identity",
        "SELECT 'document ' || d.id FROM recent r CROSS JOIN doc d \
         WHERE (d.id <= r.key_done \
                OR d.id <= r.key_upto AND (r.key_hand IS NULL OR d.key < r.key_hand)) \
         AND NOT EXISTS (SELECT 1 FROM identity i WHERE i.key = d.key AND i.id = d.id) LIMIT 1",
    ),
    (
        "there are more identities than documents that have one",
        "SELECT n || ' identities' FROM (SELECT count(*) AS n FROM identity) i \
         WHERE n > (SELECT count(*) FROM recent r CROSS JOIN doc d \
                    WHERE d.id <= r.key_done \
                    OR d.id <= r.key_upto AND (r.key_hand IS NULL OR d.key < r.key_hand))",
    ),
    (
        "a document is not JSON",
        "SELECT 'document ' || id FROM doc WHERE NOT json_valid(body) LIMIT 1",
    ),
    (
        "a number that a document had will be issued again",
        "SELECT 'document ' || n FROM (SELECT max(coalesce((SELECT max(number) FROM tomb), 0), \
         coalesce((SELECT max(via) FROM past_tie), 0), \
         coalesce((SELECT max(last) FROM passed_over), 0)) AS n) x \
         WHERE n > coalesce((SELECT id FROM high_water WHERE name = 'doc'), 0) \
         AND n > coalesce((SELECT max(id) FROM doc), 0)",
    ),
];
