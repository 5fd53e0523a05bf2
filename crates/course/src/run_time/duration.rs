//! Durations as SCORM writes them, in hundredths of a second.

/// Reads a duration: `HHHH:MM:SS.SS` of SCORM 1.2 (a `CMITimespan`), or one of ISO 8601 of
/// SCORM 2004 (`PT1H30M`). Years and months count as 365 and 30 days.
pub(crate) fn read(text: &str) -> Option<u64> {
    let text = text.trim();
    match text.strip_prefix('P') {
        Some(rest) => read_iso(rest),
        None => read_clock(text),
    }
}

fn read_clock(text: &str) -> Option<u64> {
    let parts: Vec<&str> = text.split(':').collect();
    let [hours, minutes, seconds] = parts[..] else { return None };
    let short = |part: &str, most: usize| {
        (!part.is_empty() && part.len() <= most && part.bytes().all(|b| b.is_ascii_digit()))
            .then(|| part.parse::<u64>().ok())
            .flatten()
    };
    let hours = short(hours, 6)?;
    let minutes = short(minutes, 2).filter(|minutes| *minutes < 100)?;
    let seconds = hundredths(seconds)?;
    Some((hours * 3_600 + minutes * 60) * 100 + seconds)
}

/// Reads seconds with a fraction as hundredths.
fn hundredths(text: &str) -> Option<u64> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let is_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || whole.len() > 9 || !is_digits(whole) || !is_digits(fraction) {
        return None;
    }
    let mut digits: String = fraction.chars().take(2).collect();
    while digits.len() < 2 {
        digits.push('0');
    }
    Some(whole.parse::<u64>().ok()? * 100 + digits.parse::<u64>().ok()?)
}

fn read_iso(text: &str) -> Option<u64> {
    let (days, time) = match text.split_once('T') {
        Some((_, "")) => return None,
        Some((days, time)) => (days, time),
        None => (text, ""),
    };
    if days.is_empty() && time.is_empty() {
        return None;
    }
    let parts = [
        (days, &[('Y', 31_536_000), ('M', 2_592_000), ('W', 604_800), ('D', 86_400)][..]),
        (time, &[('H', 3_600), ('M', 60), ('S', 1)][..]),
    ];
    let mut all = 0_u64;
    for (text, units) in parts {
        let mut rest = text;
        let mut units = units.iter();
        while !rest.is_empty() {
            let at = rest.find(|c: char| c.is_ascii_alphabetic())?;
            let unit = rest[at..].chars().next()?;
            let (_, seconds) = units.find(|(name, _)| *name == unit)?;
            let number = hundredths(&rest[..at])?;
            if unit != 'S' && number % 100 != 0 {
                return None;
            }
            all = all.checked_add(number.checked_mul(*seconds)?)?;
            rest = &rest[at + 1..];
        }
    }
    Some(all)
}

/// Writes a duration as SCORM 1.2 does.
pub(crate) fn scorm12(hundredths: u64) -> String {
    let (seconds, part) = (hundredths / 100, hundredths % 100);
    let (hours, minutes, seconds) = (seconds / 3_600, seconds / 60 % 60, seconds % 60);
    format!("{hours:04}:{minutes:02}:{seconds:02}.{part:02}")
}

/// Writes a duration as SCORM 2004 does.
pub(crate) fn iso(hundredths: u64) -> String {
    let (seconds, part) = (hundredths / 100, hundredths % 100);
    let (hours, minutes, seconds) = (seconds / 3_600, seconds / 60 % 60, seconds % 60);
    let unit = |number: u64, letter: char| {
        if number > 0 { format!("{number}{letter}") } else { String::new() }
    };
    let rest = match (seconds, part) {
        (0, 0) if hundredths > 0 => String::new(),
        (seconds, 0) => format!("{seconds}S"),
        (seconds, part) => format!("{seconds}.{part:02}S"),
    };
    format!("PT{}{}{rest}", unit(hours, 'H'), unit(minutes, 'M'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read_in_both_forms() {
        for (text, hundredths) in [
            ("00:01:00", Some(6_000)),
            ("0000:00:01.5", Some(150)),
            ("1234:59:59.99", Some((1_234 * 3_600 + 59 * 60 + 59) * 100 + 99)),
            ("1:1", None),
            ("a:00:00", None),
            ("00:00:00.", Some(0)),
            ("PT1H30M", Some(540_000)),
            ("PT0.5S", Some(50)),
            ("P1DT1S", Some(8_640_100)),
            ("P1Y", Some(3_153_600_000)),
            ("PT1S1H", None),
            ("PT1.5M", None),
            ("P", None),
            ("PT", None),
            ("", None),
        ] {
            assert_eq!(read(text), hundredths, "{text}");
        }
    }

    #[test]
    fn durations_survive_a_round_trip() {
        for hundredths in [0, 1, 99, 100, 6_000, 360_000, 12_345_678] {
            assert_eq!(read(&scorm12(hundredths)), Some(hundredths));
            assert_eq!(read(&iso(hundredths)), Some(hundredths), "{}", iso(hundredths));
        }
        assert_eq!(scorm12(18_000), "0000:03:00.00");
        assert_eq!(iso(18_000), "PT3M");
    }
}
