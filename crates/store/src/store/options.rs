//! Options of a store, and its load and health.

use std::num::NonZeroU32;
use std::path::PathBuf;
use std::time::Duration;

use crate::store::StoreUrl;

/// How a store is opened.
#[derive(Debug, Clone)]
pub struct Options {
    /// The store's location.
    pub url: StoreUrl,
    /// Most plans that may wait for the writer; beyond it the answer is
    /// [`crate::StoreError::Busy`].
    pub queue: usize,
    /// Most bounded lists, counts and short statements that may wait, beyond those that are running.
    pub list_queue: usize,
    /// The same for filters without an index.
    pub scan_queue: usize,
    /// PostgreSQL: connections on which lists run, one at a time on each.
    pub list_connections: usize,
    /// PostgreSQL: connections on which filters without an index run.
    pub scan_connections: usize,
    /// PostgreSQL: most reads of index entries that the database has not answered; further ones wait.
    pub probes: usize,
    /// Longest time that a plan may wait for the writer; after it, it is not run.
    pub queue_time: Duration,
    /// Longest time that a list or count may take, waiting included.
    pub list_deadline: Duration,
    /// SQLite: page size in bytes, fixed when the file is created.
    pub page_bytes: u32,
    /// SQLite: page cache of each reading connection, in KiB.
    pub cache_kib: u32,
    /// SQLite: size of the write-ahead log, in bytes, beyond which it is restarted.
    pub wal_bytes_max: u64,
    /// SQLite: for how many documents identities, and up to four times as many edges, are kept in
    /// memory until they move to their tables; 100 to 250 bytes a document.
    pub recent_documents: usize,
    /// PostgreSQL: longest silence of the server before a writing connection counts as lost. Must
    /// be longer than the 15 s that a node waits for another one.
    pub silence_max: Duration,
    /// PostgreSQL, for tests: refuses every statement outside the SQL that related databases share,
    /// and makes one transaction in this many fail once, as such databases do.
    pub strict: Option<NonZeroU32>,
}

impl Options {
    /// The most bytes of SQLite's write-ahead log before writes wait for it, unless something else is set.
    pub const WAL_BYTES_MAX: u64 = 64 << 20;

    /// The page cache of each reading connection in KiB, unless something else is set.
    pub const CACHE_KIB: u32 = 16_384;

    /// How many documents' identities and edges are kept in memory unless something else is set.
    pub const RECENT_DOCUMENTS: usize = 262_144;

    /// Returns the default options for a location.
    pub fn new(url: StoreUrl) -> Self {
        Self {
            url,
            queue: 1_024,
            list_queue: 512,
            scan_queue: 512,
            list_connections: 4,
            scan_connections: 2,
            probes: 512,
            queue_time: Duration::from_secs(20),
            list_deadline: Duration::from_secs(5),
            page_bytes: 4_096,
            cache_kib: Self::CACHE_KIB,
            wal_bytes_max: Self::WAL_BYTES_MAX,
            recent_documents: Self::RECENT_DOCUMENTS,
            silence_max: crate::postgres::SILENCE_MAX,
            strict: None,
        }
    }

    /// Returns the default options for a file.
    pub fn for_file(path: impl Into<PathBuf>) -> Self {
        Self::new(StoreUrl::Sqlite(path.into()))
    }
}

/// How busy a store is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StoreLoad {
    /// Number of writes that are not answered yet.
    pub waiting: usize,
    /// SQLite: size of the write-ahead log's file, in bytes.
    pub log_bytes: u64,
    /// SQLite: size of the store's file, in bytes.
    pub file_bytes: u64,
    /// Number of transactions that this process has committed since it opened the store.
    pub commits: u64,
    /// Sum of the times that these commits took until they were durable.
    pub commit_time: Duration,
    /// SQLite: number of times that the log was copied into the file.
    pub checkpoints: u64,
    /// Sum of the times of these copies.
    pub checkpoint_time: Duration,
    /// SQLite: sum of the times that the writer waited while the log began anew; part of those of the copies.
    pub restart_time: Duration,
    /// Number of times that what the writer remembers of documents, ties and rights was emptied: by
    /// a plan's plain SQL, or by a transaction that failed. Rows of parts never do that.
    pub forgotten: u64,
}

/// The result of a check for damage.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Health {
    /// Descriptions of the damage found; empty when there is none.
    pub problems: Vec<String>,
    /// Descriptions of checks that were left out, for lack of time or because the tables are too
    /// old.
    pub left_out: Vec<String>,
}

/// The result of a restore.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Restored {
    /// The file under which the replaced store is kept, if there was one.
    pub kept: Option<PathBuf>,
    /// The newest change version of the backup.
    pub backup_version: i64,
    /// The newest change version of the replaced store, if that could be read.
    pub replaced_version: Option<i64>,
    /// Change versions and numbers that are issued from now on are greater than this.
    pub goes_on_after: i64,
}
