//! The time of a request.
#![expect(clippy::disallowed_methods, reason = "the one function that reads the time of day")]

use std::fmt;

use jiff::fmt::StdFmtWrite;
use jiff::fmt::temporal::DateTimePrinter;

/// The first moment that is written: the beginning of the year 0.
const FIRST_MS: i64 = -62_167_219_200_000;

/// A point in time, in microseconds since 1970-01-01T00:00:00Z.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(pub i64);

impl Timestamp {
    /// Returns the current time. The front door calls it once per request; the parts behind it are
    /// given the time.
    pub fn now() -> Self {
        let since =
            std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
        Self(i64::try_from(since.as_micros()).unwrap_or(i64::MAX))
    }

    /// Returns whole seconds since 1970.
    pub fn seconds(self) -> i64 {
        self.0.div_euclid(1_000_000)
    }

    /// Returns the time `seconds` later.
    #[must_use]
    pub fn plus_seconds(self, seconds: i64) -> Self {
        Self(self.0.saturating_add(seconds.saturating_mul(1_000_000)))
    }
}

/// Formats as ISO 8601 in UTC with milliseconds, `2026-11-21T08:30:00.125Z`. A time outside the years
/// 0 to 9999 becomes the nearest one that can be written.
impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const PRINTER: DateTimePrinter = DateTimePrinter::new().precision(Some(3));
        // Rounded down here, since the printer rounds towards 1970.
        let milliseconds =
            self.0.div_euclid(1_000).clamp(FIRST_MS, jiff::Timestamp::MAX.as_second() * 1_000);
        let moment = jiff::Timestamp::from_millisecond(milliseconds).map_err(|_| fmt::Error)?;
        PRINTER.print_timestamp(&moment, StdFmtWrite(f)).map_err(|_| fmt::Error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_reads_as_iso_8601() {
        for (micros, text) in [
            (0, "1970-01-01T00:00:00.000Z"),
            (951_782_400_000_000, "2000-02-29T00:00:00.000Z"),
            (1_795_250_901_125_999, "2026-11-21T08:48:21.125Z"),
            (-1_000, "1969-12-31T23:59:59.999Z"),
            (-1, "1969-12-31T23:59:59.999Z"),
            (i64::MAX, "9999-12-30T22:00:00.000Z"),
            (i64::MIN, "0000-01-01T00:00:00.000Z"),
        ] {
            assert_eq!(Timestamp(micros).to_string(), text);
        }
    }
}
