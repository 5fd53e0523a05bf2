//! The embedded store: one SQLite file, one writer thread with group commit, and concurrent
//! readers.
//!
//! A process that opens the file holds a lock on it, whatever path leads there. So a second process
//! is refused and cannot interfere with the first one's counters (`lock.rs`).

mod checkpoint;
mod copy;
mod error;
mod lister;
mod lock;
mod open;
mod output;
mod place;
mod probe;
mod reach;
mod select;
mod snapshot;
mod value;
mod views;
mod writer;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use rusqlite::Connection;

use crate::error::StoreError;
use crate::queue::Queue;
use crate::sqlite::lock::Lock;
use crate::store::Options;
use crate::tie::{Reached, Start, Way};

pub(crate) use copy::{backup, raise, restore};
pub(crate) use lister::Lister;
pub use lock::{FileId, is_held_here, real_file};
pub(crate) use open::check;
pub use output::{OutputError, OutputKind, check_folder, is_database};
pub(crate) use probe::{by_key, by_uuid, target};
pub(crate) use select::{count, cuts, list, pass, serve};
pub(crate) use snapshot::SqliteSnapshot;
pub(crate) use value::rows;
pub(crate) use views::{replace_views, views_version};

/// The writer's page cache as a multiple of a reading connection's: it looks up every identity and
/// every target, wherever they are in the file.
const WRITER_CACHE: u32 = 4;

/// An open SQLite store.
pub(crate) struct Sqlite {
    pub(crate) shared: Arc<Shared>,
    pub(crate) writer: Queue,
    pub(crate) lister: Lister,
}

/// Opens the store in a file, creating and migrating it as needed.
pub(crate) fn open(path: &Path, options: &Options) -> Result<Sqlite, StoreError> {
    let cache_kib = options.cache_kib.saturating_mul(WRITER_CACHE);
    let (lock, connection) = open::open_file(path, options.page_bytes, cache_kib)?;
    place::settle(&connection, &lock)?;
    let newest = snapshot::newest_change_version(&connection)?;
    let shared = Arc::new(Shared::new(lock, newest, options.cache_kib));
    let cores = std::thread::available_parallelism().map_or(2, usize::from);
    let lister = Lister::start(&shared, cores, (cores / 2).max(1))?;
    shared.probes.provide(&shared, cores)?;
    let writer =
        writer::start(connection, Arc::clone(&shared), options.queue, options.wal_bytes_max)?;
    Ok(Sqlite { shared, writer, lister })
}

impl Sqlite {
    /// Reads one index entry immediately, on this thread's own connection.
    pub(crate) fn probe<T>(
        &self,
        probe: impl FnOnce(&Connection) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        probe::on_this_thread(&self.shared, probe)
    }

    /// Follows ways, all on one state of the store.
    pub(crate) fn reach(&self, from: &[(Start, Way)]) -> Result<Vec<Reached>, StoreError> {
        let climbs = &self.shared.climbs;
        let version = climbs.begin(from.iter().map(|(_, way)| way.up));
        self.probe(|c| {
            from.iter().map(|(start, way)| climbs.reach(c, version, *start, way)).collect()
        })
    }

    /// Stops the readers, then the writer, which empties the log and closes the file.
    pub(crate) fn close(&self) {
        self.shared.is_closed.store(true, Ordering::Release);
        self.lister.close();
        self.shared.probes.close();
        self.writer.close();
    }
}

impl Drop for Sqlite {
    fn drop(&mut self) {
        self.close();
    }
}

/// State that writer, readers and the checkpointer share.
pub(crate) struct Shared {
    /// The file's path with links resolved.
    pub(crate) path: PathBuf,
    /// [`None`] once the store is closed.
    lock: RwLock<Option<Lock>>,
    /// Distinguishes thread-local connections of different stores.
    pub(crate) number: u64,
    pub(crate) newest_change_version: AtomicI64,
    pub(crate) cache_kib: u32,
    pub(crate) probes: probe::Probes,
    /// Climbs over ties that readers remember.
    pub(crate) climbs: reach::SharedClimbs,
    /// Whether the store has stopped answering.
    pub(crate) is_closed: AtomicBool,
    /// Number of jobs that the writer has not answered yet.
    pub(crate) waiting: Arc<AtomicUsize>,
    /// Why nothing can be written at the moment.
    pub(crate) trouble: Mutex<Option<StoreError>>,
}

impl Shared {
    pub(crate) fn new(lock: Lock, newest: i64, cache_kib: u32) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        Self {
            path: lock.path().to_owned(),
            lock: RwLock::new(Some(lock)),
            number: NEXT.fetch_add(1, Ordering::Relaxed),
            newest_change_version: AtomicI64::new(newest),
            cache_kib,
            probes: probe::Probes::new(),
            climbs: reach::SharedClimbs::default(),
            is_closed: AtomicBool::new(false),
            waiting: Arc::default(),
            trouble: Mutex::new(None),
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

    /// Releases the lock, after the last connection was closed.
    fn unlock(&self) {
        drop(self.lock.write().unwrap_or_else(PoisonError::into_inner).take());
    }

    /// Opens another, read-only connection to the held file, and to no other file that may now have
    /// its name.
    pub(crate) fn open_reader(&self) -> Result<Connection, StoreError> {
        self.check_place()?;
        let connection = open::open_reader(&self.path, self.cache_kib)?;
        // The first read opens the log too.
        connection.query_row("PRAGMA schema_version", [], |_| Ok(()))?;
        self.check_place()?;
        Ok(connection)
    }

    /// Returns the path of the write-ahead log.
    pub(crate) fn log_file(&self) -> PathBuf {
        with_ending(&self.path, "-wal")
    }
}

/// Returns the name of a file next to another.
fn with_ending(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    PathBuf::from(name)
}
