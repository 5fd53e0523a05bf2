//! What an operator decides about courses.

use std::time::Duration;

/// What an operator decides about courses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// Whether packages may be fetched from this machine and private networks, and results posted to
    /// them. Default: false.
    pub private_addresses: bool,
    /// How long a session may be silent until it has ended. Default: 30 minutes.
    pub silence: Duration,
    /// How long the calls of a launch are kept, from its beginning. Default: 90 days.
    pub traces_kept: Duration,
    /// How long a launch is kept, from the end of its link. Default: 400 days.
    pub launches_kept: Duration,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            private_addresses: false,
            silence: Duration::from_mins(30),
            traces_kept: Duration::from_hours(90 * 24),
            launches_kept: Duration::from_hours(400 * 24),
        }
    }
}

/// Returns a duration in microseconds.
pub(crate) fn micros(time: Duration) -> i64 {
    i64::try_from(time.as_micros()).unwrap_or(i64::MAX)
}
