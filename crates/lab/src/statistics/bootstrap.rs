//! Intervals of ratios and differences, by resampling.

use super::{Estimate, mean, normal_cdf, student_t_quantile, variance};

/// The parameters of resampling.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Resampling {
    /// The number of draws.
    pub draws: u32,
    /// The requested confidence, for example 0.95.
    pub confidence: f64,
    /// The seed of the draws.
    pub seed: u64,
}

/// Returns the ratio of the mean of `b` to the mean of `a`, both drawn independently.
///
/// `None` if either has fewer than two values or the mean of `a` is not positive.
pub fn ratio(a: &[f64], b: &[f64], how: Resampling) -> Option<Estimate> {
    if mean(a) <= 0.0 {
        return None;
    }
    two(a, b, how, |a, b| b / a)
}

/// Returns the difference between the mean of `b` and the mean of `a`, both drawn independently.
///
/// `None` if either has fewer than two values.
pub fn difference(a: &[f64], b: &[f64], how: Resampling) -> Option<Estimate> {
    two(a, b, how, |a, b| b - a)
}

/// Returns the ratio of second to first values of pairs that were measured side by side. The pairs
/// are drawn as pairs, and the geometric mean of their ratios is taken, so disturbances of both
/// cancel out. The interval is at least as wide as Student's interval of the logarithms: resampling
/// alone is too optimistic for about a dozen pairs or fewer.
///
/// `None` for fewer than two pairs or if a value is not positive.
///
/// Source: Hoefler & Belli, Scientific benchmarking of parallel computing systems (SC15).
pub fn paired_ratio(pairs: &[(f64, f64)], how: Resampling) -> Option<Estimate> {
    if pairs.len() < 2 || pairs.iter().any(|(a, b)| *a <= 0.0 || *b <= 0.0) {
        return None;
    }
    let logs: Vec<f64> = pairs.iter().map(|(a, b)| (b / a).ln()).collect();
    let found = of_mean(&logs, how);
    Some(Estimate { value: found.value.exp(), low: found.low.exp(), high: found.high.exp() })
}

/// Returns the mean difference between second and first values of pairs that were measured side by
/// side, with an interval like that of [`paired_ratio`]. `None` for fewer than two pairs.
pub fn paired_difference(pairs: &[(f64, f64)], how: Resampling) -> Option<Estimate> {
    let differences: Vec<f64> = pairs.iter().map(|(a, b)| b - a).collect();
    (pairs.len() >= 2).then(|| of_mean(&differences, how))
}

/// Returns the mean of at least two values. The interval is at least as wide as Student's, since
/// the means of a few values drawn again never lie beyond these values.
fn of_mean(values: &[f64], how: Resampling) -> Estimate {
    let mut rng = fastrand::Rng::with_seed(how.seed);
    let drawn = (0..how.draws).map(|_| draw(values, &mut rng)).collect();
    let found = interval(mean(values), drawn, values.len(), how.confidence);
    let count = values.len() as f64;
    let t = student_t_quantile(f64::midpoint(1.0, how.confidence), count - 1.0);
    let half = t * (variance(values) / count).sqrt();
    Estimate {
        low: found.low.min(found.value - half),
        high: found.high.max(found.value + half),
        ..found
    }
}

fn two(a: &[f64], b: &[f64], how: Resampling, of: impl Fn(f64, f64) -> f64) -> Option<Estimate> {
    if a.len() < 2 || b.len() < 2 {
        return None;
    }
    let mut rng = fastrand::Rng::with_seed(how.seed);
    let drawn = (0..how.draws).map(|_| of(draw(a, &mut rng), draw(b, &mut rng))).collect();
    Some(interval(of(mean(a), mean(b)), drawn, a.len().min(b.len()), how.confidence))
}

/// Returns the mean of `values.len()` values drawn with replacement.
fn draw(values: &[f64], rng: &mut fastrand::Rng) -> f64 {
    (0..values.len()).map(|_| values[rng.usize(..values.len())]).sum::<f64>() / values.len() as f64
}

