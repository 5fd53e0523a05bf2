//! Measures how late this machine wakes from a sleep.

/// The most by which a sleep is cut short, in nanoseconds.
const MOST: f64 = 100_000.0;
/// How far each wake-up changes the estimate, in nanoseconds.
const STEP: f64 = 500.0;
/// The share of wakes that are to be early.
const EARLY: f64 = 0.8;

/// Learns how much to cut a sleep short, so that most wakes are early and few are much too early.
///
/// A timer is 7 µs late on a plain machine and 50 µs on a nested virtual one. The rest of the time
/// is spent polling.
#[derive(Debug, Default, Clone, Copy)]
pub struct Alarm {
    lead: f64,
}

impl Alarm {
    /// Returns by how much to cut the next sleep short, in nanoseconds.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "0 to MOST")]
    pub fn lead(self) -> u64 {
        self.lead as u64
    }

    /// Records that a sleep ended `late` nanoseconds after the requested moment.
    pub fn rang(&mut self, late: u64) {
        // Steps in this proportion settle at a lead that makes the share `EARLY` of wakes early.
        let step = if late as f64 > self.lead { EARLY } else { EARLY - 1.0 };
        self.lead = (self.lead + STEP * step).clamp(0.0, MOST);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lead_converges_so_that_most_wakes_are_early() {
        let mut random = fastrand::Rng::with_seed(3);
        let mut alarm = Alarm::default();
        for _ in 0..20_000 {
            alarm.rang(30_000 + random.u64(0..10_000));
        }

        let early = (0..10_000).filter(|_| 30_000 + random.u64(0..10_000) <= alarm.lead()).count();

        assert!((7_000..9_000).contains(&early), "{early}");
    }

    #[test]
    fn the_lead_is_limited_on_a_very_late_machine() {
        let mut alarm = Alarm::default();
        for _ in 0..10_000 {
            alarm.rang(5_000_000);
        }

        assert!(alarm.lead() <= 100_000);
    }
}
