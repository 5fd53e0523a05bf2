//! The embedded store: one SQLite file, one writer thread with group commit, readers beside it.
//!
//! Every process that opens the file holds a lock on `FILE.lock`, so that a second one is refused
//! instead of writing beside the first one's counters.

mod checkpoint;
mod error;
mod lister;
mod open;
mod probe;
mod select;
mod value;
mod writer;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, AtomicUsize, Ordering};

pub(crate) use lister::Lister;
pub(crate) use open::{backup, check, open_file};
pub(crate) use probe::{by_key, by_uuid, on_this_thread as probe_here, target};
pub(crate) use select::{count, cuts, list};
pub(crate) use value::rows;
pub(crate) use writer::{Job, Writer, WriterHandle};

/// Blocks of 4,096 ids are counted together.
pub(crate) const BLOCK_BITS: u32 = 12;

/// An open SQLite store.
pub(crate) struct Sqlite {
    pub(crate) shared: Arc<Shared>,
    pub(crate) writer: WriterHandle,
    pub(crate) lister: Lister,
}

/// What writer, readers and the checkpointer share.
pub(crate) struct Shared {
    pub(crate) path: PathBuf,
    /// Tells thread-local connections of different stores apart.
    pub(crate) number: u64,
    pub(crate) newest_change_version: AtomicI64,
    pub(crate) cache_kib: u32,
    /// Jobs that the writer has not answered yet.
    pub(crate) waiting: AtomicUsize,
}

impl Shared {
    pub(crate) fn new(path: PathBuf, newest: i64, cache_kib: u32) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        Self {
            path,
            number: NEXT.fetch_add(1, Ordering::Relaxed),
            newest_change_version: AtomicI64::new(newest),
            cache_kib,
            waiting: AtomicUsize::new(0),
        }
    }

    /// The write-ahead log's file.
    pub(crate) fn log_file(&self) -> PathBuf {
        let mut name = self.path.as_os_str().to_owned();
        name.push("-wal");
        PathBuf::from(name)
    }
}
