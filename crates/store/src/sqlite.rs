//! The embedded store: one SQLite file, one writer thread with group commit, readers beside it.
//!
//! Every process that opens the file holds a lock on it, whatever name leads there, so that a second
//! one is refused instead of writing beside the first one's counters (`lock.rs`).

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
/// every target, wherever they stand.
const WRITER_CACHE: u32 = 4;

/// An open SQLite store.
pub(crate) struct Sqlite {
    pub(crate) shared: Arc<Shared>,
    pub(crate) writer: Queue,
    pub(crate) lister: Lister,
}

/// Opens the store in a file, making and migrating it as needed.
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
    /// Reads one index entry at once, on this thread's own connection.
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

    /// Ends readers, then the writer, which empties the log and closes the file.
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

/// What writer, readers and the checkpointer share.
pub(crate) struct Shared {
    /// The file's path without links.
    pub(crate) path: PathBuf,
    /// Nothing once the store is closed.
    lock: RwLock<Option<Lock>>,
    /// Tells thread-local connections of different stores apart.
    pub(crate) number: u64,
    pub(crate) newest_change_version: AtomicI64,
    pub(crate) cache_kib: u32,
    pub(crate) probes: probe::Probes,
    /// Where ties lead, as readers remember it.
    pub(crate) climbs: reach::SharedClimbs,
    /// Whether nothing is answered any more.
    pub(crate) is_closed: AtomicBool,
    /// Jobs that the writer has not answered yet.
    pub(crate) waiting: Arc<AtomicUsize>,
    /// Why nothing can be written at this moment.
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

    /// Makes sure that the store's files still stand under their names.
    ///
    /// # Errors
    ///
    /// [`StoreError::Displaced`]; [`StoreError::Closed`].
    pub(crate) fn check_place(&self) -> Result<(), StoreError> {
        let lock = self.lock.read().unwrap_or_else(PoisonError::into_inner);
        lock.as_ref().ok_or(StoreError::Closed)?.check()
    }

    /// Which of an open store's files does not stand under its name any more, if so.
    pub(crate) fn displaced(&self) -> Option<StoreError> {
        self.check_place().err().filter(|error| matches!(error, StoreError::Displaced(_)))
    }

    /// The file that is held, as long as the store is open.
    pub(crate) fn file_id(&self) -> Option<FileId> {
        self.lock.read().unwrap_or_else(PoisonError::into_inner).as_ref()?.id()
    }

    /// Gives the lock back, after the last connection was closed.
    fn unlock(&self) {
        drop(self.lock.write().unwrap_or_else(PoisonError::into_inner).take());
    }

    /// Opens a further, read-only connection to the file that is held, and to no other that stands
    /// under its name by now.
    pub(crate) fn open_reader(&self) -> Result<Connection, StoreError> {
        self.check_place()?;
        let connection = open::open_reader(&self.path, self.cache_kib)?;
        // With the first read the log is opened, too.
        connection.query_row("PRAGMA schema_version", [], |_| Ok(()))?;
        self.check_place()?;
        Ok(connection)
    }

    /// The write-ahead log's file.
    pub(crate) fn log_file(&self) -> PathBuf {
        with_ending(&self.path, "-wal")
    }
}

/// The name of a file beside another.
fn with_ending(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    PathBuf::from(name)
}
