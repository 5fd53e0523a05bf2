//! Backups of a database, and restores into one: an archive is a store's file, whichever engine the
//! store has.

use std::fs::File;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use crate::carried::Table;
use crate::error::StoreError;
use crate::id::Uuid;
use crate::postgres::{self, Arriving};
use crate::snapshot::{Snapshot, SnapshotOptions};
use crate::sqlite::{self, Filling, HeldBackup, Reading};
use crate::store::options::Restored;
use crate::store::restoring::{BackingUp, Restoring};
use crate::store::url::{PostgresUrl, StoreUrl};

/// Rows between two reports of progress.
const TOLD_EACH: u64 = 10_000;

/// Copies one state of a database to a new file, while nodes write to it.
pub(super) fn backup(
    from: &PostgresUrl,
    to: &Path,
    backing_up: &mut dyn BackingUp,
) -> Result<(), StoreError> {
    let tables = sqlite::carried()?;
    let fill = |part: &Path, backing_up: &mut dyn BackingUp| {
        let filling = Filling::begin(part, &tables)?;
        let departing = postgres::depart(from, tables.clone())?;
        let mut told = Told::default();
        while let Some(batch) = departing.next() {
            filling.add(&batch)?;
            if let Some(rows) = told.more(batch.rows.len()) {
                backing_up.copied(rows);
            }
        }
        filling.finish(departing.end()?)
    };
    sqlite::archive(to, fill, backing_up)
}

/// Copies an archive into a database that is empty or unused, as one transaction.
pub(super) fn restore(
    from: &Path,
    to: &PostgresUrl,
    restoring: &mut dyn Restoring,
) -> Result<Restored, StoreError> {
    let tables = sqlite::carried()?;
    let held = sqlite::hold_backup(from)?;
    postgres::prepare(to, &tables)?;
    let options = SnapshotOptions::default();
    {
        let there = Snapshot::open(&StoreUrl::Postgres(to.clone()), &options)?;
        if let Some(what) = restoring.in_the_way(&there)? {
            return Err(StoreError::Unusable(format!(
                "{to} has {what}; restore into an empty database, which createdb makes"
            )));
        }
    }
    // The backup itself is not touched.
    let renewed = Renewed::of(&held)?;
    let url = StoreUrl::Sqlite(renewed.path.clone());
    if let Some(first) = restoring.look(&url)?.first() {
        return Err(sqlite::damaged(&held.file, first));
    }
    let settled = {
        let restored = Snapshot::open(&url, &options)?;
        let was_empty = StoreError::Unusable("the database was empty".into());
        restoring.settle(&restored, Err(&was_empty))?
    };
    let reading = Reading::open(&renewed.path)?;
    let own = reading.counted()?;
    let arriving = postgres::arrive(to, tables.clone(), settled, own, reading.moment()?)?;
    let goes_on_after = send(&reading, &tables, arriving, restoring)?;
    Ok(Restored {
        kept: None,
        backup_version: own.change_version,
        replaced_version: None,
        goes_on_after,
    })
}

/// Sends all rows of an archive. Returns where the restored store continues.
fn send(
    reading: &Reading,
    tables: &[Table],
    arriving: Arriving,
    restoring: &mut dyn Restoring,
) -> Result<i64, StoreError> {
    let mut told = Told::default();
    let read = reading.each(tables, &mut |batch| {
        let count = batch.rows.len();
        arriving.give(batch)?;
        if let Some(rows) = told.more(count) {
            restoring.copied(rows);
        }
        Ok(())
    });
    match read {
        Ok(()) => arriving.end(),
        // Why nobody takes the rows is the better answer.
        Err(StoreError::Closed) => arriving.end().and(Err(StoreError::Closed)),
        Err(error) => Err(error),
    }
}

/// Counts the rows that are copied.
#[derive(Default)]
struct Told {
    rows: u64,
    last: u64,
}

impl Told {
    /// Adds rows. Returns how many there are, if that is worth telling.
    fn more(&mut self, rows: usize) -> Option<u64> {
        self.rows += rows as u64;
        let is_due = self.rows - self.last >= TOLD_EACH;
        is_due.then(|| {
            self.last = self.rows;
            self.rows
        })
    }
}

/// The working copy of an archive, which is removed with the value.
struct Renewed {
    path: PathBuf,
    /// Held while the copy is in use, so that what a killed restore has left can be told apart.
    lock: Option<File>,
}

/// What follows the name of an archive in the name of its working copy, before 32 hex digits.
const ENDING: &str = ".restoring-";

impl Renewed {
    /// Copies an archive to a file beside it. Removes what killed restores have left there.
    fn of(held: &HeldBackup) -> Result<Self, StoreError> {
        remove_left(&held.file);
        let mut name = held.file.as_os_str().to_owned();
        name.push(format!("{ENDING}{}", Uuid::new()));
        let mut renewed = Self { path: PathBuf::from(name), lock: None };
        let cannot = |error: std::io::Error| match error.kind() {
            ErrorKind::StorageFull => StoreError::DiskFull,
            _ => {
                let file = renewed.path.display();
                StoreError::Unusable(format!("cannot make a working copy at {file}: {error}"))
            }
        };
        held.copy(&renewed.path).map_err(&cannot)?;
        let lock = File::open(&renewed.path).map_err(&cannot)?;
        _ = lock.try_lock();
        renewed.lock = Some(lock);
        sqlite::renew(&renewed.path)?;
        Ok(renewed)
    }
}

impl Drop for Renewed {
    fn drop(&mut self) {
        for ending in ["", "-journal"] {
            let mut name = self.path.as_os_str().to_owned();
            name.push(ending);
            _ = std::fs::remove_file(name);
        }
    }
}

/// Removes working copies of an archive that nobody holds.
fn remove_left(archive: &Path) {
    let (Some(folder), Some(name)) = (archive.parent(), archive.file_name()) else { return };
    let begin = format!("{}{ENDING}", name.to_string_lossy());
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let Some(rest) = name.to_str().and_then(|name| name.strip_prefix(&begin)) else { continue };
        let id = rest.strip_suffix("-journal").unwrap_or(rest);
        let is_ours = id.len() == 32 && id.bytes().all(|byte| byte.is_ascii_hexdigit());
        if is_ours && File::open(entry.path()).is_ok_and(|file| file.try_lock().is_ok()) {
            _ = std::fs::remove_file(entry.path());
        }
    }
}
