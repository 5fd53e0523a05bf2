//! Writes dates as text, with the calendar arithmetic that this needs.

use std::io::Write as _;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Days from 1900-01-01 to 1970-01-01.
const TO_1970: u64 = 25_567;

/// Days from 1900-01-01 to the first date whose year has five digits.
const DAYS: u64 = 2_958_464;

/// Writes the date `days` days after 1900-01-01; after the year 9999 it starts over.
pub fn write_date(out: &mut Vec<u8>, days: u64) {
    let (year, month, day) = civil(days % DAYS);
    _ = write!(out, "{year:04}-{month:02}-{day:02}");
}

/// Writes a moment in RFC 3339 form, in UTC, with milliseconds.
pub fn write_moment(out: &mut Vec<u8>, moment: SystemTime) {
    let since = moment.duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
    let seconds = since.as_secs();
    write_date(out, TO_1970 + seconds / 86_400);
    let (hour, minute, second) = (seconds / 3600 % 24, seconds / 60 % 60, seconds % 60);
    _ = write!(out, "T{hour:02}:{minute:02}:{second:02}.{:03}Z", since.subsec_millis());
}

/// Returns year, month and day in the Gregorian calendar, in which 400 years have 146,097 days.
fn civil(days_since_1900: u64) -> (u64, u64, u64) {
    // There are 693,901 days between 0000-03-01 and 1900-01-01; years are counted from March, so
    // that the leap day is the last day of the year.
    let days = days_since_1900 + 693_901;
    let era = days / 146_097;
    let of_era = days % 146_097;
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let from_march = (5 * of_year + 2) / 153;
    let day = of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    (era * 400 + year_of_era + u64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
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
            (TO_1970, "1970-01-01"),
            (TO_1970 + 11_016, "2000-02-29"),
            (TO_1970 + 20_779, "2026-11-22"),
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
    fn a_moment_is_written_in_utc() {
        let mut out = vec![];

        write_moment(&mut out, UNIX_EPOCH + Duration::from_millis(1_795_305_599_042));

        assert_eq!(String::from_utf8(out).unwrap(), "2026-11-21T23:59:59.042Z");
    }
}
