//! How a store is opened, and how it is.

use std::path::PathBuf;
use std::time::Duration;

/// How a store is opened.
#[derive(Debug, Clone)]
pub struct Options {
    /// The SQLite file.
    pub path: PathBuf,
    /// Page size in bytes; fixed when the file is made.
    pub page_bytes: u32,
    /// Most plans that wait for the writer; beyond it the answer is [`crate::StoreError::Busy`].
    pub queue: usize,
    /// Longest time a list or count may take, waiting included.
    pub list_deadline: Duration,
    /// Page cache of each reading connection, in KiB.
    pub cache_kib: u32,
    /// Size of the write-ahead log beyond which it is made to begin anew.
    pub wal_bytes_max: u64,
}

impl Options {
    /// The usual options for a file.
    pub fn for_file(path: impl Into<PathBuf>) -> Self {
        Self {
            path: path.into(),
            page_bytes: 4_096,
            queue: 1_024,
            list_deadline: Duration::from_secs(5),
            cache_kib: 16_384,
            wal_bytes_max: 256 << 20,
        }
    }
}

/// How busy a store is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StoreLoad {
    /// Writes that are not answered yet.
    pub waiting: usize,
    /// Bytes of the write-ahead log's file.
    pub log_bytes: u64,
}

/// How a store is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Health {
    /// Damage that was found, in words; empty when there is none.
    pub problems: Vec<String>,
}
