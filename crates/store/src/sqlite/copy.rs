//! Copies of the file: backs up a store in use, and restores a backup in a store's place.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, OpenFlags};

use super::lock::with_ending;
use crate::copies::Counted;
use crate::error::StoreError;
use crate::snapshot::{Snapshot, SnapshotOptions};
use crate::sqlite::lock::{Lock, hold_still, real_file};
use crate::sqlite::open::{
    BUSY, bring_up_to_date, check, make_private, open_existing, open_reader, unread,
};
use crate::sqlite::output::belongs_to_database;
use crate::sqlite::seal::{self, Flaw};
use crate::sqlite::shared::Shared;
use crate::sqlite::{place, recent};
use crate::store::{BackingUp, Restoring};
use crate::store::{Restored, StoreUrl};

/// Copies the store to `to` while it is in use; the copy is checked before it gets its name.
pub(crate) fn backup(
    from: &Shared,
    to: &Path,
    backing_up: &mut dyn BackingUp,
) -> Result<(), StoreError> {
    let fill = |part: &Path, _: &mut dyn BackingUp| {
        let source = from.file.open_reader()?;
        let text = part
            .to_str()
            .ok_or_else(|| StoreError::Unusable(format!("{} is not UTF-8", part.display())))?;
        make_private(part)?;
        source.execute("VACUUM INTO ?1", [text])?;
        Ok(())
    };
    archive(to, fill, backing_up)
}

/// Makes a backup that `fill` fills; it is checked before it gets its name.
pub(crate) fn archive(
    to: &Path,
    fill: impl FnOnce(&Path, &mut dyn BackingUp) -> Result<(), StoreError>,
    backing_up: &mut dyn BackingUp,
) -> Result<(), StoreError> {
    if belongs_to_database(to) {
        return Err(StoreError::Unusable(format!(
            "{} belongs to a database; name another file",
            to.display()
        )));
    }
    let part = with_ending(to, ".part");
    // A dangling link is also a name that is taken, and an existing file may belong to somebody.
    for name in [to, &part] {
        if name.symlink_metadata().is_ok() {
            return Err(StoreError::Unusable(format!(
                "{} already exists; remove it, or name another file",
                name.display()
            )));
        }
    }
    let remove_part = || ["", "-journal"].map(|ending| remove(&with_ending(&part, ending)));
    // Half a copy would only keep a full disk full.
    fill(&part, backing_up)
        .and_then(|()| complete(&part, to, backing_up))
        .inspect_err(|_| _ = remove_part())?;
    sync_folder(to);
    Ok(())
}

/// Marks `part` as a copy, seals it, has it checked and renames it.
fn complete(part: &Path, to: &Path, backing_up: &mut dyn BackingUp) -> Result<(), StoreError> {
    let cannot = |error: io::Error| match error.kind() {
        io::ErrorKind::StorageFull => StoreError::DiskFull,
        _ => StoreError::Unusable(format!("cannot finish {}: {error}", to.display())),
    };
    let copy = alone(part)?;
    recent::complete(&copy)?;
    place::mark(&copy)?;
    place::promise_seal(&copy)?;
    copy.close().map_err(|(_, error)| error)?;
    seal::seal(part).map_err(cannot)?;
    let problems = backing_up.look(&StoreUrl::Sqlite(part.to_owned()))?;
    if let Some(first) = problems.first() {
        return Err(StoreError::Failed(format!("the copy is damaged: {first}")));
    }
    std::fs::rename(part, to).map_err(cannot)
}

