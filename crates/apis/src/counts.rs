//! What is counted of an upstream, for the metrics.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use homeroom_gateway::UPSTREAM_BUCKETS;

/// What was counted of an upstream since it was published.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    /// Calls by how they ended; see [`Counts::ended`].
    ended: [AtomicU64; 4],
    repeated: AtomicU64,
    /// Answers by their time: up to each bound, and beyond the last.
    times: [AtomicU64; UPSTREAM_BUCKETS.len() + 1],
    micros: AtomicU64,
}

/// How a call of an upstream ended, as metrics tell it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// The upstream answered.
    Answered,
    /// The upstream answered 502, 503 or 504.
    Failed,
    /// The upstream was connected and did not answer.
    Unanswered,
    /// No connection could be opened.
    Unreachable,
}

impl Outcome {
    const ALL: [(Self, &'static str); 4] = [
        (Self::Answered, "answered"),
        (Self::Failed, "failed"),
        (Self::Unanswered, "unanswered"),
        (Self::Unreachable, "unreachable"),
    ];
}

impl Counts {
    pub(crate) fn ended(&self, outcome: Outcome) {
        self.ended[outcome as usize].fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn repeated(&self) {
        self.repeated.fetch_add(1, Ordering::Relaxed);
    }

    /// Records how long the head of an answer took.
    pub(crate) fn answered(&self, time: Duration) {
        let seconds = time.as_secs_f64();
        let bucket = UPSTREAM_BUCKETS.iter().position(|bound| seconds <= *bound);
        self.times[bucket.unwrap_or(UPSTREAM_BUCKETS.len())].fetch_add(1, Ordering::Relaxed);
        let micros = u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
        self.micros.fetch_add(micros, Ordering::Relaxed);
    }

    /// Returns calls by how they ended.
    pub(crate) fn calls(&self) -> [(&'static str, u64); 4] {
        Outcome::ALL.map(|(outcome, name)| (name, load(&self.ended[outcome as usize])))
    }

    /// Returns how often a call was sent again after it had failed here.
    pub(crate) fn repeats(&self) -> u64 {
        load(&self.repeated)
    }

    /// Returns the number of answers by time, and the sum of their times in seconds.
    pub(crate) fn times(&self) -> ([u64; UPSTREAM_BUCKETS.len() + 1], f64) {
        let sum = Duration::from_micros(load(&self.micros)).as_secs_f64();
        (std::array::from_fn(|at| load(&self.times[at])), sum)
    }
}

fn load(count: &AtomicU64) -> u64 {
    count.load(Ordering::Relaxed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_counted_by_time_and_calls_by_their_end() {
        let counts = Counts::default();
        for millis in [1, 5, 700, 60_000] {
            counts.answered(Duration::from_millis(millis));
        }
        counts.ended(Outcome::Unreachable);

        let (times, sum) = counts.times();

        assert_eq!(times.iter().sum::<u64>(), 4);
        assert_eq!((times[0], times[UPSTREAM_BUCKETS.len()]), (2, 1));
        assert!((sum - 60.706).abs() < 1e-9, "{sum}");
        assert_eq!(counts.calls()[3], ("unreachable", 1));
    }
}
