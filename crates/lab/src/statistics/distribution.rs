//! Student's t, the binomial and the normal distribution, computed by the incomplete beta function.

/// Returns the probability that Student's t with `df` degrees of freedom is at most `t`.
pub fn student_t_cdf(t: f64, df: f64) -> f64 {
    let tail = 0.5 * incomplete_beta(df / 2.0, 0.5, df / t.mul_add(t, df));
    if t > 0.0 { 1.0 - tail } else { tail }
}

/// Returns the value below which Student's t with `df` degrees of freedom lies with probability
/// `p`.
///
/// Accurate to nine digits for `p` from 0.0001 to 0.9999; beyond that range, the value at its end.
pub fn student_t_quantile(p: f64, df: f64) -> f64 {
    let p = p.clamp(1e-4, 1.0 - 1e-4);
    let upper = p.max(1.0 - p);
    let (mut low, mut high) = (0.0, 1.0);
    while student_t_cdf(high, df) < upper {
        high *= 2.0;
    }
    for _ in 0..60 {
        let middle = f64::midpoint(low, high);
        if student_t_cdf(middle, df) < upper {
            low = middle;
        } else {
            high = middle;
        }
    }
    if p < 0.5 { -high } else { high }
}

/// Returns the probability of at most `k` successes in `n` trials with success probability `p`.
pub fn binomial_cdf(k: u64, n: u64, p: f64) -> f64 {
    if k >= n {
        return 1.0;
    }
    incomplete_beta((n - k) as f64, k as f64 + 1.0, 1.0 - p)
}

/// Returns the probability that a standard normal value is at most `z`, accurate to seven digits.
///
/// Source: W. J. Cody's rational approximations in the form of Press et al., Numerical Recipes,
/// §6.2 (a Chebyshev series for the complementary error function).
pub fn normal_cdf(z: f64) -> f64 {
    const SERIES: [f64; 10] = [
        -1.265_512_23,
        1.000_023_68,
        0.374_091_96,
        0.096_784_18,
        -0.186_288_06,
        0.278_868_07,
        -1.135_203_98,
        1.488_515_87,
        -0.822_152_23,
        0.170_872_77,
    ];
    let x = z.abs() / std::f64::consts::SQRT_2;
    let t = 1.0 / 0.5f64.mul_add(x, 1.0);
    let series = SERIES.iter().rev().fold(0.0, |sum: f64, term| sum.mul_add(t, *term));
    let tail = 0.5 * t * (series - x * x).exp();
    if z > 0.0 { 1.0 - tail } else { tail }
}

/// Returns the regularised incomplete beta function, by its continued fraction (Lentz's method).
fn incomplete_beta(a: f64, b: f64, x: f64) -> f64 {
    if x <= 0.0 {
        return 0.0;
    }
    if x >= 1.0 {
        return 1.0;
    }
    let front = (ln_gamma(a + b) - ln_gamma(a) - ln_gamma(b) + a * x.ln() + b * (-x).ln_1p()).exp();
    // The fraction converges fast on the side of the mean that has less of the weight.
    if x < (a + 1.0) / (a + b + 2.0) {
        front * beta_fraction(a, b, x) / a
    } else {
        1.0 - front * beta_fraction(b, a, 1.0 - x) / b
    }
}

fn beta_fraction(a: f64, b: f64, x: f64) -> f64 {
    const STEPS_MAX: u32 = 10_000;
    const TINY: f64 = 1e-300;
    let away_from_zero = |value: f64| if value.abs() < TINY { TINY } else { value };
    let mut above = 1.0;
    let mut below = 1.0 / away_from_zero(1.0 - (a + b) * x / (a + 1.0));
    let mut fraction = below;
    for step in (1..=STEPS_MAX).map(f64::from) {
        let (once, twice) = (a + step, a + 2.0 * step);
        let even = step * (b - step) * x / ((twice - 1.0) * twice);
        let odd = -once * (once + b) * x / (twice * (twice + 1.0));
        for term in [even, odd] {
            below = 1.0 / away_from_zero(1.0 + term * below);
            above = away_from_zero(1.0 + term / above);
            fraction *= below * above;
        }
        if (below * above - 1.0).abs() < 1e-14 {
            break;
        }
    }
    fraction
}

/// Returns the logarithm of the gamma function of a positive number (Lanczos, nine terms).
fn ln_gamma(x: f64) -> f64 {
    const TERMS: [f64; 9] = [
        0.999_999_999_999_809_9,
        676.520_368_121_885_1,
        -1_259.139_216_722_402_8,
        771.323_428_777_653_1,
        -176.615_029_162_140_6,
        12.507_343_278_686_905,
        -0.138_571_095_265_720_12,
        9.984_369_578_019_572e-6,
        1.505_632_735_149_311_6e-7,
    ];
    let x = x - 1.0;
    let t = x + 7.5;
    let sum = TERMS
        .iter()
        .enumerate()
        .skip(1)
        .fold(TERMS[0], |sum, (place, term)| sum + term / (x + place as f64));
    0.5 * (2.0 * std::f64::consts::PI).ln() + (x + 0.5) * t.ln() - t + sum.ln()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn students_t_has_the_quantiles_of_the_printed_tables() {
        let table = [
            (0.975, 1.0, 12.706),
            (0.975, 4.0, 2.776),
            (0.975, 9.0, 2.262),
            (0.975, 19.0, 2.093),
            (0.975, 120.0, 1.980),
            (0.95, 10.0, 1.812),
            (0.995, 30.0, 2.750),
            (0.025, 9.0, -2.262),
        ];

        for (p, df, expected) in table {
            let found = student_t_quantile(p, df);
            assert!((found - expected).abs() < 6e-4, "t({p}, {df}) is {found}, not {expected}");
        }
    }

    #[test]
    fn students_t_distribution_inverts_its_quantile() {
        for df in [1.0, 2.0, 7.0, 40.0, 1_000.0] {
            for p in [0.001, 0.1, 0.5, 0.9, 0.999] {
                assert!((student_t_cdf(student_t_quantile(p, df), df) - p).abs() < 1e-9);
            }
        }
    }

    #[test]
    fn the_binomial_distribution_is_the_sum_of_its_terms() {
        let (n, p) = (20u64, 0.3);
        let mut term = 0.7f64.powi(20);
        let mut sum = 0.0;
        for k in 0..n {
            sum += term;
            let found = binomial_cdf(k, n, p);
            assert!((found - sum).abs() < 1e-12, "P(X <= {k}) is {found}, not {sum}");
            term *= (n - k) as f64 / (k + 1) as f64 * (p / (1.0 - p));
        }
        assert!((binomial_cdf(20, 20, 0.3) - 1.0).abs() < 1e-15);
    }

    #[test]
    fn the_binomial_distribution_holds_for_many_tries() {
        // Far from the edges it is close to a normal distribution with continuity correction.
        let (n, p) = (1_000_000u64, 0.999);
        let sd = (n as f64 * p * (1.0 - p)).sqrt();

        let found = binomial_cdf(999_030, n, p);

        assert!((found - normal_cdf(30.5 / sd)).abs() < 2e-3, "{found}");
    }

    #[test]
    fn the_normal_distribution_has_the_values_of_the_printed_tables() {
        for (z, expected) in [
            (0.0, 0.5),
            (1.0, 0.841_344_7),
            (1.96, 0.975_002_1),
            (-2.575_83, 0.005),
            (4.0, 0.999_968_3),
        ] {
            assert!((normal_cdf(z) - expected).abs() < 2e-7, "{z}");
        }
    }
}
