//! The universal scalability law: throughput as a function of concurrency.

use serde::{Deserialize, Serialize};

use super::{Estimate, Resampling, mean};

/// The fewest points that can be fitted.
const POINTS_MIN: usize = 6;
/// How far a forecast reaches, as a multiple of the largest measured concurrency.
const REACH: f64 = 2.0;
/// The number of rows of a forecast.
const ROWS: u32 = 12;
/// The number of rounds of reweighting the points; three or four are enough.
const ROUNDS: u32 = 5;

/// X(N) = λN / (1 + σ(N−1) + κN(N−1)).
///
/// Source: Gunther, A simple capacity model of massively parallel transaction systems (1993);
/// Guerrilla Capacity Planning (2007).
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Usl {
    /// The throughput at a concurrency of one.
    pub lambda: f64,
    /// Contention: the share of work that must wait for other work.
    pub sigma: f64,
    /// Coherency: the cost of keeping concurrent work consistent.
    pub kappa: f64,
}

/// A forecast from a fit, as opposed to a measurement.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Forecast {
    /// A label that says what it is, for a reader who sees only this.
    pub label: String,
    /// The fit.
    pub fit: Usl,
    /// The number of points that were fitted.
    pub points: usize,
    /// The largest concurrency that was measured.
    pub measured_to: f64,
    /// The concurrency with the highest throughput, if it is within the forecast's reach.
    pub peak_at: Option<f64>,
    /// Concurrency, and throughput with its 95 % band.
    pub rows: Vec<(f64, Estimate)>,
}

impl Usl {
    /// Returns the throughput at a concurrency.
    pub fn at(&self, n: f64) -> f64 {
        self.lambda * n / (1.0 + self.sigma * (n - 1.0) + self.kappa * n * (n - 1.0))
    }

    /// Returns the concurrency with the highest throughput; `None` if more always gives more.
    pub fn peak(&self) -> Option<f64> {
        (self.kappa > 0.0).then(|| ((1.0 - self.sigma).max(0.0) / self.kappa).sqrt().max(1.0))
    }

    /// Fits points `(N, X)` by least squares with σ and κ not below 0. `None` for fewer than six
    /// positive points, or if all have the same N.
    pub fn fit(points: &[(f64, f64)]) -> Option<Self> {
        let points: Vec<(f64, f64)> =
            points.iter().copied().filter(|(n, x)| *n > 0.0 && *x > 0.0).collect();
        let most = points.iter().fold(0.0f64, |most, point| most.max(point.0));
        let least = points.iter().fold(f64::INFINITY, |least, point| least.min(point.0));
        if points.len() < POINTS_MIN || most <= least * 1.05 {
            return None;
        }
        // N/X = 1/λ + σ/λ (N-1) + κ/λ N(N-1) is linear; the weights make its errors those of X.
        let mut fit: Option<Self> = None;
        for _ in 0..ROUNDS {
            let rows: Vec<Point> = points
                .iter()
                .map(|&(n, x)| {
                    let weight = (x * fit.map_or(x, |fit| fit.at(n)) / n).powi(2);
                    Point { terms: [1.0, n - 1.0, n * (n - 1.0)], value: n / x, weight }
                })
                .collect();
            fit = Some(least_squares(&rows)?);
        }
        fit
    }
}

