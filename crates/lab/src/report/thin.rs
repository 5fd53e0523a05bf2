//! Reduces seconds to fewer points: mean, least and greatest value of each slice of a run.

use std::ops::Range;

/// The most slices of a chart over time.
pub const SLICES_MAX: usize = 240;

/// A slice of a series.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Slice {
    /// The weighted mean of its values.
    pub mean: f64,
    /// The least value.
    pub least: f64,
    /// The greatest value.
    pub greatest: f64,
}

/// Divides `rows` rows into at most `slices_max` slices of nearly equal length, in order.
pub fn slices(rows: usize, slices_max: usize) -> Vec<Range<usize>> {
    let wide = rows.div_ceil(slices_max.max(1)).max(1);
    (0..rows).step_by(wide).map(|from| from..rows.min(from + wide)).collect()
}

/// Combines the values of a slice and their weights. Returns `None` if the total weight is zero.
pub fn slice(values: impl Iterator<Item = (f64, f64)>) -> Option<Slice> {
    let mut weights = 0.0;
    let (mut sum, mut least, mut greatest) = (0.0, f64::INFINITY, f64::NEG_INFINITY);
    for (value, weight) in values.filter(|(value, weight)| value.is_finite() && *weight > 0.0) {
        weights += weight;
        sum += value * weight;
        least = value.min(least);
        greatest = value.max(greatest);
    }
    (weights > 0.0).then(|| Slice { mean: sum / weights, least, greatest })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slices_cover_every_row_once() {
        for rows in [0, 1, 239, 240, 241, 5_000, 172_800] {
            let slices = slices(rows, SLICES_MAX);

            assert!(slices.len() <= SLICES_MAX);
            assert_eq!(slices.iter().map(ExactSizeIterator::len).sum::<usize>(), rows);
            assert!(slices.windows(2).all(|pair| pair[0].end == pair[1].start));
        }
    }

    #[test]
    fn a_slice_keeps_its_peak() {
        let values = [(1.0, 1.0), (9.0, 3.0), (f64::NAN, 5.0), (100.0, 0.0)];

        let slice = slice(values.into_iter());

        assert_eq!(slice, Some(Slice { mean: 7.0, least: 1.0, greatest: 9.0 }));
    }

    #[test]
    fn a_slice_in_which_nothing_happened_is_a_gap() {
        assert_eq!(slice([(5.0, 0.0)].into_iter()), None);
    }
}