/// Opens a file exclusively, so that all of its contents are in the one file.
fn alone(file: &Path) -> Result<Connection, StoreError> {
    let connection = Connection::open_with_flags(file, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    connection.busy_timeout(BUSY)?;
    connection.pragma_update(None, "journal_mode", "delete")?;
    connection.pragma_update(None, "synchronous", "full")?;
    Ok(connection)
}

/// A backup that no process changes while this is held.
pub(crate) struct HeldBackup {
    /// Its file, with links resolved.
    pub(crate) file: PathBuf,
    _still: File,
}

impl HeldBackup {
    /// Copies it to a new file, without its seal, which a store that is written to has not.
    pub(crate) fn copy(&self, to: &Path) -> io::Result<()> {
        copy(&self.file, to)?;
        match seal::bytes_before(to)? {
            Some(bytes) => OpenOptions::new().write(true).open(to)?.set_len(bytes),
            None => Ok(()),
        }
    }
}

/// Holds a backup, and refuses one that is in use, damaged, or no backup.
pub(crate) fn hold_backup(from: &Path) -> Result<HeldBackup, StoreError> {
    let real = real_file(from).map_err(|error| {
        StoreError::Unusable(format!("cannot open {}: {error}", from.display()))
    })?;
    let from = real.as_path();
    let still = hold_still(from).map_err(|error| match error {
        StoreError::InUse(from) => StoreError::Unusable(format!(
            "another process has {from} open; make a copy of it with homeroom backup and restore \
             that"
        )),
        error => error,
    })?;
    if log_bytes(from) > 0 {
        return Err(StoreError::Unusable(format!(
            "{} has a write-ahead log beside it, which a copy would lose; start a server on it \
             and run homeroom backup",
            from.display()
        )));
    }
    match seal::refuse_cut(from) {
        Ok(()) | Err(Flaw::Late) => {}
        Err(Flaw::Damaged(why)) => return Err(damaged(from, &why)),
        Err(Flaw::Unread(error)) => return Err(unread(from, &error)),
    }
    if let Some(first) = check(from, STRUCTURE_TIME_MAX)?.problems.first() {
        return Err(damaged(from, first));
    }
    Ok(HeldBackup { file: real, _still: still })
}

/// Puts a backup in the place of the store `to`, which no process may have open.
///
/// The lock is held throughout, and at every moment the store's name leads to one of the two.
pub(crate) fn restore(
    from: &Path,
    to: &Path,
    restoring: &mut dyn Restoring,
) -> Result<Restored, StoreError> {
    let backup = hold_backup(from)?;
    let from = backup.file.as_path();
    let lock = Lock::of_place(to)?;
    let to = lock.path();
    let cannot = |what: &'static str| {
        move |error: io::Error| {
            StoreError::Unusable(format!("cannot {what} {}: {error}", to.display()))
        }
    };
    if let Ok((connection, _)) = open_existing(to, 512) {
        place::refuse_second_name(&connection, to)?;
    }
    let fresh = with_ending(to, ".restored");
    let parts = ["", "-journal", "-wal", "-shm"].map(|ending| with_ending(&fresh, ending));
    // It may be left from a restore that was killed, or be a store or a backup.
    if let Some(name) = parts.iter().find(|name| name.symlink_metadata().is_ok()) {
        return Err(StoreError::Unusable(format!(
            "{} already exists, and the restored store is made there; rename it if it is a \
             backup, or remove it if an interrupted restore left it",
            name.display()
        )));
    }
    let remove_fresh = |_: &StoreError| parts.iter().for_each(|name| _ = remove(name));
    backup.copy(&fresh).map_err(cannot("make room beside")).inspect_err(remove_fresh)?;
    let Prepared { backup_version, replaced_version, goes_on_after, word } =
        prepare(from, &fresh, &lock, restoring).inspect_err(remove_fresh)?;
    let kept = take_place(&fresh, &lock).inspect_err(remove_fresh)?;
    sync_folder(to);
    if let Err(error) = lock.write_words(&[&word]) {
        // The next opening then treats the store as a copy, and raises it again.
        tracing::debug!(%error, "the lock cannot be written");
    }
    Ok(Restored { kept, backup_version, replaced_version, goes_on_after })
}

