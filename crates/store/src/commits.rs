//! How many transactions were committed and how long their commits took, how often the log was
//! copied into the file, and how often what a writer remembers was forgotten.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Counts commits. Reading it never waits.
#[derive(Debug, Default)]
pub(crate) struct Commits {
    count: AtomicU64,
    micros: AtomicU64,
    forgotten: AtomicU64,
    checkpoints: AtomicU64,
    checkpoint_micros: AtomicU64,
}

impl Commits {
    /// Counts a commit and the time until it was durable.
    pub(crate) fn note(&self, time: Duration) {
        let micros = u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
        self.count.fetch_add(1, Ordering::Relaxed);
        self.micros.fetch_add(micros, Ordering::Relaxed);
    }

    /// Counts a copy of the log into the file, and the time that it took with its syncs.
    pub(crate) fn note_checkpoint(&self, time: Duration) {
        let micros = u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
        self.checkpoints.fetch_add(1, Ordering::Relaxed);
        self.checkpoint_micros.fetch_add(micros, Ordering::Relaxed);
    }

    /// Returns the number of these copies and the sum of their times.
    pub(crate) fn checkpoints(&self) -> (u64, Duration) {
        let micros = self.checkpoint_micros.load(Ordering::Relaxed);
        (self.checkpoints.load(Ordering::Relaxed), Duration::from_micros(micros))
    }

    /// Counts that a writer had to forget what it remembered of documents, ties and rights.
    pub(crate) fn note_forgetting(&self) {
        self.forgotten.fetch_add(1, Ordering::Relaxed);
    }

    /// Returns how often that was.
    pub(crate) fn forgotten(&self) -> u64 {
        self.forgotten.load(Ordering::Relaxed)
    }

    /// Returns the number of commits and the sum of their times.
    pub(crate) fn so_far(&self) -> (u64, Duration) {
        let micros = self.micros.load(Ordering::Relaxed);
        (self.count.load(Ordering::Relaxed), Duration::from_micros(micros))
    }
}
