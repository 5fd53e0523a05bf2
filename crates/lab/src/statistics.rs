//! Statistics: how certain a mean, a quantile, a ratio or a trend is.
//!
//! Every function is pure; where chance plays a part, it takes a seed.

mod bootstrap;
mod distribution;
mod growth;
mod knee;
mod mean;
mod quantile;
mod queue;
mod usl;
mod warm_up;

use serde::{Deserialize, Serialize};

pub use bootstrap::{Resampling, difference, paired_difference, paired_ratio, ratio};
pub use distribution::{binomial_cdf, normal_cdf, student_t_cdf, student_t_quantile};
pub use growth::{Trend, mann_kendall, theil_sen};
pub use knee::knee;
pub use mean::batch_means;
pub use quantile::{TAIL_MIN, has_tail, quantile_of, quantile_of_times, quantile_ranks};
pub use queue::littles_gap;
pub use usl::{Forecast, Usl, forecast};
pub use warm_up::mser5;

/// A value and the interval that contains the true value with the requested confidence.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    /// The measured value.
    pub value: f64,
    /// The lower end of the interval.
    pub low: f64,
    /// The upper end of the interval.
    pub high: f64,
}

/// Returns the mean of the values; 0 if there are none.
pub fn mean(values: &[f64]) -> f64 {
    if values.is_empty() { 0.0 } else { values.iter().sum::<f64>() / values.len() as f64 }
}

/// Returns the median of the values; 0 if there are none.
pub fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    match sorted.len() {
        0 => 0.0,
        length if length % 2 == 1 => sorted[middle],
        _ => f64::midpoint(sorted[middle - 1], sorted[middle]),
    }
}

/// Returns the sample variance of the values about their mean; 0 for fewer than two.
pub fn variance(values: &[f64]) -> f64 {
    if values.len() < 2 {
        return 0.0;
    }
    let centre = mean(values);
    values.iter().map(|value| (value - centre).powi(2)).sum::<f64>() / (values.len() - 1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mean_median_and_variance_are_those_of_the_textbook() {
        let values = [2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0];

        assert!((mean(&values) - 5.0).abs() < 1e-12);
        assert!((median(&values) - 4.5).abs() < 1e-12);
        assert!((variance(&values) - 32.0 / 7.0).abs() < 1e-12);
        assert!((median(&[3.0, 1.0, 2.0]) - 2.0).abs() < 1e-12);
        assert_eq!((mean(&[]), median(&[]), variance(&[1.0])), (0.0, 0.0, 0.0));
    }
}
