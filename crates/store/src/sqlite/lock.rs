//! Locks a store's file for one process at a time, whatever path leads to the file.
//!
//! Two locks are held (`flock`). The lock of `FILE.lock`, next to the file that links lead to, is
//! the one that every Homeroom checks, and it is held even before the file exists. The lock of the
//! file itself belongs to the file, so a hard link, a mount or a deleted `FILE.lock` does not get
//! around it. What is under the store's names is checked repeatedly, so that a process notices when
//! it has lost the store.
//!
//! SQLite's own locks are of another kind, and the two kinds do not interact. But a process loses
//! all of SQLite's locks on a file when it closes any descriptor of that file. So the descriptor
//! here is opened before SQLite's and closed after them, and [`is_held_here`] is called before any
//! file is opened that could be a store.
//!
//! Source: fcntl(2), "Advisory record locking"; flock(2); SQLite, "How To Corrupt", §2.2.

mod holder;
mod path;

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{File, OpenOptions, Permissions, TryLockError};
use std::io;
use std::os::unix::fs::{FileExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use crate::error::StoreError;
use crate::sqlite::network::refuse_network_folder;

pub use path::{FileId, real_file};
pub(crate) use path::{folder_of, with_ending};

/// Endings of the names of a store's files.
const PARTS: [&str; 3] = ["", "-wal", "-shm"];
/// Most bytes of `FILE.lock` that are read.
const WORDS_BYTES_MAX: usize = 256;
/// Most attempts to lock the file under a name that keeps being replaced.
const TRIES_MAX: usize = 8;

/// The files of the stores that this process holds.
static HELD: Mutex<BTreeSet<FileId>> = Mutex::new(BTreeSet::new());

fn held() -> MutexGuard<'static, BTreeSet<FileId>> {
    HELD.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The files of the stores that this process reads without holding them, each with the number of
/// reads.
static READ: Mutex<BTreeMap<FileId, usize>> = Mutex::new(BTreeMap::new());

fn read() -> MutexGuard<'static, BTreeMap<FileId, usize>> {
    READ.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns whether a file belongs to a store that this process has open, even if only for reading.
/// Such a file must not be opened: closing it again would drop SQLite's locks on it.
pub fn is_held_here(path: &Path) -> bool {
    let id = FileId::of(path);
    id.is_some_and(|id| held().contains(&id) || read().contains_key(&id))
}

/// Returns whether this process has a store's file open for writing.
pub(crate) fn is_open_here(path: &Path) -> bool {
    FileId::of(path).is_some_and(|id| held().contains(&id))
}

/// Records that this process reads the files of a store, until it is dropped. It has to outlive the
/// connection.
pub(crate) struct Reading(Vec<FileId>);

impl Reading {
    /// Records a store's files, given the file's path with links resolved.
    pub(crate) fn of(path: &Path) -> Self {
        let ids = PARTS.iter().filter_map(|ending| FileId::of(&with_ending(path, ending)));
        let ids: Vec<FileId> = ids.collect();
        let mut all = read();
        for id in &ids {
            *all.entry(*id).or_default() += 1;
        }
        Self(ids)
    }
}

impl Drop for Reading {
    fn drop(&mut self) {
        let mut all = read();
        for id in &self.0 {
            if let Some(count) = all.get_mut(id) {
                *count -= 1;
                if *count == 0 {
                    all.remove(id);
                }
            }
        }
    }
}

/// The locks of a store's file. They are released when it is dropped, and it has to outlive all of
/// SQLite's connections to the file.
pub(crate) struct Lock {
    /// The file's path with links resolved.
    path: PathBuf,
    /// The file, once it exists, and whether its lock is held: a user who may not write the file
    /// may have locked it.
    file: Option<(File, AtomicBool)>,
    beside: File,
    /// The files that must be under the store's names while it is open.
    kept: OnceLock<Vec<(PathBuf, FileId)>>,
}

impl Lock {
    /// Takes the locks of a store that is to be opened, creating folder and file as needed.
    pub(crate) fn of_store(path: &Path) -> Result<Self, StoreError> {
        Self::take(path, true)
    }

    /// Takes the locks of a place where a store may or may not be; no file is created.
    pub(crate) fn of_place(path: &Path) -> Result<Self, StoreError> {
        Self::take(path, false)
    }

    fn take(path: &Path, make: bool) -> Result<Self, StoreError> {
        let folder = folder_of(path);
        if !folder.is_dir() {
            std::fs::create_dir_all(folder).map_err(|error| cannot("create", folder, error))?;
        }
        let path = real_file(path).map_err(|error| cannot("open", path, error))?;
        refuse_network_folder(&path)?;
        // No other thread of this process checks or opens a store until it is known what is held.
        let mut held = held();
        if FileId::of(&path).is_some_and(|id| held.contains(&id)) {
            return Err(in_use(&path));
        }
        let (beside, was_replaced) = lock_beside(&path)?;
        let file = lock_file(&path, make)?;
        if let Some((_, is_held)) = &file
            && was_replaced
            && !is_held.load(Ordering::Relaxed)
        {
            // A process that is not a Homeroom may hold one of the two locks; then the other one
            // still tells two Homerooms apart. Here neither does.
            return Err(in_use(&path));
        }
        held.extend(
            file.as_ref()
                .and_then(|(file, _)| file.metadata().ok())
                .iter()
                .map(FileId::of_metadata),
        );
        Ok(Self { path, file, beside, kept: OnceLock::new() })
    }

    /// Returns the file's path with links resolved.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the words in `FILE.lock`; empty where the file is new, or nothing has been written.
    pub(crate) fn words(&self) -> Vec<String> {
        let mut bytes = [0; WORDS_BYTES_MAX];
        let read = self.beside.read_at(&mut bytes, 0).unwrap_or(0);
        let text = std::str::from_utf8(&bytes[..read]).unwrap_or_default();
        text.split_whitespace().map(str::to_owned).collect()
    }

    /// Returns when `FILE.lock` was changed last: its content, name, owner or mode. Unlike the time
    /// of its last writing, a program that puts back a copy cannot set it. [`None`] if the file
    /// cannot be looked at.
    pub(crate) fn changed_at(&self) -> Option<String> {
        let about = self.beside.metadata().ok()?;
        Some(format!("{}.{:09}", about.ctime(), about.ctime_nsec()))
    }

    /// Replaces the words in `FILE.lock`.
    pub(crate) fn write_words(&self, words: &[&str]) -> io::Result<()> {
        let text = words.join("\n") + "\n";
        self.beside.write_all_at(text.as_bytes(), 0)?;
        self.beside.set_len(text.len() as u64)?;
        self.beside.sync_all()
    }

    /// Returns the file that is held, if there is one.
    pub(crate) fn id(&self) -> Option<FileId> {
        let (file, _) = self.file.as_ref()?;
        file.metadata().ok().as_ref().map(FileId::of_metadata)
    }

    /// Returns the store's file, which must not be closed before SQLite has closed it.
    pub(crate) fn file(&self) -> Option<&File> {
        self.file.as_ref().map(|(file, _)| file)
    }

    /// Records the files of the store, which is now open, and withdraws the right to read them, and
    /// thereby to lock them, from all users who may not write them.
    ///
    /// # Errors
    ///
    /// [`StoreError::Unusable`] when one of them is missing: its removal could not be noticed.
    pub(crate) fn keep(&self) -> Result<(), StoreError> {
        self.keep_parts(&PARTS)
    }

    /// Does the same for a file that has no write-ahead log.
    ///
    /// # Errors
    ///
    /// As [`Lock::keep`].
    pub(crate) fn keep_file(&self) -> Result<(), StoreError> {
        self.keep_parts(&PARTS[..1])
    }

    fn keep_parts(&self, parts: &[&str]) -> Result<(), StoreError> {
        let mut ids = Vec::with_capacity(parts.len());
        for path in parts.iter().map(|ending| with_ending(&self.path, ending)) {
            tighten(&path);
            let id = FileId::of(&path).ok_or_else(|| {
                StoreError::Unusable(format!(
                    "{} does not exist although the store is open; check that the disk is a local one",
                    path.display()
                ))
            })?;
            ids.push((path, id));
        }
        let kept = self.kept.get_or_init(|| ids);
        held().extend(kept.iter().map(|(_, id)| *id));
        Ok(())
    }

    /// Checks that the store's files are still under their names, as they must be whenever
    /// something is acknowledged or replaced.
    ///
    /// # Errors
    ///
    /// [`StoreError::Displaced`].
    pub(crate) fn check(&self) -> Result<(), StoreError> {
        let displaced = |path: &Path| Err(StoreError::Displaced(path.display().to_string()));
        let is_kept = self.kept.get().is_some();
        if !is_kept && FileId::of(&self.path) != self.id() {
            return displaced(&self.path);
        }
        let has_file = match &self.file {
            None => false,
            Some((file, is_held)) => {
                if !is_held.load(Ordering::Relaxed) && file.try_lock().is_ok() {
                    is_held.store(true, Ordering::Relaxed);
                }
                is_held.load(Ordering::Relaxed)
            }
        };
        // If the lock of the file itself is held, another process finds that one, even when
        // `FILE.lock` is gone.
        let beside = with_ending(&self.path, ".lock");
        let own = self.beside.metadata().ok().as_ref().map(FileId::of_metadata);
        if !has_file && FileId::of(&beside) != own {
            return displaced(&beside);
        }
        let mut kept = self.kept.get().into_iter().flatten();
        match kept.find(|(path, id)| FileId::of(path) != Some(*id)) {
            Some((path, _)) => displaced(path),
            None => Ok(()),
        }
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        let mut held = held();
        let own = self.id();
        for id in self.kept.get().into_iter().flatten().map(|(_, id)| *id).chain(own) {
            held.remove(&id);
        }
    }
}

/// Keeps a file unchanged while it is copied: no process can open it as a store meanwhile.
///
/// # Errors
///
/// [`StoreError::InUse`] when a process has it open as a store.
pub(crate) fn hold_still(path: &Path) -> Result<File, StoreError> {
    if is_held_here(path) {
        return Err(in_use(path));
    }
    let file = File::open(path).map_err(|error| cannot("open", path, error))?;
    match file.try_lock_shared() {
        // On a file system without locks no store can be open.
        Ok(()) | Err(TryLockError::Error(_)) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(in_use(path)),
    }
}

/// Locks `FILE.lock`. Also returns whether the file under that name was replaced.
fn lock_beside(path: &Path) -> Result<(File, bool), StoreError> {
    let name = with_ending(path, ".lock");
    let mut was_replaced = false;
    for _ in 0..TRIES_MAX {
        let mut options = OpenOptions::new();
        options.create(true).truncate(false).read(true).write(true).mode(0o600);
        let file = options.open(&name).map_err(|error| cannot("open", &name, error))?;
        let about = file.metadata().map_err(|error| cannot("open", &name, error))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) if holder::are_strangers(&about) => {
                tracing::warn!(
                    file = %name.display(),
                    "a user who may not write the store holds its lock; the lock file is created again"
                );
                std::fs::remove_file(&name).map_err(|error| cannot("remove", &name, error))?;
                was_replaced = true;
                continue;
            }
            Err(TryLockError::WouldBlock) => return Err(in_use(path)),
            Err(TryLockError::Error(error)) => return Err(cannot("lock", &name, error)),
        }
        if FileId::of(&name) == Some(FileId::of_metadata(&about)) {
            tighten(&name);
            return Ok((file, was_replaced));
        }
    }
    Err(in_use(path))
}

