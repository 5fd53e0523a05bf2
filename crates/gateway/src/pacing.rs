//! Refusals in a hurry: a client that comes again as soon as it is refused costs as much as one that is
//! served. Beyond a thousand refusals a second, an answer that refuses is held for a moment, so that
//! each connection comes again at most fifty times a second.
#![expect(clippy::disallowed_methods, reason = "refusals are counted by tenths of a second")]

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use homeroom_http::BudgetFigures;

/// Time over which refusals are counted, in milliseconds.
const WINDOW_MS: u64 = 100;
/// Refusals in it that are sent at once.
const AT_ONCE: u64 = 100;
/// How long a further one is held.
const HELD: Duration = Duration::from_millis(20);

/// The refusals of a front door.
#[derive(Debug)]
pub(crate) struct Pacing {
    begun: Instant,
    /// The number of the present window in the upper half, and the refusals in it in the lower.
    window: AtomicU64,
    held: Arc<HeldCount>,
}

/// The number of refusals that are held.
#[derive(Debug)]
pub(crate) struct HeldCount {
    /// Most of them; beyond that refusals are sent at once.
    max: u64,
    held: AtomicU64,
    not_held: AtomicU64,
}

/// Counts a refusal as held until the value is dropped.
#[derive(Debug)]
pub(crate) struct HeldRefusal<'a>(&'a AtomicU64);

impl Drop for HeldRefusal<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl HeldCount {
    /// Makes the count, of at most so many.
    pub(crate) fn new(max: u64) -> Self {
        let [held, not_held] = [0; 2].map(AtomicU64::new);
        Self { max, held, not_held }
    }

    /// Counts one more; [`None`] where there are as many as may be.
    pub(crate) fn begin(&self) -> Option<HeldRefusal<'_>> {
        let held = HeldRefusal(&self.held);
        if self.held.fetch_add(1, Ordering::Relaxed) < self.max {
            return Some(held);
        }
        self.not_held.fetch_add(1, Ordering::Relaxed);
        None
    }

    /// Returns the figures; beyond that number, refusals are sent at once.
    pub(crate) fn figures(&self) -> BudgetFigures {
        let [used, refused] =
            [&self.held, &self.not_held].map(|count| count.load(Ordering::Relaxed));
        BudgetFigures { name: "held_refusals", size: self.max, used, refused }
    }
}

impl Pacing {
    /// Makes the pacing of a front door.
    pub(crate) fn new(held: Arc<HeldCount>) -> Self {
        Self { begun: Instant::now(), window: AtomicU64::new(0), held }
    }

    /// Holds the refusal of a request that has begun then, if there are many. One that has waited longer
    /// already is not held.
    pub(crate) async fn hold(&self, begun: Instant) {
        let now_ms = u64::try_from(self.begun.elapsed().as_millis()).unwrap_or(u64::MAX);
        if !self.is_one_of_many(now_ms) {
            return;
        }
        let left = HELD.saturating_sub(begun.elapsed());
        if !left.is_zero()
            && let Some(_held) = self.held.begin()
        {
            tokio::time::sleep(left).await;
        }
    }

    /// Counts a refusal, and returns whether the window has more than are sent at once.
    fn is_one_of_many(&self, now_ms: u64) -> bool {
        let number = (now_ms / WINDOW_MS) << 32;
        let counted =
            |window: u64| if window >> 32 == number >> 32 { window + 1 } else { number + 1 };
        let before = self
            .window
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |window| Some(counted(window)))
            .unwrap_or_default();
        counted(before) - number > AT_ONCE
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_refusals_of_each_window_are_sent_at_once() {
        let pacing = Pacing::new(Arc::new(HeldCount::new(1)));

        for window in [0, 1, 7] {
            let many = (0..300).filter(|_| pacing.is_one_of_many(window * WINDOW_MS + 3)).count();

            assert_eq!(many, 200, "{window}");
        }
    }

    #[tokio::test]
    async fn refusals_beyond_the_number_that_is_held_are_sent_at_once() {
        let held = Arc::new(HeldCount::new(7));
        let _all: Vec<_> = std::iter::from_fn(|| held.begin()).collect();
        let pacing = Pacing::new(Arc::clone(&held));

        for _ in 0..10_000 {
            pacing.hold(Instant::now()).await;
        }

        let figures = held.figures();
        assert!(figures.refused > 1_000, "{figures:?}");
        assert_eq!((figures.size, figures.used), (7, 7));
    }
}
