//! The mean of a series whose neighbouring values depend on each other.

use super::{Estimate, mean, student_t_quantile, variance};

/// Returns the mean of a ratio of sums and its interval, by non-overlapping batch means.
///
/// Each observation is a sum and the number of its values, in order of time. Neighbours may depend
/// on each other; batches hardly do. Empty observations are ignored. `None` if fewer than two
/// batches have values.
///
/// Source: Law, Simulation Modeling and Analysis, §9.5.3.
pub fn batch_means(sums: &[(f64, u64)], batches: usize, confidence: f64) -> Option<Estimate> {
    let length = sums.len().div_ceil(batches.max(1)).max(1);
    let means: Vec<f64> = sums
        .chunks(length)
        .map(total)
        .filter(|(_, count)| *count > 0)
        .map(|(sum, count)| sum / count as f64)
        .collect();
    if means.len() < 2 {
        return None;
    }
    let (sum, count) = total(sums);
    let value = sum / count as f64;
    let batches = means.len() as f64;
    let t = student_t_quantile(f64::midpoint(1.0, confidence), batches - 1.0);
    let half = t * (variance(&means) / batches).sqrt();
    // With unequal counts the mean of the means is not the mean; the interval is centred on the
    // latter.
    debug_assert!(half.is_finite(), "of {} means about {}", means.len(), mean(&means));
    Some(Estimate { value, low: value - half, high: value + half })
}

fn total(sums: &[(f64, u64)]) -> (f64, u64) {
    sums.iter().fold((0.0, 0), |(sum, count), (more, of)| (sum + more, count + of))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns how many of 400 intervals contain the true mean of a series with this dependence.
    fn held(dependence: f64, batches: usize) -> u32 {
        let mut held = 0;
        for seed in 0..400 {
            let mut rng = fastrand::Rng::with_seed(seed);
            let mut state = 0.0;
            let series: Vec<(f64, u64)> = (0..1_000)
                .map(|_| {
                    let shock = (0..12).map(|_| rng.f64()).sum::<f64>() - 6.0;
                    state = dependence * state + shock;
                    ((10.0 + state) * 4.0, 4)
                })
                .collect();
            let found = batch_means(&series, batches, 0.95).unwrap();
            held += u32::from(found.low <= 10.0 && 10.0 <= found.high);
        }
        held
    }

    #[test]
    fn the_interval_covers_the_mean_at_its_level_even_for_dependent_values() {
        let independent = held(0.0, 10);
        let dependent = held(0.8, 10);

        assert!((370..=392).contains(&independent), "{independent} of 400");
        assert!((364..=392).contains(&dependent), "{dependent} of 400");
    }

    #[test]
    fn ignoring_the_dependence_would_claim_too_much() {
        assert!(held(0.8, 1_000) < 280);
    }

    #[test]
    fn the_mean_weighs_by_count_and_skips_what_is_empty() {
        let found = batch_means(&[(10.0, 1), (0.0, 0), (30.0, 9), (5.0, 1)], 4, 0.95).unwrap();

        assert!((found.value - 45.0 / 11.0).abs() < 1e-12);
        assert_eq!(batch_means(&[(1.0, 1)], 10, 0.95), None);
        assert_eq!(batch_means(&[], 10, 0.95), None);
    }
}
