//! Finds the knee of a curve that rises and then flattens.

/// A curve that bends less than this, measured on the unit square, has no knee.
const BEND_MIN: f64 = 0.1;

/// Returns where a rising curve that flattens is farthest from its chord; `None` for fewer than
/// five points or without a clear bend.
///
/// Points are `(x, y)` in ascending order of `x`. The range matters: the curve must extend beyond
/// its knee, and a long flat tail moves the knee outwards, so this is a cross-check rather than a
/// measurement.
///
/// Source: Satopaa et al., Finding a "kneedle" in a haystack (ICDCSW 2011).
pub fn knee(points: &[(f64, f64)]) -> Option<f64> {
    if points.len() < 5 {
        return None;
    }
    let span = |values: &mut dyn Iterator<Item = f64>| {
        values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| {
            (low.min(value), high.max(value))
        })
    };
    let (left, right) = span(&mut points.iter().map(|point| point.0));
    let (low, high) = span(&mut points.iter().map(|point| point.1));
    if right <= left || high <= low {
        return None;
    }
    let (distance, x) = points
        .iter()
        .map(|(x, y)| ((y - low) / (high - low) - (x - left) / (right - left), *x))
        .max_by(|a, b| a.0.total_cmp(&b.0))?;
    (distance >= BEND_MIN).then_some(x)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_knee_of_a_curve_that_breaks_is_where_it_breaks() {
        let points: Vec<(f64, f64)> = (1..=20)
            .map(|step| (f64::from(step) * 50.0, (f64::from(step) * 50.0).min(400.0)))
            .collect();

        assert_eq!(knee(&points), Some(400.0));
    }

    #[test]
    fn the_knee_of_the_published_example_is_found() {
        // y = 5 - 1 / (x + 0.1) on ten points from 0 to 1: the knee is at 2/9, as in the paper.
        let points: Vec<(f64, f64)> =
            (0..10).map(|step| f64::from(step) / 9.0).map(|x| (x, 5.0 - 1.0 / (x + 0.1))).collect();

        assert!((knee(&points).unwrap() - 2.0 / 9.0).abs() < 1e-9);
    }

    #[test]
    fn a_straight_line_and_a_few_points_have_no_knee() {
        let line: Vec<(f64, f64)> = (0..20).map(|x| (f64::from(x), 3.0 * f64::from(x))).collect();

        assert_eq!(knee(&line), None);
        assert_eq!(knee(&line[..3]), None);
        assert_eq!(knee(&[(1.0, 5.0); 9]), None);
    }
}
