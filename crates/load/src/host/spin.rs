//! Measures the machine's current speed: a fixed piece of work, relative to its best score.
#![expect(clippy::disallowed_methods, reason = "it measures how long a fixed piece of work takes")]

use std::hint::black_box;
use std::time::Instant;

/// The rounds of the work: some 50 ms on a processor of 3 GHz.
const ROUNDS: u32 = 16_000_000;

/// How many times the work is done for the reference.
const TRIES: u32 = 3;

/// Does the work once. Returns the score in rounds per microsecond.
pub fn spin() -> f64 {
    let begun = Instant::now();
    black_box(work(black_box(ROUNDS)));
    f64::from(ROUNDS) / begun.elapsed().as_secs_f64().max(1e-9) / 1e6
}

/// Returns the undisturbed score of this machine: the best of a few tries.
pub fn reference() -> f64 {
    (0..TRIES).map(|_| spin()).fold(0.0, f64::max)
}

/// Each round depends on the result of the last, so rounds cannot run in parallel.
fn work(rounds: u32) -> u64 {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    for _ in 0..rounds {
        state ^= state << 13;
        state ^= state >> 7;
        state = state.wrapping_mul(0x2545_f491_4f6c_dd1d);
    }
    state
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_work_is_deterministic_and_depends_on_the_rounds() {
        assert_eq!(work(1_000), work(1_000));
        assert_ne!(work(1_000), work(1_001));
    }

    #[test]
    fn a_score_is_positive() {
        assert!(spin() > 0.0);
    }
}
