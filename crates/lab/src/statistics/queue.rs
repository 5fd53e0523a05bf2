//! Little's law.

/// Returns how far a mean number in a system is from the product of its rate and its mean time, as
/// a share of the greater of both: 0 where N = X x R holds.
///
/// The law holds for any system that is about as full at the end as at the start. A gap means that
/// something was measured wrongly or that the system filled up in the meantime.
///
/// Source: Little, A proof for the queuing formula L = λW (1961).
pub fn littles_gap(mean_number: f64, rate: f64, mean_seconds: f64) -> f64 {
    let expected = rate * mean_seconds;
    let greater = mean_number.max(expected);
    if greater > 0.0 { (mean_number - expected).abs() / greater } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_gap_to_littles_law_is_zero_if_it_holds_and_a_share_otherwise() {
        assert!(littles_gap(20.0, 400.0, 0.05).abs() < 1e-12);
        assert!((littles_gap(10.0, 400.0, 0.05) - 0.5).abs() < 1e-12);
        assert!((littles_gap(40.0, 400.0, 0.05) - 0.5).abs() < 1e-12);
        assert!(littles_gap(0.0, 0.0, 1.0).abs() < 1e-12);
    }
}
