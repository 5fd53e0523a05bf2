//! How long the phases of writing took: the plans of a transaction, its commit, and what keeps the log short; and
//! how often what a writer remembers was forgotten.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Upper bounds of the buckets in which the times of a [`Phase`] are counted, in microseconds.
const BOUNDS_MICROS: [u64; 11] =
    [1_000, 2_500, 5_000, 10_000, 25_000, 50_000, 100_000, 250_000, 500_000, 1_000_000, 2_500_000];
const BUCKETS: usize = BOUNDS_MICROS.len() + 1;

/// What a store does to write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// The writer runs the plans of a transaction.
    Plans,
    /// The writer waits until a transaction is durable.
    Commit,
    /// SQLite: the writer waits while the write-ahead log begins anew.
    Restart,
    /// SQLite: the log is copied into the file, beside the writer.
    Copy,
    /// SQLite: what was copied is synced, beside the writer.
    Sync,
}

impl Phase {
    /// Every phase.
    pub const ALL: [Self; 5] = [Self::Plans, Self::Commit, Self::Restart, Self::Copy, Self::Sync];

    /// Returns the name used in metrics.
    pub fn name(self) -> &'static str {
        match self {
            Self::Plans => "plans",
            Self::Commit => "commit",
            Self::Restart => "log_restart",
            Self::Copy => "log_copy",
            Self::Sync => "file_sync",
        }
    }
}

/// How often a phase occurred and how long it took, since the store was opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PhaseTimes {
    /// Which one.
    pub phase: Phase,
    counts: [u64; BUCKETS],
    /// The sum of its times.
    pub sum: Duration,
}

impl PhaseTimes {
    /// Returns how often it occurred.
    pub fn count(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// Returns how often it took no longer than each of some bounds, which grow.
    pub fn cumulative(&self) -> impl Iterator<Item = (Duration, u64)> {
        let bounds = BOUNDS_MICROS.into_iter().map(Duration::from_micros);
        bounds.zip(self.counts).scan(0, |so_far, (bound, count)| {
            *so_far += count;
            Some((bound, *so_far))
        })
    }
}

/// Counts what writing does. Reading it never waits.
#[derive(Debug, Default)]
pub(crate) struct Commits {
    phases: [Times; Phase::ALL.len()],
    forgotten: AtomicU64,
}

#[derive(Debug, Default)]
struct Times {
    counts: [AtomicU64; BUCKETS],
    micros: AtomicU64,
}

impl Commits {
    /// Counts a phase and the time that it took.
    pub(crate) fn note(&self, phase: Phase, time: Duration) {
        let micros = u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
        let times = &self.phases[phase as usize];
        let bucket = BOUNDS_MICROS.partition_point(|bound| *bound < micros);
        times.counts[bucket].fetch_add(1, Ordering::Relaxed);
        times.micros.fetch_add(micros, Ordering::Relaxed);
    }

    /// Returns the times of a phase.
    pub(crate) fn times(&self, phase: Phase) -> PhaseTimes {
        let times = &self.phases[phase as usize];
        let counts = std::array::from_fn(|bucket| times.counts[bucket].load(Ordering::Relaxed));
        PhaseTimes {
            phase,
            counts,
            sum: Duration::from_micros(times.micros.load(Ordering::Relaxed)),
        }
    }

    /// Counts that a writer had to forget what it remembered of documents, ties and rights.
    pub(crate) fn note_forgetting(&self) {
        self.forgotten.fetch_add(1, Ordering::Relaxed);
    }

    /// Returns how often that was.
    pub(crate) fn forgotten(&self) -> u64 {
        self.forgotten.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_counts_up_to_each_bound_that_it_does_not_exceed() {
        let commits = Commits::default();
        for millis in [1, 2, 50, 51, 9_000] {
            commits.note(Phase::Commit, Duration::from_millis(millis));
        }

        let times = commits.times(Phase::Commit);

        let up_to = |millis| {
            let bound = Duration::from_millis(millis);
            times.cumulative().find(|(of, _)| *of == bound).map(|(_, count)| count)
        };
        assert_eq!([1, 5, 50, 100, 1_000].map(up_to), [1, 2, 3, 4, 4].map(Some));
        assert_eq!((times.count(), times.sum), (5, Duration::from_millis(9_104)));
        assert_eq!(commits.times(Phase::Plans).count(), 0);
    }
}
