//! An even sample of a stream of numbers, which shows where to cut a list without keeping all of
//! it.

use crate::id::DocumentId;

/// Most numbers that are kept.
const KEPT_MAX: usize = 1 << 16;

/// A sample of ordered numbers.
pub(super) struct Sample {
    seen: u64,
    /// One number in this many is kept.
    every: u64,
    kept: Vec<i64>,
}

impl Default for Sample {
    fn default() -> Self {
        Self { seen: 0, every: 1, kept: vec![] }
    }
}

impl Sample {
    /// Takes the next number.
    pub(super) fn take(&mut self, number: i64) {
        self.seen += 1;
        if !self.seen.is_multiple_of(self.every) {
            return;
        }
        self.kept.push(number);
        if self.kept.len() == KEPT_MAX {
            self.kept = self.kept.iter().skip(1).step_by(2).copied().collect();
            self.every *= 2;
        }
    }

    /// Divides all numbers taken into at most `parts` runs, of which only the last is much shorter
    /// than the others or than `smallest`. Returns the last of each run except the last, or [`None`]
    /// where none was taken.
    pub(super) fn cuts(&self, parts: u64, smallest: u64) -> Option<Vec<DocumentId>> {
        let length = run_size(self.seen, parts, smallest);
        let runs = self.seen.div_ceil(length);
        let at = |run: u64| {
            let index = (run.saturating_mul(length) / self.every).checked_sub(1)?;
            self.kept.get(usize::try_from(index).ok()?).copied()
        };
        let mut cuts: Vec<DocumentId> = (1..runs).filter_map(at).map(DocumentId).collect();
        cuts.dedup();
        (self.seen > 0).then_some(cuts)
    }
}

/// Returns the size of each run but the last where `total` documents are divided into at most `parts`.
///
/// Source: Ed-Fi ODS/API 7.3: the size is rounded up, and has a minimum.
pub(in crate::select) fn run_size(total: u64, parts: u64, smallest: u64) -> u64 {
    total.div_ceil(parts.max(1)).max(smallest).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the lengths of the runs into which the numbers from 1 to `count` are cut.
    fn lengths(count: i64, parts: u64, smallest: u64) -> Vec<i64> {
        let mut sample = Sample::default();
        for number in 1..=count {
            sample.take(number);
        }
        let mut before = 0;
        let cuts = sample.cuts(parts, smallest).unwrap_or_default();
        let cuts = cuts.into_iter().map(|id| id.0).chain([count]);
        cuts.map(|cut| cut - std::mem::replace(&mut before, cut)).collect()
    }

    #[test]
    fn sampled_runs_have_equal_and_sufficient_length() {
        assert_eq!(lengths(0, 5, 10), [0]);
        assert_eq!(lengths(10, 5, 10), [10]);
        assert_eq!(lengths(19, 5, 10), [10, 9]);
        assert_eq!(lengths(3_922, 2, 2_500), [2_500, 1_422]);
        assert_eq!(lengths(11, 2, 1), [6, 5]);
        assert_eq!(lengths(100, 5, 10), [20; 5]);
        assert_eq!(lengths(40, 5, 10), [10; 4]);
        assert_eq!(lengths(7, 200, 0), [1; 7]);
    }

    #[test]
    fn a_sample_stays_small_and_its_runs_stay_nearly_equal() {
        let all = lengths(1_000_000, 8, 2_500);

        assert_eq!(all.len(), 8);
        assert!(all.iter().all(|length| (124_900..125_100).contains(length)), "{all:?}");
        let mut sample = Sample::default();
        for number in 1..=1_000_000 {
            sample.take(number);
        }
        assert!(sample.kept.len() < KEPT_MAX);
    }
}
