//! Durations as people write them.

use std::time::Duration;

/// The longest duration that is accepted, in hours: a leap year.
const HOURS_MAX: f64 = 24.0 * 366.0;

/// Reads a duration such as `500ms`, `1.5s`, `5m` or `48h`.
///
/// # Errors
///
/// A message that names the text and shows the accepted forms.
pub fn parse(text: &str) -> Result<Duration, String> {
    let wrong = || format!("`{text}` is not a duration; write 500ms, 10s, 5m or 48h");
    let at = text.find(|c: char| !c.is_ascii_digit() && c != '.').ok_or_else(wrong)?;
    let (digits, unit) = text.split_at(at);
    let number: f64 = digits.parse().map_err(|_| wrong())?;
    let seconds = match unit {
        "ms" => number / 1e3,
        "s" => number,
        "m" => number * 60.0,
        "h" => number * 3600.0,
        _ => return Err(wrong()),
    };
    if seconds > HOURS_MAX * 3600.0 {
        return Err(format!("`{text}` is longer than a year"));
    }
    Ok(Duration::from_secs_f64(seconds))
}

/// Writes a duration as [`parse`] reads it, in the greatest unit that divides it.
pub fn show(duration: Duration) -> String {
    let ms = duration.as_millis();
    match ms {
        0 => "0s".into(),
        _ if ms.is_multiple_of(3_600_000) => format!("{}h", ms / 3_600_000),
        _ if ms.is_multiple_of(60_000) => format!("{}m", ms / 60_000),
        _ if ms.is_multiple_of(1_000) => format!("{}s", ms / 1_000),
        _ => format!("{ms}ms"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_read_as_people_write_them() {
        for (text, ms, shown) in [
            ("500ms", 500, "500ms"),
            ("10s", 10_000, "10s"),
            ("1.5s", 1_500, "1500ms"),
            ("5m", 300_000, "5m"),
            ("60s", 60_000, "1m"),
            ("48h", 172_800_000, "48h"),
            ("0s", 0, "0s"),
        ] {
            let read = parse(text).unwrap();

            assert_eq!((read.as_millis(), &*show(read)), (ms, shown), "{text}");
        }
    }

    #[test]
    fn an_invalid_duration_is_refused() {
        for text in ["", "5", "s", "-1s", "5 s", "5d", "1e9h", "..s", "1.2.3s", "9999999999999999h"]
        {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}
