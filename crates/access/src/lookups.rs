//! Callers that wait because this node does not know their keys yet.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use homeroom_http::{BudgetFigures, Problem};

/// The readings, and who waits for one.
#[derive(Debug)]
pub(crate) struct Lookups {
    /// When the last reading began.
    pub(crate) last: tokio::sync::Mutex<Option<Instant>>,
    /// Most callers that wait for one.
    waiting_max: u64,
    waiting: AtomicU64,
    refused: AtomicU64,
}

/// Counts a caller as waiting until the value is dropped.
pub(crate) struct Waits<'a>(&'a AtomicU64);

impl Drop for Waits<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Too many callers wait already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LookupsFull;

impl From<LookupsFull> for Problem {
    fn from(_: LookupsFull) -> Self {
        Self::busy(1)
            .budget("key_lookups")
            .detail("As many callers whose key is not known here wait as may (budget key_lookups).")
    }
}

impl Lookups {
    /// Lets at most so many callers wait.
    pub(crate) fn new(waiting_max: u64) -> Self {
        let (waiting, refused) = (AtomicU64::new(0), AtomicU64::new(0));
        Self { last: tokio::sync::Mutex::default(), waiting_max, waiting, refused }
    }

    /// Lets a caller wait.
    pub(crate) fn enter(&self) -> Result<Waits<'_>, LookupsFull> {
        let waits = Waits(&self.waiting);
        if self.waiting.fetch_add(1, Ordering::Relaxed) < self.waiting_max {
            return Ok(waits);
        }
        self.refused.fetch_add(1, Ordering::Relaxed);
        Err(LookupsFull)
    }

    /// Returns the figures of those that wait.
    pub(crate) fn figures(&self) -> BudgetFigures {
        let [used, refused] =
            [&self.waiting, &self.refused].map(|count| count.load(Ordering::Relaxed));
        BudgetFigures { name: "key_lookups", size: self.waiting_max, used, refused }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_callers_than_may_wait_are_refused() {
        let readings = Lookups::new(5);
        let waiting: Vec<_> = (0..5).map(|_| readings.enter().unwrap()).collect();

        let refused = Problem::from(readings.enter().err().unwrap());

        assert!(refused.detail.as_ref().unwrap().contains("budget key_lookups"), "{refused:?}");
        drop(waiting);
        assert!(readings.enter().is_ok());
        assert_eq!(readings.refused.load(Ordering::Relaxed), 1);
    }
}
