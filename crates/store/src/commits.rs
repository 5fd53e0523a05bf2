//! How many transactions were committed, and how long their commits took.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Counts commits. Reading it never waits.
#[derive(Debug, Default)]
pub(crate) struct Commits {
    count: AtomicU64,
    micros: AtomicU64,
}

impl Commits {
    /// Counts a commit and the time until it was durable.
    pub(crate) fn note(&self, time: Duration) {
        let micros = u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
        self.count.fetch_add(1, Ordering::Relaxed);
        self.micros.fetch_add(micros, Ordering::Relaxed);
    }

    /// Returns the number of commits and the sum of their times.
    pub(crate) fn so_far(&self) -> (u64, Duration) {
        let micros = self.micros.load(Ordering::Relaxed);
        (self.count.load(Ordering::Relaxed), Duration::from_micros(micros))
    }
}