/// Renames a file to the locked store's name. Returns the name under which the replaced store is
/// kept.
fn take_place(fresh: &Path, lock: &Lock) -> Result<Option<PathBuf>, StoreError> {
    let to = lock.path();
    let cannot = |what: &'static str| {
        move |error: io::Error| {
            StoreError::Unusable(format!("cannot {what} {}: {error}", to.display()))
        }
    };
    lock.check()?;
    let kept = if to.exists() { Some(keep(to).map_err(cannot("keep"))?) } else { None };
    lock.check()?;
    // A log belongs to one file; the new file must not find the old one's.
    for ending in ["-wal", "-shm"] {
        remove(&with_ending(to, ending)).map_err(cannot("remove the log of"))?;
    }
    if lock.id().is_some() {
        std::fs::rename(fresh, to).map_err(cannot("replace"))?;
        return Ok(kept);
    }
    // A file that has appeared there meanwhile is not replaced.
    match std::fs::hard_link(fresh, to) {
        Ok(()) => remove(fresh).map_err(cannot("finish"))?,
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            return Err(StoreError::Displaced(to.display().to_string()));
        }
        // Some file systems have no hard links.
        Err(_) => std::fs::rename(fresh, to).map_err(cannot("replace"))?,
    }
    Ok(kept)
}

/// A file ready to become the store: the newest change version of the backup, of the replaced store
/// and of the new one, and the word of its opening.
struct Prepared {
    backup_version: i64,
    replaced_version: Option<i64>,
    goes_on_after: i64,
    word: String,
}

/// Makes a copy of a backup ready to become the locked store: migrated, intact, above everything
/// that the replaced store may have issued, and as `restoring` wants it.
fn prepare(
    from: &Path,
    fresh: &Path,
    lock: &Lock,
    restoring: &mut dyn Restoring,
) -> Result<Prepared, StoreError> {
    let to = lock.path();
    let connection = alone(fresh)?;
    bring_up_to_date(&connection, fresh)?;
    place::forget_seal(&connection)?;
    let url = StoreUrl::Sqlite(fresh.to_owned());
    if let Some(first) = restoring.look(&url)?.first() {
        return Err(damaged(from, first));
    }
    lock.check()?;
    if let Err(error) = take_in_log(to)
        && to.exists()
    {
        tracing::warn!(%error, "the previous store cannot be opened; it is kept unchanged");
    }
    let options = SnapshotOptions::default();
    let replaced = Snapshot::open(&StoreUrl::Sqlite(to.to_owned()), &options);
    let before = replaced.as_ref().ok().and_then(|_| {
        let (connection, _) = open_existing(to, 512).ok()?;
        place::counted(&connection).ok()
    });
    let own = place::counted(&connection)?;
    let settled = {
        let restored = Snapshot::open(&url, &options)?;
        restoring.settle(&restored, replaced.as_ref())?
    };
    drop(replaced);
    let raised = place::raise(&connection, fresh, before.unwrap_or_default())?;
    connection.execute_batch("BEGIN IMMEDIATE")?;
    for sql in settled {
        connection.execute(sql.text, rusqlite::params_from_iter(&sql.arguments))?;
    }
    connection.execute_batch("COMMIT")?;
    let word = place::put_word(&connection)?;
    connection.close().map_err(|(_, error)| error)?;
    File::open(fresh).and_then(|file| file.sync_all()).map_err(|error| {
        StoreError::Unusable(format!("cannot finish {}: {error}", fresh.display()))
    })?;
    Ok(Prepared {
        backup_version: own.change_version,
        replaced_version: before.map(|before| before.change_version),
        goes_on_after: raised.version,
        word,
    })
}

