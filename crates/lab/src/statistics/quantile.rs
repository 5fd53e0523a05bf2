//! Quantiles and how certain they are, without assuming a distribution.

use super::{Estimate, binomial_cdf};
use homeroom_load::record::Times;

/// The number of observations that must be expected beyond a quantile on either side; with fewer it
/// is refused. The 99.9th percentile needs 5,000 observations, the 99th needs 500.
pub const TAIL_MIN: f64 = 5.0;

/// Returns whether `n` observations are enough for a quantile, that is, whether [`TAIL_MIN`] of
/// them are expected beyond it.
pub fn has_tail(n: u64, quantile: f64) -> bool {
    (n as f64) * quantile.min(1.0 - quantile) >= TAIL_MIN - 1e-6
}

/// Returns the ranks (from 1) of the two observations between which a quantile lies with at least
/// this confidence; `None` if there are too few observations for that, or fewer than [`TAIL_MIN`]
/// requires.
///
/// The number of the `n` observations below the true quantile has a binomial distribution.
///
/// Source: Hahn & Meeker, Statistical Intervals, §5.2; Le Boudec, Performance Evaluation (2010),
/// §2.2.
pub fn quantile_ranks(n: u64, quantile: f64, confidence: f64) -> Option<(u64, u64)> {
    if !has_tail(n, quantile) {
        return None;
    }
    let beyond = (1.0 - confidence) / 2.0;
    // The least k at which the distribution reaches a probability.
    let least = |probability: f64| {
        let (mut low, mut high) = (0, n);
        while low < high {
            let middle = u64::midpoint(low, high);
            if binomial_cdf(middle, n, quantile) >= probability {
                high = middle;
            } else {
                low = middle + 1;
            }
        }
        low
    };
    let (low, high) = (least(beyond), least(1.0 - beyond) + 1);
    (low >= 1 && high <= n).then_some((low, high))
}

/// Returns a quantile of values in ascending order, with its interval; `None` as in
/// [`quantile_ranks`].
pub fn quantile_of(sorted: &[f64], quantile: f64, confidence: f64) -> Option<Estimate> {
    let (low, high) = quantile_ranks(sorted.len() as u64, quantile, confidence)?;
    let at = |rank: u64| sorted.get(usize::try_from(rank - 1).ok()?).copied();
    let value = at(rank_of(sorted.len() as u64, quantile))?;
    Some(Estimate { value, low: at(low)?, high: at(high)? })
}

/// Returns a quantile of recorded times in milliseconds, with its interval; `None` as in
/// [`quantile_ranks`].
pub fn quantile_of_times(times: &Times, quantile: f64, confidence: f64) -> Option<Estimate> {
    let (low, high) = quantile_ranks(times.len(), quantile, confidence)?;
    // Half a rank less, because the histogram rounds shares up to ranks.
    let at =
        |rank: u64| times.value_at_quantile((rank as f64 - 0.5) / times.len() as f64) as f64 / 1e3;
    Some(Estimate { value: at(rank_of(times.len(), quantile)), low: at(low), high: at(high) })
}

/// Returns the rank of the smallest observation that is not below this share of them.
fn rank_of(n: u64, quantile: f64) -> u64 {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a share of a count is a count"
    )]
    let rank = (n as f64 * quantile).ceil() as u64;
    rank.clamp(1, n)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ranks_are_those_of_the_printed_table() {
        // Le Boudec's table of intervals for the median at 95 %: n = 10: 2 and 9; 20: 6 and 15; 50:
        // 18 and 33 or narrower by one; 100: 40 and 61 or narrower by one.
        assert_eq!(quantile_ranks(10, 0.5, 0.95), Some((2, 9)));
        assert_eq!(quantile_ranks(20, 0.5, 0.95), Some((6, 15)));
        assert_eq!(quantile_ranks(50, 0.5, 0.95), Some((18, 33)));
        assert_eq!(quantile_ranks(100, 0.5, 0.95), Some((40, 61)));
    }

    #[test]
    fn a_quantile_with_too_few_values_beyond_it_is_refused() {
        assert_eq!(quantile_ranks(4_999, 0.999, 0.95), None);
        assert!(quantile_ranks(5_000, 0.999, 0.95).is_some());
        assert_eq!(quantile_ranks(499, 0.99, 0.95), None);
        assert!(quantile_ranks(500, 0.99, 0.95).is_some());
        assert_eq!(quantile_ranks(0, 0.5, 0.95), None);
    }

    #[test]
    fn the_interval_covers_the_quantile_at_least_at_its_level() {
        for quantile in [0.5, 0.9, 0.99] {
            let truth = -(1.0f64 - quantile).ln();
            let held = (0..400)
                .filter(|seed| {
                    let mut rng = fastrand::Rng::with_seed(*seed);
                    let mut values: Vec<f64> =
                        (0..1_000).map(|_| -(1.0 - rng.f64()).ln()).collect();
                    values.sort_by(f64::total_cmp);
                    let found = quantile_of(&values, quantile, 0.95).unwrap();
                    found.low <= truth && truth <= found.high
                })
                .count();

            assert!((370..=398).contains(&held), "{quantile}: {held} of 400");
        }
    }

    #[test]
    fn a_histogram_gives_the_same_interval_as_its_values() {
        let mut times = homeroom_load::record::times();
        let mut values = vec![];
        let mut rng = fastrand::Rng::with_seed(7);
        for _ in 0..20_000 {
            let us = 1_000 + rng.u64(..9_000);
            times.record(us).unwrap();
            values.push(us as f64 / 1e3);
        }
        values.sort_by(f64::total_cmp);

        for quantile in [0.5, 0.99, 0.999] {
            let (exact, found) = (
                quantile_of(&values, quantile, 0.95).unwrap(),
                quantile_of_times(&times, quantile, 0.95).unwrap(),
            );
            for (a, b) in
                [(exact.value, found.value), (exact.low, found.low), (exact.high, found.high)]
            {
                assert!((a - b).abs() / a < 2e-3, "{quantile}: {exact:?} and {found:?}");
            }
        }
    }
}
