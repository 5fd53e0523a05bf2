//! Converts stored text to the numbers of a Parquet file.

/// The day from which Parquet counts.
const EPOCH: jiff::civil::Date = jiff::civil::date(1970, 1, 1);

/// Returns the days from 1970-01-01 to an ISO date, `2026-08-31`.
pub(super) fn days(text: &str) -> Option<i32> {
    let date: jiff::civil::Date = text.parse().ok().filter(|_| text.len() == 10)?;
    Some(date.since(EPOCH).ok()?.get_days())
}

/// Returns the microseconds from midnight to a time of day, `08:30:00`, with or without a fraction.
pub(super) fn micros_of_day(text: &str) -> Option<i64> {
    let (clock, fraction) = text.split_once('.').unwrap_or((text, ""));
    let mut parts = clock.split(':').map(str::parse::<i64>);
    let mut next = |most: i64| parts.next()?.ok().filter(|part| (0..=most).contains(part));
    let seconds = next(23)? * 3_600 + next(59)? * 60 + next(60)?;
    let micros: i64 = if fraction.is_empty() {
        0
    } else {
        let padded: String = fraction.chars().chain("000000".chars()).take(6).collect();
        padded.parse().ok()?
    };
    Some(seconds * 1_000_000 + micros)
}

/// Returns the microseconds from 1970 to a time in UTC, `2026-08-31T08:30:00Z`.
pub(super) fn micros(text: &str) -> Option<i64> {
    let (date, time) = text.strip_suffix('Z')?.split_once('T')?;
    Some(i64::from(days(date)?) * 86_400_000_000 + micros_of_day(time)?)
}

/// Returns a decimal number without its point: with a scale of two, `-1.5` is -150.
pub(super) fn unscaled(text: &str, precision: u8, scale: u8) -> Option<i128> {
    let (is_negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text),
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    if fraction.len() > usize::from(scale) {
        return None;
    }
    let missing = usize::from(scale) - fraction.len();
    let all: String = [whole, fraction].concat() + &"0".repeat(missing);
    if all.trim_start_matches('0').len() > usize::from(precision) {
        return None;
    }
    let number: i128 = all.parse().ok()?;
    Some(if is_negative { -number } else { number })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_count_from_1970() {
        for (text, number) in [
            ("1970-01-01", Some(0)),
            ("2000-02-29", Some(11_016)),
            ("1969-12-31", Some(-1)),
            ("2026-11-22", Some(20_779)),
            ("soon", None),
            ("2026-13-01", None),
        ] {
            assert_eq!(days(text), number, "{text}");
        }
    }

    #[test]
    fn times_and_moments_count_microseconds() {
        assert_eq!(micros_of_day("08:30:00"), Some(30_600_000_000));
        assert_eq!(micros_of_day("00:00:00.25"), Some(250_000));
        assert_eq!(micros_of_day("24:00:00"), None);
        assert_eq!(micros("1970-01-02T00:00:01Z"), Some(86_401_000_000));
    }

    #[test]
    fn a_decimal_keeps_every_digit() {
        for (text, number) in [
            ("1", Some(10_000)),
            ("-1.5", Some(-15_000)),
            ("0.0001", Some(1)),
            ("123456789012345.6789", Some(1_234_567_890_123_456_789)),
            ("1234567890123456", None),
            ("0.00001", None),
            ("1e3", None),
        ] {
            assert_eq!(unscaled(text, 19, 4), number, "{text}");
        }
    }
}
