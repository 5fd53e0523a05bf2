//! Converts element text to the API's form of the same value.

use std::borrow::Cow;

use homeroom_model::Scalar;

/// Converts the text of a value from XML Schema's lexical forms to those of the API.
///
/// Numbers lose a plus sign and leading zeros and gain a zero before a leading point; `1` and `0`
/// as booleans become words; a date loses its zone. Any other text is kept, so that validation can
/// report it.
///
/// Source: XML Schema Part 2, §3.2.2 (boolean), §3.2.3 (decimal), §3.2.9 (date).
pub(crate) fn lexical(scalar: Scalar, text: Cow<'_, str>) -> Cow<'_, str> {
    match scalar {
        Scalar::Integer { .. } | Scalar::Decimal { .. } => number(&text).map_or(text, Cow::Owned),
        Scalar::Boolean => match text.as_ref() {
            "1" => "true".into(),
            "0" => "false".into(),
            _ => text,
        },
        Scalar::Date => match text.get(10..) {
            Some(zone) if is_zone(zone) => text[..10].to_owned().into(),
            _ => text,
        },
        Scalar::Text { .. } | Scalar::DateTime | Scalar::Time | Scalar::Descriptor(_) => text,
    }
}

/// Returns the second year of `2021-2022`, or a single year; [`None`] for anything else.
pub(crate) fn school_year(text: &str) -> Option<&str> {
    let is_year = |text: &str| text.len() == 4 && text.bytes().all(|b| b.is_ascii_digit());
    match text.split_once('-') {
        None => is_year(text).then_some(text),
        Some((first, second)) => {
            let follows = is_year(first)
                && is_year(second)
                && first.parse::<u16>().ok()?.checked_add(1) == second.parse().ok();
            follows.then_some(second)
        }
    }
}

/// Returns a number in the API's form, if that differs.
pub(crate) fn number(text: &str) -> Option<String> {
    let (sign, digits) = match text.strip_prefix('-') {
        Some(digits) => ("-", digits),
        None => ("", text.strip_prefix('+').unwrap_or(text)),
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let is_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if whole.len() + fraction.len() == 0 || !is_digits(whole) || !is_digits(fraction) {
        return None;
    }
    let whole = match whole.trim_start_matches('0') {
        "" => "0",
        whole => whole,
    };
    let length = if fraction.is_empty() { 0 } else { 1 + fraction.len() };
    if sign.len() + whole.len() + length == text.len() && !text.starts_with('+') {
        return None;
    }
    Some(if fraction.is_empty() {
        format!("{sign}{whole}")
    } else {
        format!("{sign}{whole}.{fraction}")
    })
}

fn is_zone(text: &str) -> bool {
    let bytes = text.as_bytes();
    match bytes.first() {
        Some(b'Z') => bytes.len() == 1,
        Some(b'+' | b'-') => bytes.len() == 6 && bytes[3] == b':',
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_written_as_the_api_writes_them() {
        let int = Scalar::Integer { bits: 32, min: 0, max: 9 };
        for (scalar, text, expected) in [
            (int, "+05", "5"),
            (int, "000", "0"),
            (int, "-5", "-5"),
            (int, "5 apples", "5 apples"),
            (int, "-", "-"),
            (int, ".5", "0.5"),
            (int, "1.", "1"),
            (int, "1.2.3", "1.2.3"),
            (Scalar::Boolean, "1", "true"),
            (Scalar::Boolean, "False", "False"),
            (Scalar::Date, "2026-08-31Z", "2026-08-31"),
            (Scalar::Date, "2026-08-31-05:00", "2026-08-31"),
            (Scalar::Date, "2026-08-31T00:00:00", "2026-08-31T00:00:00"),
            (Scalar::Date, "2026-08-ä1", "2026-08-ä1"),
            (Scalar::Text { min: 0, max: 9 }, "007", "007"),
        ] {
            assert_eq!(lexical(scalar, text.into()), expected);
        }
    }

    #[test]
    fn a_school_year_is_its_second_year() {
        for (text, year) in [
            ("2021-2022", Some("2022")),
            ("2022", Some("2022")),
            ("2021-2023", None),
            ("2021", Some("2021")),
            ("21-22", None),
            ("", None),
        ] {
            assert_eq!(school_year(text), year, "{text}");
        }
    }
}
