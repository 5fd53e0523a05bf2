//! When documents are changed.
#![expect(
    clippy::disallowed_methods,
    reason = "the one function of the store that reads the time of day"
)]

use std::fmt;
use std::time::{SystemTime, UNIX_EPOCH};

/// The time of a change, in microseconds since 1970-01-01T00:00:00Z.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct ChangedAt(pub i64);

impl ChangedAt {
    /// Returns the current time, for changes that no request brings.
    pub fn now() -> Self {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Self(i64::try_from(since.as_micros()).unwrap_or(i64::MAX))
    }
}

/// Formats as ISO 8601 in UTC with milliseconds, `2026-11-21T08:30:00.125Z`. Times before the year
/// -9999 or after 9999 are shown as the nearest one that can be.
impl fmt::Display for ChangedAt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let nearest = if self.0 < 0 { jiff::Timestamp::MIN } else { jiff::Timestamp::MAX };
        let time = jiff::Timestamp::from_microsecond(self.0).unwrap_or(nearest);
        write!(f, "{time:.3}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_reads_as_iso_8601() {
        for (micros, text) in [
            (0, "1970-01-01T00:00:00.000Z"),
            (951_782_400_000_000, "2000-02-29T00:00:00.000Z"),
            (1_795_250_901_125_999, "2026-11-21T08:48:21.125Z"),
            (-1_000, "1969-12-31T23:59:59.999Z"),
        ] {
            assert_eq!(ChangedAt(micros).to_string(), text);
        }
    }
}
