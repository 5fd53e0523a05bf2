//! Refusals in a hurry: a client that comes again as soon as it is refused costs as much as one that is
//! served. Beyond a thousand refusals a second, an answer that refuses is held for a moment, so that
//! each connection comes again at most fifty times a second.
#![expect(clippy::disallowed_methods, reason = "refusals are counted by tenths of a second")]

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
    /// Most refusals that are held; beyond that they are sent at once.
    held_max: u64,
    held: AtomicU64,
    not_held: AtomicU64,
}

/// Counts a refusal as held until the value is dropped.
struct Held<'a>(&'a AtomicU64);

impl Drop for Held<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Pacing {
    /// Makes the pacing of a front door, which holds so many refusals.
    pub(crate) fn new(held_max: u64) -> Self {
        let [window, held, not_held] = [0; 3].map(AtomicU64::new);
        Self { begun: Instant::now(), window, held_max, held, not_held }
    }

    /// Holds a refusal if there are many.
    pub(crate) async fn hold(&self) {
        let now_ms = u64::try_from(self.begun.elapsed().as_millis()).unwrap_or(u64::MAX);
        if !self.is_one_of_many(now_ms) {
            return;
        }
        let held = Held(&self.held);
        if self.held.fetch_add(1, Ordering::Relaxed) < self.held_max {
            tokio::time::sleep(HELD).await;
        } else {
            self.not_held.fetch_add(1, Ordering::Relaxed);
        }
        drop(held);
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

    /// Returns the figures of the refusals that are held; beyond their number, refusals are sent at once.
    pub(crate) fn figures(&self) -> BudgetFigures {
        let [used, refused] =
            [&self.held, &self.not_held].map(|count| count.load(Ordering::Relaxed));
        BudgetFigures { name: "held_refusals", size: self.held_max, used, refused }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_refusals_of_each_window_are_sent_at_once() {
        let pacing = Pacing::new(1);

        for window in [0, 1, 7] {
            let many = (0..300).filter(|_| pacing.is_one_of_many(window * WINDOW_MS + 3)).count();

            assert_eq!(many, 200, "{window}");
        }
    }

    #[tokio::test]
    async fn refusals_beyond_the_number_that_is_held_are_sent_at_once() {
        let pacing = Pacing::new(7);
        pacing.held.store(7, Ordering::Relaxed);

        for _ in 0..10_000 {
            pacing.hold().await;
        }

        let figures = pacing.figures();
        assert!(figures.refused > 1_000, "{figures:?}");
        assert_eq!((figures.size, figures.used), (7, 7));
    }
}
