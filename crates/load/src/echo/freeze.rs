//! A planted freeze: for a while nothing is read and nothing is written.

use std::time::{Duration, Instant};

/// The time during which the echo is frozen.
#[derive(Debug, Clone, Copy)]
pub struct Freezer {
    at: Duration,
    until: Duration,
}

impl Freezer {
    /// Returns a freeze that begins `at` after the first request and lasts for `time`.
    pub fn new(at: Duration, time: Duration) -> Self {
        Self { at, until: at + time }
    }

    /// Returns when the freeze ends, if the echo is frozen at `now`.
    pub fn thaw(&self, first: Option<Instant>, now: Instant) -> Option<Instant> {
        let first = first?;
        let since = now.saturating_duration_since(first);
        (self.at <= since && since < self.until).then(|| first + self.until)
    }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "a test may look at the clock")]
mod tests {
    use super::*;

    #[test]
    fn a_frozen_server_thaws_at_the_end_of_the_freeze() {
        let freezer = Freezer::new(Duration::from_secs(4), Duration::from_secs(2));
        let first = Instant::now();
        let after = |ms: u64| freezer.thaw(Some(first), first + Duration::from_millis(ms));

        assert_eq!((after(3_999), after(6_000)), (None, None));
        assert_eq!(after(4_000), Some(first + Duration::from_secs(6)));
        assert_eq!(freezer.thaw(None, first), None);
    }
}
