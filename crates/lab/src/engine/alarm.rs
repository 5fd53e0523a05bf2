//! How late this machine wakes those who sleep.

/// The most that a sleep is cut short, in nanoseconds.
const MOST: f64 = 100_000.0;
/// How far one wake moves the estimate, in nanoseconds.
const STEP: f64 = 500.0;
/// The share of wakes that are to be early.
const EARLY: f64 = 0.8;

/// Learns by how much a sleep must be cut short, so that most wakes are early and few by much.
///
/// A timer costs what the machine makes of it: 7 µs of delay on a plain one, 50 µs on a virtual
/// machine within another. What is left is spent looking around.
#[derive(Debug, Default, Clone, Copy)]
pub struct Alarm {
    lead: f64,
}

impl Alarm {
    /// By how much the next sleep is cut short, in nanoseconds.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "0 to MOST")]
    pub fn lead(self) -> u64 {
        self.lead as u64
    }

    /// A sleep ended so many nanoseconds after the moment that was asked of the system.
    pub fn rang(&mut self, late: u64) {
        // Steps up and down in this proportion settle where this share of wakes is below.
        let step = if late as f64 > self.lead { EARLY } else { EARLY - 1.0 };
        self.lead = (self.lead + STEP * step).clamp(0.0, MOST);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lead_settles_where_most_wakes_are_early() {
        let mut random = fastrand::Rng::with_seed(3);
        let mut alarm = Alarm::default();
        for _ in 0..20_000 {
            alarm.rang(30_000 + random.u64(0..10_000));
        }

        let early = (0..10_000).filter(|_| 30_000 + random.u64(0..10_000) <= alarm.lead()).count();

        assert!((7_000..9_000).contains(&early), "{early}");
    }

    #[test]
    fn a_machine_that_is_very_late_is_not_waited_for_in_a_spin() {
        let mut alarm = Alarm::default();
        for _ in 0..10_000 {
            alarm.rang(5_000_000);
        }

        assert!(alarm.lead() <= 100_000);
    }
}
