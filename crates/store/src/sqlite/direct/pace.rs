//! What the writer of a direct load is told, and what it tells.

use std::sync::atomic::AtomicU64;

/// Number of documents between two commits, if no other is set.
const COMMIT_AFTER: u64 = 50_000;

/// How often the writer commits, and how far it has come.
pub(super) struct Pace {
    /// Number of documents between two commits.
    pub(super) commit_after: AtomicU64,
    /// Number of jobs whose documents are on disk.
    pub(super) durable: AtomicU64,
}

impl Default for Pace {
    fn default() -> Self {
        Self { commit_after: AtomicU64::new(COMMIT_AFTER), durable: AtomicU64::new(0) }
    }
}
