//! Tests whether a series grows, and how fast.

use super::{median, normal_cdf};

/// The result of the Mann–Kendall test.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Trend {
    /// The number of rising pairs minus the number of falling pairs.
    pub s: f64,
    /// `s` in standard deviations of a series without trend.
    pub z: f64,
    /// The probability that a series without trend rises at least as strongly.
    pub p_rising: f64,
}

/// Returns the slope of a series per step: the median of the slopes of all pairs; 0 for fewer than
/// two values.
///
/// The cost is quadratic in the length.
///
/// Source: Sen, Estimates of the regression coefficient based on Kendall's tau (1968).
pub fn theil_sen(series: &[f64]) -> f64 {
    let slopes: Vec<f64> =
        pairs(series).map(|(from, to)| (series[to] - series[from]) / (to - from) as f64).collect();
    median(&slopes)
}

/// Tests whether a series rises, with the correction for ties. The cost is quadratic in the length.
///
/// Source: Mann, Nonparametric tests against trend (1945); Kendall, Rank Correlation Methods.
pub fn mann_kendall(series: &[f64]) -> Trend {
    let n = series.len() as f64;
    let s: f64 = pairs(series)
        .map(|(from, to)| match series[to].total_cmp(&series[from]) {
            std::cmp::Ordering::Greater => 1.0,
            std::cmp::Ordering::Less => -1.0,
            std::cmp::Ordering::Equal => 0.0,
        })
        .sum();
    let spread = |n: f64| n * (n - 1.0) * (2.0 * n + 5.0);
    let mut sorted = series.to_vec();
    sorted.sort_by(f64::total_cmp);
    let ties: f64 =
        sorted.chunk_by(|a, b| a.total_cmp(b).is_eq()).map(|same| spread(same.len() as f64)).sum();
    let variance = (spread(n) - ties) / 18.0;
    let z = if variance > 0.0 && s != 0.0 { (s - s.signum()) / variance.sqrt() } else { 0.0 };
    Trend { s, z, p_rising: 1.0 - normal_cdf(z) }
}

fn pairs(series: &[f64]) -> impl Iterator<Item = (usize, usize)> {
    let length = series.len();
    (0..length).flat_map(move |from| (from + 1..length).map(move |to| (from, to)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_true_slope_is_found_despite_an_outlier() {
        let mut series: Vec<f64> = (0..20).map(|at| 3.0 + 0.5 * f64::from(at)).collect();
        series[7] = 1_000.0;

        assert!((theil_sen(&series) - 0.5).abs() < 1e-12);
        assert!(theil_sen(&[4.0]).abs() < 1e-12);
    }

    #[test]
    fn the_test_statistic_equals_a_count_by_hand() {
        // Among the pairs of 1 3 2 4, five rise and one falls; the variance is 4 x 3 x 13 / 18.
        let found = mann_kendall(&[1.0, 3.0, 2.0, 4.0]);

        assert!((found.s - 4.0).abs() < 1e-12);
        assert!((found.z - 3.0 / (156.0f64 / 18.0).sqrt()).abs() < 1e-12);
    }

    #[test]
    fn ties_reduce_the_variance() {
        // Among the pairs of 1 1 2 2, four rise; the variance is (156 - 2 x 18) / 18.
        let found = mann_kendall(&[1.0, 1.0, 2.0, 2.0]);

        assert!((found.s - 4.0).abs() < 1e-12);
        assert!((found.z - 3.0 / (120.0f64 / 18.0).sqrt()).abs() < 1e-12);
        assert!((mann_kendall(&[5.0; 9]).p_rising - 0.5).abs() < 1e-6);
    }

    #[test]
    fn without_a_trend_a_rise_is_reported_at_the_significance_level() {
        let reported = (0..1_000)
            .filter(|seed| {
                let mut rng = fastrand::Rng::with_seed(*seed);
                let series: Vec<f64> = (0..20).map(|_| rng.f64()).collect();
                mann_kendall(&series).p_rising < 0.05
            })
            .count();

        assert!((30..=70).contains(&reported), "{reported} of 1,000 at a level of 5 %");
    }

    #[test]
    fn a_rise_within_noise_is_found() {
        let found = (0..200)
            .filter(|seed| {
                let mut rng = fastrand::Rng::with_seed(*seed);
                let series: Vec<f64> = (0..20).map(|at| 0.1 * f64::from(at) + rng.f64()).collect();
                mann_kendall(&series).p_rising < 0.05
            })
            .count();

        assert!(found >= 190, "{found} of 200");
    }
}