/// Fits points `(N, X)` measured below and at saturation, and forecasts throughput up to twice the
/// largest N, with a band from resampled residuals. `None` as in [`Usl::fit`], or if twice the
/// largest N is below one.
pub fn forecast(points: &[(f64, f64)], how: Resampling) -> Option<Forecast> {
    let fit = Usl::fit(points)?;
    // Residuals are ratios, since a server's errors are larger where its throughput is.
    let residuals: Vec<f64> = points.iter().map(|(n, x)| (x / fit.at(*n)).ln()).collect();
    let centre = mean(&residuals);
    // Fitting three numbers makes residuals smaller than errors.
    let count = points.len() as f64;
    let widened = (count / (count - 3.0)).sqrt();
    let mut rng = fastrand::Rng::with_seed(how.seed);
    let fits: Vec<Usl> = (0..how.draws)
        .filter_map(|_| {
            let drawn: Vec<(f64, f64)> = points
                .iter()
                .map(|(n, _)| {
                    let residual = residuals[rng.usize(..residuals.len())] - centre;
                    (*n, fit.at(*n) * (widened * residual).exp())
                })
                .collect();
            Usl::fit(&drawn)
        })
        .collect();
    let measured_to = points.iter().fold(0.0f64, |most, point| most.max(point.0));
    let reach = measured_to * REACH;
    let rows: Vec<(f64, Estimate)> = (1..=ROWS)
        .map(|row| reach * f64::from(row) / f64::from(ROWS))
        .filter(|n| *n >= 1.0)
        .map(|n| (n, band(fit.at(n), fits.iter().map(|fit| fit.at(n)).collect(), how.confidence)))
        .collect();
    if rows.is_empty() {
        return None;
    }
    Some(Forecast {
        label: format!(
            "forecast by the universal scalability law from {} trials; nothing beyond {measured_to:.1} at a time was measured",
            points.len()
        ),
        fit,
        points: points.len(),
        measured_to,
        peak_at: fit.peak().filter(|peak| *peak <= reach),
        rows,
    })
}

fn band(value: f64, mut drawn: Vec<f64>, confidence: f64) -> Estimate {
    drawn.sort_by(f64::total_cmp);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a share of a count is a count"
    )]
    let beyond = ((1.0 - confidence) / 2.0 * drawn.len() as f64) as usize;
    let at = |place: usize| drawn.get(place).copied().unwrap_or(value);
    Estimate { value, low: at(beyond), high: at(drawn.len().saturating_sub(1 + beyond)) }
}

/// A point in the linear form.
struct Point {
    terms: [f64; 3],
    value: f64,
    weight: f64,
}

/// Returns the best fit without negative coefficients: among all choices of terms with valid
/// coefficients, the one with the least squares.
fn least_squares(rows: &[Point]) -> Option<Usl> {
    const CHOICES: [&[usize]; 4] = [&[0, 1, 2], &[0, 1], &[0, 2], &[0]];
    let mut best: Option<(f64, [f64; 3])> = None;
    for choice in CHOICES {
        let Some(found) = solve(rows, choice) else { continue };
        if found[0] <= 0.0 || found[1] < 0.0 || found[2] < 0.0 {
            continue;
        }
        let squares: f64 = rows
            .iter()
            .map(|row| {
                let fitted: f64 = row.terms.iter().zip(found).map(|(term, by)| term * by).sum();
                row.weight * (row.value - fitted).powi(2)
            })
            .sum();
        if best.is_none_or(|(least, _)| squares < least) {
            best = Some((squares, found));
        }
    }
    let (_, [a, b, c]) = best?;
    Some(Usl { lambda: 1.0 / a, sigma: b / a, kappa: c / a })
}

