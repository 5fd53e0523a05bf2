//! Formats figures and names for readers.

/// The longest name that is shown, in characters; the rest is cut off.
pub const NAME_CHARS_MAX: usize = 120;

/// The sign for a missing figure.
pub const NOTHING: &str = "–";

/// Formats a whole number: `12,345`.
pub fn count(value: u64) -> String {
    let digits = value.to_string();
    let mut out = String::new();
    for (at, digit) in digits.char_indices() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// Formats a figure with three significant digits: `0.123`, `1.23`, `12.3`, `123`, `12,345`.
pub fn figure(value: f64) -> String {
    if !value.is_finite() {
        return NOTHING.into();
    }
    let size = value.abs();
    if size < 0.000_5 {
        return "0".into();
    }
    if size >= 99.95 {
        let sign = if value < 0.0 { "-" } else { "" };
        return format!("{sign}{}", count(whole(size)));
    }
    let digits = if size < 0.999_5 { 3 } else { usize::from(size < 9.995) + 1 };
    let text = format!("{value:.digits$}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Formats a share in per cent: `0.05 %`. Only zero is shown as `0 %`, and only the whole as `100
/// %`.
pub fn percent(share: f64) -> String {
    let value = share * 100.0;
    if !value.is_finite() {
        return NOTHING.into();
    }
    match value {
        v if v > 0.0 && v < 0.01 => "< 0.01 %".into(),
        v if v > 99.99 && v < 100.0 => "> 99.99 %".into(),
        v if v > 99.0 && v < 100.0 => format!("{:.2} %", (v * 100.0).floor() / 100.0),
        v => format!("{} %", figure(v)),
    }
}

/// Formats a time in milliseconds with a suitable unit: `0.12 ms`, `340 ms`, `1.9 s`, `12 min`.
pub fn time_ms(ms: f64) -> String {
    match ms {
        v if !v.is_finite() => NOTHING.into(),
        v if v < 999.5 => format!("{} ms", figure(v)),
        v if v < 120_000.0 => format!("{} s", figure(v / 1e3)),
        v => format!("{} min", figure(v / 6e4)),
    }
}

/// Formats a duration: `30 s`, `5 min`, `1 h 30 min`, `48 h`.
pub fn duration(seconds: f64) -> String {
    if !seconds.is_finite() || seconds < 0.0 {
        return NOTHING.into();
    }
    if seconds < 60.0 {
        return format!("{} s", figure(seconds));
    }
    let all = whole(seconds);
    let parts = [(all / 3600, "h"), (all / 60 % 60, "min"), (all % 60, "s")];
    let shown: Vec<String> =
        parts.iter().filter(|(n, _)| *n > 0).map(|(n, unit)| format!("{n} {unit}")).collect();
    shown.join(" ")
}

/// Formats a moment of a run: `0:05`, `12:30`, `1:00:00`.
pub fn clock(seconds: f64) -> String {
    let all = whole(seconds.max(0.0));
    let (hours, minutes, rest) = (all / 3600, all / 60 % 60, all % 60);
    if hours > 0 {
        format!("{hours}:{minutes:02}:{rest:02}")
    } else {
        format!("{minutes}:{rest:02}")
    }
}

/// Returns a name from outside as one line of limited length, without characters that control a
/// terminal or change the direction of text.
pub fn name(text: &str) -> String {
    cut(text, NAME_CHARS_MAX)
}

/// Does the same with another length limit.
pub fn cut(text: &str, chars_max: usize) -> String {
    let mut shown: String = text.chars().take(chars_max).map(harmless).collect();
    if text.chars().nth(chars_max).is_some() {
        shown.pop();
        shown.push('…');
    }
    shown
}

/// Aligns rows in columns: the first to the left, the others to the right.
pub fn columns<const N: usize>(rows: &[[String; N]]) -> String {
    let width = |at: usize| rows.iter().map(|row| row[at].chars().count()).max().unwrap_or(0);
    let widths: [usize; N] = std::array::from_fn(width);
    let mut out = String::new();
    for row in rows {
        let cells = row.iter().zip(widths).enumerate().map(|(at, (cell, width))| match at {
            0 => format!("{cell:<width$}"),
            _ => format!("{cell:>width$}"),
        });
        out += cells.collect::<Vec<_>>().join("  ").trim_end();
        out.push('\n');
    }
    out
}

/// Formats a figure for programs: no thousands separators, no unit, at most six decimals.
pub fn plain(value: f64) -> String {
    if !value.is_finite() {
        return String::new();
    }
    let text = format!("{value:.6}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "-0" { "0".into() } else { text.to_owned() }
}

/// Returns a number with its word, in the singular or plural: `1 request`, `2 requests`.
pub fn some(number: u64, word: &str) -> String {
    format!("{} {word}{}", count(number), if number == 1 { "" } else { "s" })
}

/// Returns a part of a whole as a fraction; 0 if the whole is 0.
pub fn share(part: u64, of: u64) -> f64 {
    if of == 0 { 0.0 } else { part as f64 / of as f64 }
}

fn harmless(character: char) -> char {
    match character {
        '\n' | '\r' | '\t' => ' ',
        '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{200e}' | '\u{200f}' => '\u{fffd}',
        _ if character.is_control() => '\u{fffd}',
        _ => character,
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a cast saturates")]
fn whole(value: f64) -> u64 {
    value.round() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_figure_has_three_significant_digits() {
        for (value, text) in [
            (0.0, "0"),
            (0.1234, "0.123"),
            (0.5, "0.5"),
            (1.234, "1.23"),
            (9.996, "10"),
            (12.34, "12.3"),
            (99.96, "100"),
            (1_234.5, "1,235"),
            (-1_234_567.0, "-1,234,567"),
            (f64::NAN, NOTHING),
        ] {
            assert_eq!(figure(value), text, "{value}");
        }
    }

    #[test]
    fn a_share_is_shown_as_0_or_100_percent_only_if_exact() {
        for (value, text) in [
            (0.0, "0 %"),
            (0.000_001, "< 0.01 %"),
            (0.001, "0.1 %"),
            (0.5, "50 %"),
            (0.999_5, "99.95 %"),
            (0.999_999, "> 99.99 %"),
            (1.0, "100 %"),
        ] {
            assert_eq!(percent(value), text, "{value}");
        }
    }

    #[test]
    fn times_are_shown_in_a_fitting_unit() {
        assert_eq!(time_ms(0.1234), "0.123 ms");
        assert_eq!(time_ms(999.6), "1 s");
        assert_eq!(time_ms(1_906.0), "1.91 s");
        assert_eq!(duration(300.0), "5 min");
        assert_eq!(duration(5_430.0), "1 h 30 min 30 s");
        assert_eq!(duration(172_800.0), "48 h");
        assert_eq!(clock(3_725.0), "1:02:05");
    }

    #[test]
    fn control_characters_of_a_foreign_name_are_replaced() {
        assert_eq!(name("a\u{1b}[2Jb\nc\u{202e}d"), "a\u{fffd}[2Jb c\u{fffd}d");
        assert_eq!(name(&"x".repeat(500)).chars().count(), NAME_CHARS_MAX);
    }

    #[test]
    fn machine_readable_figures_have_no_separators() {
        assert_eq!(plain(1_234.5), "1234.5");
        assert_eq!(plain(0.1 + 0.2), "0.3");
        assert_eq!(plain(-0.000_000_1), "0");
        assert_eq!(plain(f64::INFINITY), "");
    }
}