/// Makes the store in a file, which no process may have open, continue above everything that may
/// have been issued. Returns its newest change version before and after.
pub(crate) fn raise(file: &Path) -> Result<(i64, i64), StoreError> {
    if !file.exists() {
        return Err(StoreError::Unusable(format!("there is no store at {}", file.display())));
    }
    let lock = Lock::of_place(file)?;
    let file = lock.path();
    let connection = Connection::open_with_flags(file, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    connection.busy_timeout(BUSY)?;
    connection.pragma_update(None, "synchronous", "full")?;
    place::refuse_second_name(&connection, file)?;
    bring_up_to_date(&connection, file)?;
    let before = place::counted(&connection)?.change_version;
    lock.check()?;
    let raised = place::raise(&connection, file, Counted::default())?;
    place::change_word(&connection, &lock)?;
    Ok((before, raised.version))
}

/// Longest check of a backup's structure before it is copied.
const STRUCTURE_TIME_MAX: Duration = Duration::from_hours(1);

/// Returns the error for a backup that must not be restored.
pub(crate) fn damaged(from: &Path, first: &str) -> StoreError {
    StoreError::Unusable(format!("{} is damaged: {first}", from.display()))
}

/// Gives the store a second name under which it is kept, including what its log still holds.
fn keep(file: &Path) -> io::Result<PathBuf> {
    // If the file is put back by hand later, the mark shows the store that it is a copy.
    if let Err(error) = mark_kept(file) {
        tracing::debug!(%error, "the previous store cannot be marked");
    }
    let kept = free_name(file);
    link(file, &kept)?;
    if log_bytes(file) > 0 {
        link(&with_ending(file, "-wal"), &with_ending(&kept, "-wal"))?;
    }
    sync_folder(file);
    Ok(kept)
}

/// Returns a name for the replaced store that no earlier kept store has.
fn free_name(file: &Path) -> PathBuf {
    let is_free = |name: &PathBuf| {
        let all = ["", "-wal", "-shm"].map(|ending| with_ending(name, ending));
        all.iter().all(|name| name.symlink_metadata().is_err())
    };
    let numbered = (2..).map(|number| with_ending(file, &format!(".before-restore-{number}")));
    let first = with_ending(file, ".before-restore");
    let mut names = std::iter::once(first).chain(numbered);
    names.find(is_free).expect("there are more numbers than files")
}

/// Copies the log that a killed server has left into the file, if that is a database at all: SQLite
/// would discard the log of any other file.
fn take_in_log(file: &Path) -> rusqlite::Result<()> {
    let reader = open_reader(file, 512)?;
    reader.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(()))?;
    drop(reader);
    let connection = Connection::open_with_flags(file, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    connection.busy_timeout(BUSY)?;
    connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))
}

/// Marks a store as a copy: the one that takes its place continues from it.
fn mark_kept(file: &Path) -> Result<(), StoreError> {
    take_in_log(file)?;
    let connection = Connection::open_with_flags(file, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    connection.busy_timeout(BUSY)?;
    place::mark(&connection)?;
    drop(connection);
    Ok(take_in_log(file)?)
}

/// Gives a file a second name, or copies it where the file system has no hard links.
fn link(file: &Path, name: &Path) -> io::Result<()> {
    std::fs::hard_link(file, name).or_else(|_| copy(file, name))
}

/// Copies a file to a new one that only its owner may read, and syncs it to disk.
fn copy(from: &Path, to: &Path) -> io::Result<()> {
    let mut copy = OpenOptions::new().create_new(true).write(true).mode(0o600).open(to)?;
    io::copy(&mut File::open(from)?, &mut copy)?;
    copy.sync_all()
}

/// Removes a file if it exists.
fn remove(file: &Path) -> io::Result<()> {
    match std::fs::remove_file(file) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

fn log_bytes(file: &Path) -> u64 {
    std::fs::metadata(with_ending(file, "-wal")).map_or(0, |log| log.len())
}

/// Makes new names in a file's folder durable, where the file system can.
fn sync_folder(file: &Path) {
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty());
    _ = File::open(folder.unwrap_or(Path::new("."))).and_then(|folder| folder.sync_all());
}