/// Returns the weighted least squares of the chosen terms, by the normal equations; the others are
/// 0.
fn solve(rows: &[Point], choice: &[usize]) -> Option<[f64; 3]> {
    let size = choice.len();
    let scale: Vec<f64> = choice
        .iter()
        .map(|term| rows.iter().fold(0.0f64, |most, row| most.max(row.terms[*term].abs())))
        .collect();
    let mut matrix = [[0.0f64; 4]; 3];
    for row in rows {
        for (line, term) in choice.iter().enumerate() {
            let left = row.weight * row.terms[*term] / scale[line];
            for (column, other) in choice.iter().enumerate() {
                matrix[line][column] += left * row.terms[*other] / scale[column];
            }
            matrix[line][3] += left * row.value;
        }
    }
    for pivot in 0..size {
        let strongest = (pivot..size)
            .max_by(|a, b| matrix[*a][pivot].abs().total_cmp(&matrix[*b][pivot].abs()))?;
        matrix.swap(pivot, strongest);
        let head = matrix[pivot];
        if head[pivot].abs() < 1e-12 * matrix[0][0].abs() {
            return None;
        }
        for (line, values) in matrix.iter_mut().enumerate().take(size) {
            if line != pivot {
                let by = values[pivot] / head[pivot];
                for (value, above) in values.iter_mut().zip(head) {
                    *value -= by * above;
                }
            }
        }
    }
    let mut found = [0.0; 3];
    for (line, term) in choice.iter().enumerate() {
        found[*term] = matrix[line][3] / matrix[line][line] / scale[line];
    }
    found.iter().all(|value| value.is_finite()).then_some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOW: Resampling = Resampling { draws: 100, confidence: 0.95, seed: 5 };

    fn planted() -> Usl {
        Usl { lambda: 120.0, sigma: 0.04, kappa: 0.0009 }
    }

    #[test]
    fn a_planted_law_is_found_exactly() {
        let points: Vec<(f64, f64)> =
            (1..=20).map(|n| f64::from(n) * 2.0).map(|n| (n, planted().at(n))).collect();

        let found = Usl::fit(&points).unwrap();

        assert!((found.lambda - 120.0).abs() < 1e-6, "{found:?}");
        assert!((found.sigma - 0.04).abs() < 1e-8, "{found:?}");
        assert!((found.kappa - 0.0009).abs() < 1e-10, "{found:?}");
        assert!((found.peak().unwrap() - (0.96f64 / 0.0009).sqrt()).abs() < 1e-4);
    }

    #[test]
    fn the_published_example_is_reproduced() {
        // Gunther's benchmark of 32 processors. The fit is published as σ 0.0267 to 0.0273 and κ
        // 0.00077, with a peak of 12,309 to 12,341.
        let throughput = [
            955.16, 1878.91, 2688.01, 3548.68, 4315.54, 5130.43, 5931.37, 6531.08, 7219.8, 7867.61,
            8278.71, 8646.7, 9047.84, 9426.55, 9645.37, 9897.24, 10097.6, 10240.5, 10532.39,
            10798.52, 11151.43, 11518.63, 11806.0, 12089.37, 12075.41, 12177.29, 12211.41,
            12158.93, 12155.27, 12118.04, 12140.4, 12074.39,
        ];
        let points: Vec<(f64, f64)> =
            (1u32..).zip(throughput).map(|(n, x)| (f64::from(n), x)).collect();

        let found = Usl::fit(&points).unwrap();

        assert!((0.0255..0.0285).contains(&found.sigma), "{found:?}");
        assert!((0.000_74..0.000_80).contains(&found.kappa), "{found:?}");
        let peak = found.at(found.peak().unwrap());
        assert!((12_250.0..12_400.0).contains(&peak), "{peak}");
    }

    #[test]
    fn a_server_without_limits_has_no_peak() {
        let points: Vec<(f64, f64)> =
            (1..=8).map(|n| (f64::from(n), 50.0 * f64::from(n))).collect();

        let found = forecast(&points, HOW).unwrap();

        assert!(found.fit.sigma.abs() < 1e-9 && found.fit.kappa.abs() < 1e-9, "{found:?}");
        assert_eq!(found.peak_at, None);
    }

    #[test]
    fn the_band_covers_the_truth_near_its_level_and_ends_at_twice_the_data() {
        let mut held = 0;
        for seed in 0..60 {
            let mut rng = fastrand::Rng::with_seed(seed);
            let points: Vec<(f64, f64)> = (1..=10)
                .map(|step| {
                    let n = f64::from(step) * 3.0;
                    let noise = (0..12).map(|_| rng.f64()).sum::<f64>() - 6.0;
                    (n, planted().at(n) * (0.02 * noise).exp())
                })
                .collect();
            let found = forecast(&points, HOW).unwrap();
            let (n, last) = *found.rows.last().unwrap();
            assert!((n - 60.0).abs() < 1e-9);
            held += u32::from(last.low <= planted().at(60.0) && planted().at(60.0) <= last.high);
        }

        assert!(held >= 50, "{held} of 60");
    }

    #[test]
    fn too_few_points_or_points_at_one_place_give_no_fit() {
        let points: Vec<(f64, f64)> = (1..=5).map(|n| (f64::from(n), 10.0)).collect();

        assert_eq!(Usl::fit(&points), None);
        assert_eq!(Usl::fit(&[(4.0, 100.0); 9]), None);
        assert_eq!(forecast(&[], HOW), None);
    }

    #[test]
    fn data_below_one_concurrent_request_give_no_forecast() {
        let points: Vec<(f64, f64)> =
            (1..=8).map(|n| f64::from(n) * 0.05).map(|n| (n, 900.0 * n)).collect();

        assert!(Usl::fit(&points).is_some());
        assert_eq!(forecast(&points, HOW), None);
    }
}
