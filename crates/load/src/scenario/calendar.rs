//! Writes dates and moments as text.

use std::io::Write as _;
use std::time::SystemTime;

use jiff::civil::Date;
use jiff::{SignedDuration, Timestamp};

/// The date from which days are counted.
const FIRST: Date = Date::constant(1900, 1, 1);

/// The number of days from 1900-01-01 to 9999-12-31, both included.
const DAYS: u64 = 2_958_464;

/// Writes the date `days` days after 1900-01-01; after 9999-12-31 it starts over.
pub fn write_date(out: &mut Vec<u8>, days: u64) {
    let hours = i64::try_from(days % DAYS * 24).expect("DAYS days have few hours");
    _ = write!(out, "{}", FIRST.saturating_add(SignedDuration::from_hours(hours)));
}

/// Writes a moment in RFC 3339 form, in UTC, with milliseconds.
pub fn write_moment(out: &mut Vec<u8>, moment: SystemTime) {
    let moment = Timestamp::try_from(moment).unwrap_or(Timestamp::UNIX_EPOCH);
    _ = write!(out, "{moment:.3}");
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, UNIX_EPOCH};

    use super::*;

    fn date(days: u64) -> String {
        let mut out = vec![];
        write_date(&mut out, days);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn days_are_counted_from_1900_to_9999() {
        for (days, shown) in [
            (0, "1900-01-01"),
            (58, "1900-02-28"),
            (59, "1900-03-01"),
            (25_567, "1970-01-01"),
            (36_583, "2000-02-29"),
            (46_346, "2026-11-22"),
            (DAYS - 1, "9999-12-31"),
            (DAYS, "1900-01-01"),
        ] {
            assert_eq!(date(days), shown);
        }
    }

    #[test]
    fn every_day_has_a_date_of_its_own_that_is_later_than_the_last() {
        let dates: Vec<String> = (0..80_000).map(date).collect();

        assert!(dates.is_sorted_by(|a, b| a < b));
    }

    #[test]
    fn a_timestamp_is_written_in_utc() {
        let mut out = vec![];

        write_moment(&mut out, UNIX_EPOCH + Duration::from_millis(1_795_305_599_042));

        assert_eq!(String::from_utf8(out).unwrap(), "2026-11-21T23:59:59.042Z");
    }
}