/// Returns the percentiles of the drawn values, widened for small samples.
///
/// Plain percentiles are too narrow by the factor between the normal and Student's distribution,
/// and by the factor between a spread and its estimate from `n` values.
///
/// Source: Hesterberg, What teachers should know about the bootstrap (2015), §5.1: the expanded
/// percentile interval.
fn interval(value: f64, mut drawn: Vec<f64>, n: usize, confidence: f64) -> Estimate {
    let n = n as f64;
    let t = student_t_quantile(f64::midpoint(1.0, confidence), n - 1.0);
    let share = normal_cdf(-t * (n / (n - 1.0)).sqrt());
    drawn.sort_by(f64::total_cmp);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a share of a count is a count"
    )]
    let beyond = (share * drawn.len() as f64) as usize;
    let last = drawn.len().saturating_sub(1);
    let at = |place: usize| drawn.get(place).copied().unwrap_or(value);
    Estimate { value, low: at(beyond.min(last)), high: at(last.saturating_sub(beyond)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOW: Resampling = Resampling { draws: 1_000, confidence: 0.95, seed: 1 };

    fn noise(rng: &mut fastrand::Rng) -> f64 {
        (0..12).map(|_| rng.f64()).sum::<f64>() - 6.0
    }

    #[test]
    fn the_interval_of_a_ratio_covers_the_true_ratio_even_for_few_values() {
        for count in [5, 30] {
            let held = (0u64..300)
                .filter(|seed| {
                    let mut rng = fastrand::Rng::with_seed(*seed);
                    let a: Vec<f64> = (0..count).map(|_| 100.0 + 5.0 * noise(&mut rng)).collect();
                    let b: Vec<f64> = (0..count).map(|_| 120.0 + 9.0 * noise(&mut rng)).collect();
                    let found = ratio(&a, &b, HOW).unwrap();
                    found.low <= 1.2 && 1.2 <= found.high
                })
                .count();

            assert!((273..=298).contains(&held), "{held} of 300 with {count} values");
        }
    }

    #[test]
    fn paired_values_show_a_small_effect_that_a_common_drift_would_hide() {
        let mut rng = fastrand::Rng::with_seed(3);
        let pairs: Vec<(f64, f64)> = (0..8)
            .map(|place| {
                let drift = 100.0 + 15.0 * f64::from(place);
                (drift + noise(&mut rng), drift * 1.05 + noise(&mut rng))
            })
            .collect();
        let (a, b): (Vec<f64>, Vec<f64>) = pairs.iter().copied().unzip();

        let together = paired_ratio(&pairs, HOW).unwrap();
        let apart = ratio(&a, &b, HOW).unwrap();

        assert!(together.low > 1.0 && together.high < 1.1, "{together:?}");
        assert!(apart.low < 1.0 && apart.high > 1.1, "{apart:?}");
    }

    #[test]
    fn the_interval_of_paired_values_covers_the_true_ratio() {
        let held = (0u64..300)
            .filter(|seed| {
                let mut rng = fastrand::Rng::with_seed(*seed * 1_000_003);
                let pairs: Vec<(f64, f64)> = (0..6)
                    .map(|_| {
                        let drift = 50.0 + 50.0 * rng.f64();
                        (drift * (0.03 * noise(&mut rng)).exp(), drift * 0.9)
                    })
                    .collect();
                let found = paired_ratio(&pairs, HOW).unwrap();
                found.low <= 0.9 && 0.9 <= found.high
            })
            .count();

        assert!((273..=298).contains(&held), "{held} of 300");
    }

    #[test]
    fn the_same_seed_gives_the_same_interval_around_the_difference() {
        let (a, b) = ([1.0, 2.0, 3.0, 2.5], [2.0, 3.5, 4.0, 3.0]);

        assert_eq!(difference(&a, &b, HOW), difference(&a, &b, HOW));
        assert!((difference(&a, &b, HOW).unwrap().value - 1.0).abs() < 1e-12);
        let pairs: Vec<(f64, f64)> = a.into_iter().zip(b).collect();
        assert!((paired_difference(&pairs, HOW).unwrap().value - 1.0).abs() < 1e-12);
    }

    #[test]
    fn values_that_cannot_be_compared_are_refused() {
        assert_eq!(ratio(&[0.0, 0.0], &[1.0, 2.0], HOW), None);
        assert_eq!(ratio(&[1.0], &[1.0, 2.0], HOW), None);
        assert_eq!(paired_ratio(&[(1.0, 1.0), (0.0, 1.0)], HOW), None);
    }
}
