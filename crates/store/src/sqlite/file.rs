//! The store's file, which this process holds by its lock.

use std::fs::File;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use rusqlite::Connection;

use crate::error::StoreError;
use crate::sqlite::lock::{FileId, Lock, with_ending};
use crate::sqlite::recent::{self, Recent};
use crate::sqlite::{open, residue};

/// A file that is held until the store is closed.
pub(crate) struct HeldFile {
    /// The file's path with links resolved.
    pub(crate) path: PathBuf,
    /// [`None`] once the store is closed.
    lock: RwLock<Option<Lock>>,
    /// Distinguishes thread-local connections of different stores.
    pub(crate) number: u64,
    /// The page cache of a reading connection, in KiB.
    cache_kib: u32,
    /// What is not in the file's tables yet.
    pub(crate) recent: Arc<Recent>,
    /// Whether the store has stopped answering.
    pub(crate) is_closed: AtomicBool,
}

impl HeldFile {
    /// Keeps the lock of the file, which says where it is.
    pub(crate) fn new(lock: Lock, cache_kib: u32) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        Self {
            path: lock.path().to_owned(),
            lock: RwLock::new(Some(lock)),
            number: NEXT.fetch_add(1, Ordering::Relaxed),
            cache_kib,
            recent: Arc::default(),
            is_closed: AtomicBool::new(false),
        }
    }

    /// Checks that the store's files are still under their names.
    ///
    /// # Errors
    ///
    /// [`StoreError::Displaced`]; [`StoreError::Closed`].
    pub(crate) fn check_place(&self) -> Result<(), StoreError> {
        let lock = self.lock.read().unwrap_or_else(PoisonError::into_inner);
        lock.as_ref().ok_or(StoreError::Closed)?.check()
    }

    /// Returns the error for an open store's file that is no longer under its name, if there is
    /// one.
    pub(crate) fn displaced(&self) -> Option<StoreError> {
        self.check_place().err().filter(|error| matches!(error, StoreError::Displaced(_)))
    }

    /// Returns the file that is held, as long as the store is open.
    pub(crate) fn file_id(&self) -> Option<FileId> {
        self.lock.read().unwrap_or_else(PoisonError::into_inner).as_ref()?.id()
    }

    /// Zeroes what former pages have left between the rows of others, while the log is empty and nobody
    /// writes. Returns the number of pages.
    ///
    /// # Errors
    ///
    /// The errors are those of the file.
    pub(crate) fn clear_residue(&self) -> Result<u64, StoreError> {
        let lock = self.lock.read().unwrap_or_else(PoisonError::into_inner);
        let Some(file) = lock.as_ref().and_then(Lock::file) else { return Ok(0) };
        residue::clear(file).map_err(|error| StoreError::Failed(error.to_string()))
    }

    /// Waits until what was written into the file is on the disk. An error is told to SQLite's own next sync as well:
    /// the system remembers for each descriptor which errors it was told.
    ///
    /// # Errors
    ///
    /// The errors are those of the file.
    pub(crate) fn sync(&self) -> std::io::Result<()> {
        let lock = self.lock.read().unwrap_or_else(PoisonError::into_inner);
        lock.as_ref().and_then(Lock::file).map_or(Ok(()), File::sync_data)
    }

    /// Releases the lock, after the last connection was closed.
    pub(crate) fn unlock(&self) {
        drop(self.lock.write().unwrap_or_else(PoisonError::into_inner).take());
    }

    /// Opens another, read-only connection to the held file, and to no other file that may now have
    /// its name.
    pub(crate) fn open_reader(&self) -> Result<Connection, StoreError> {
        self.check_place()?;
        let connection = open::open_reader(&self.path, self.cache_kib)?;
        // The first read opens the log too.
        connection.query_row("PRAGMA schema_version", [], |_| Ok(()))?;
        recent::provide(&connection, &self.recent)?;
        self.check_place()?;
        Ok(connection)
    }

    /// Returns the path of the write-ahead log.
    pub(crate) fn log_file(&self) -> PathBuf {
        with_ending(&self.path, "-wal")
    }
}
