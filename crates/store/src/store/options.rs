//! How a store is opened, and how it is.

use std::num::NonZeroU32;
use std::path::PathBuf;
use std::time::Duration;

use crate::store::StoreUrl;

/// How a store is opened.
#[derive(Debug, Clone)]
pub struct Options {
    /// Where it is.
    pub url: StoreUrl,
    /// Most plans that wait for the writer; beyond it the answer is [`crate::StoreError::Busy`].
    pub queue: usize,
    /// Longest time a list or count may take, waiting included.
    pub list_deadline: Duration,
    /// SQLite: page size in bytes; fixed when the file is made.
    pub page_bytes: u32,
    /// SQLite: page cache of each reading connection, in KiB.
    pub cache_kib: u32,
    /// SQLite: size of the write-ahead log beyond which it is made to begin anew.
    pub wal_bytes_max: u64,
    /// PostgreSQL: longest silence of the server before a connection that writes is taken for lost;
    /// longer than the 15 s that another node is waited for.
    pub silence_max: Duration,
    /// PostgreSQL, for tests: refuses every statement that is not in the part of SQL that related
    /// databases share, and lets one transaction in this many fail once, as such databases do.
    pub strict: Option<NonZeroU32>,
}

impl Options {
    /// The usual options for a place.
    pub fn new(url: StoreUrl) -> Self {
        Self {
            url,
            queue: 1_024,
            list_deadline: Duration::from_secs(5),
            page_bytes: 4_096,
            cache_kib: 16_384,
            wal_bytes_max: 256 << 20,
            silence_max: crate::postgres::SILENCE_MAX,
            strict: None,
        }
    }

    /// The usual options for a file.
    pub fn for_file(path: impl Into<PathBuf>) -> Self {
        Self::new(StoreUrl::Sqlite(path.into()))
    }
}

/// How busy a store is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StoreLoad {
    /// Writes that are not answered yet.
    pub waiting: usize,
    /// SQLite: bytes of the write-ahead log's file.
    pub log_bytes: u64,
}

/// How a store is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Health {
    /// Damage that was found, in words; empty when there is none.
    pub problems: Vec<String>,
    /// What was not looked at, in words, for want of time or because the tables are too old.
    pub left_out: Vec<String>,
}

/// What a restored store is, beside the store before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Restored {
    /// The file under which the store before is kept, if there was one.
    pub kept: Option<PathBuf>,
    /// The newest change version of the backup.
    pub backup_version: i64,
    /// The newest change version of the store before, where that could be read.
    pub replaced_version: Option<i64>,
    /// Change versions and numbers that are given out from now on are greater than this.
    pub goes_on_after: i64,
}
