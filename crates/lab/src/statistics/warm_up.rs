//! Finds the end of a series' warm-up.

/// The number of observations that are averaged before the search, as the method's name says.
const GROUP: usize = 5;
/// The share of the groups that always remains: fewer are too often alike by chance.
const LEFT_SHARE_MIN: f64 = 0.25;
/// The factor by which a later cut must be better than the best one within the first half, so that
/// chance alone does not suggest that a series never settled.
const GAIN_MIN: f64 = 0.5;

/// Returns how many observations to cut from the beginning (a multiple of five), by MSER-5: the cut
/// that leaves the least squared standard error of the mean. `None` if that cut lies beyond the
/// middle: such a series never settled. Series of fewer than 20 observations are not cut.
///
/// Source: White, An effective truncation heuristic (1997); Spratt (1998); Hoad & Robinson (2011).
pub fn mser5(series: &[f64]) -> Option<usize> {
    let groups: Vec<f64> =
        series.chunks_exact(GROUP).map(|group| group.iter().sum::<f64>() / GROUP as f64).collect();
    let count = groups.len();
    if count < 4 {
        return Some(0);
    }
    // From the end to the start: mean and sum of squares of what each cut leaves (Welford).
    let mut errors = vec![f64::INFINITY; count];
    let (mut centre, mut squares) = (0.0, 0.0);
    for cut in (0..count).rev() {
        let left = (count - cut) as f64;
        let step = groups[cut] - centre;
        centre += step / left;
        squares += step * (groups[cut] - centre);
        if left >= LEFT_SHARE_MIN * count as f64 {
            errors[cut] = squares / (left * left);
        }
    }
    let best_of = |from: usize, to: usize| {
        (from..to)
            .map(|cut| (errors[cut], cut))
            .min_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)))
            .unwrap_or((f64::INFINITY, 0))
    };
    let (early, cut) = best_of(0, count / 2 + 1);
    let (late, _) = best_of(count / 2 + 1, count);
    (late >= early * GAIN_MIN).then_some(cut * GROUP)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn noise(rng: &mut fastrand::Rng) -> f64 {
        (0..12).map(|_| rng.f64()).sum::<f64>() - 6.0
    }

    #[test]
    fn a_planted_warm_up_is_cut_off() {
        for seed in 0..50 {
            let mut rng = fastrand::Rng::with_seed(seed);
            let series: Vec<f64> = (0..400)
                .map(|place| 100.0 + noise(&mut rng) + 80.0 * (-f64::from(place) / 20.0).exp())
                .collect();

            let cut = mser5(&series);

            let cut = cut.expect("the series settles early");
            assert!((30..=200).contains(&cut), "seed {seed}: {cut}");
        }
    }

    #[test]
    fn a_steady_series_is_rarely_called_unsettled_and_loses_little() {
        let mut unsettled = 0;
        let mut lost = 0;
        for seed in 0..200 {
            let mut rng = fastrand::Rng::with_seed(seed);
            let series: Vec<f64> = (0..100).map(|_| 50.0 + noise(&mut rng)).collect();
            match mser5(&series) {
                Some(cut) => lost += cut,
                None => unsettled += 1,
            }
        }

        assert!(unsettled <= 10, "{unsettled} of 200");
        assert!(lost / 200 <= 20, "{lost} observations of 20,000");
    }

    #[test]
    fn a_series_that_never_settles_is_refused() {
        let rising: Vec<f64> = (0..200).map(f64::from).collect();
        let late_step: Vec<f64> = (0..200).map(|at| if at < 120 { 9.0 } else { 1.0 }).collect();

        assert_eq!(mser5(&rising), None);
        assert_eq!(mser5(&late_step), None);
    }

    #[test]
    fn a_short_or_constant_series_is_left_whole() {
        assert_eq!(mser5(&[1.0, 2.0, 3.0]), Some(0));
        assert_eq!(mser5(&[7.0; 100]), Some(0));
    }
}