/// Locks the file itself. If it does not exist and `make` is set, creates it so that only its owner
/// may read it; SQLite gives the files next to it the same permissions.
fn lock_file(path: &Path, make: bool) -> Result<Option<(File, AtomicBool)>, StoreError> {
    for _ in 0..TRIES_MAX {
        let mut options = OpenOptions::new();
        options.create(make).truncate(false).read(true).write(true).mode(0o600);
        let file = match options.open(path) {
            Ok(file) => file,
            Err(error) if !make && error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(cannot("open", path, error)),
        };
        let about = file.metadata().map_err(|error| cannot("open", path, error))?;
        let is_held = match file.try_lock() {
            Ok(()) => true,
            Err(TryLockError::WouldBlock) if holder::are_strangers(&about) => {
                tracing::warn!(
                    file = %path.display(),
                    "a user who may not write the store holds the lock on its file; until that is \
                     free, only the lock file beside it counts"
                );
                false
            }
            Err(TryLockError::WouldBlock) => return Err(in_use(path)),
            Err(TryLockError::Error(error)) => return Err(cannot("lock", path, error)),
        };
        if FileId::of(path) == Some(FileId::of_metadata(&about)) {
            return Ok(Some((file, AtomicBool::new(is_held))));
        }
    }
    Err(in_use(path))
}

/// Withdraws the right to read a file from users who may not write it: a user who may read it may
/// lock it.
fn tighten(path: &Path) {
    let Ok(about) = std::fs::metadata(path) else { return };
    let mode = about.permissions().mode() & 0o7777;
    let mut tight = mode;
    for (read, write) in [(0o040, 0o020), (0o004, 0o002)] {
        if mode & write == 0 {
            tight &= !read;
        }
    }
    if tight == mode {
        return;
    }
    match std::fs::set_permissions(path, Permissions::from_mode(tight)) {
        Ok(()) => tracing::info!(
            file = %path.display(),
            "users who may not write the store can no longer read this file"
        ),
        Err(error) => tracing::warn!(
            file = %path.display(), %error,
            "users who may not write the store can read this file, and therefore lock it"
        ),
    }
}

fn in_use(path: &Path) -> StoreError {
    StoreError::InUse(path.display().to_string())
}

fn cannot(what: &str, path: &Path, error: io::Error) -> StoreError {
    let hint = if what == "lock" { "; network file systems are not supported" } else { "" };
    StoreError::Unusable(format!("cannot {what} {}: {error}{hint}", path.display()))
}
