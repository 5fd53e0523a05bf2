//! Values of manifests as XML Schema writes them: booleans, decimals, whole numbers, durations.
//!
//! Source: XML Schema 1.0 part 2, §3.2.2 (boolean), §3.2.3 (decimal), §3.2.6 (duration), §3.3.20
//! (nonNegativeInteger); white space around each of them does not count (§4.3.6).

/// What XML Schema calls white space.
fn trimmed(text: &str) -> &str {
    text.trim_matches([' ', '\t', '\n', '\r'])
}

/// Reads a boolean: `true`, `false`, `1` or `0`. Some tools write it with capitals.
pub(crate) fn boolean(text: &str) -> Option<bool> {
    match trimmed(text) {
        "1" => Some(true),
        "0" => Some(false),
        text if text.eq_ignore_ascii_case("true") => Some(true),
        text if text.eq_ignore_ascii_case("false") => Some(false),
        _ => None,
    }
}

/// Reads a decimal: digits with a sign and a point, without exponent.
pub(crate) fn decimal(text: &str) -> Option<f64> {
    let text = trimmed(text);
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    let is_plain = digits.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    let has_digit = digits.bytes().any(|byte| byte.is_ascii_digit());
    if !is_plain || !has_digit || digits.len() > 100 {
        return None;
    }
    text.parse::<f64>().ok().filter(|number| number.is_finite())
}

/// Reads a whole number that is not negative.
pub(crate) fn whole(text: &str) -> Option<f64> {
    let text = trimmed(text);
    let digits = text.strip_prefix('+').unwrap_or(text);
    let is_plain = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    is_plain.then(|| decimal(text)).flatten()
}

/// Returns a duration without white space around it, if it is one: `P1Y2M3DT4H5M6.7S`.
pub(crate) fn duration(text: &str) -> Option<&str> {
    let text = trimmed(text);
    let rest = text.strip_prefix('-').unwrap_or(text).strip_prefix('P')?;
    let (date, time) = match rest.split_once('T') {
        Some((_, "")) => return None,
        Some((date, time)) => (date, time),
        None => (rest, ""),
    };
    if date.is_empty() && time.is_empty() {
        return None;
    }
    let is_well = parts(date, "YMD", false) && parts(time, "HMS", true);
    is_well.then_some(text)
}

/// Returns whether a text consists of numbers with these letters behind them, each at most once and in
/// this order; the last one may have a fraction.
fn parts(text: &str, letters: &str, may_be_split: bool) -> bool {
    let mut rest = text;
    let mut left = letters;
    while !rest.is_empty() {
        let Some(at) = rest.find(|c: char| c.is_ascii_alphabetic()) else { return false };
        let letter = &rest[at..=at];
        let Some(place) = left.find(letter) else { return false };
        let is_last = may_be_split && letter == "S";
        let is_number = if is_last {
            let number = &rest[..at];
            let ends = number.starts_with('.') || number.ends_with('.');
            !ends && !number.starts_with(['+', '-']) && decimal(number).is_some()
        } else {
            whole(&rest[..at]).is_some() && !rest.starts_with('+')
        };
        if !is_number {
            return false;
        }
        left = &left[place + 1..];
        rest = &rest[at + 1..];
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn booleans_have_two_spellings_and_white_space_around_them() {
        for (text, value) in [
            ("true", Some(true)),
            ("1", Some(true)),
            ("\n 0\t", Some(false)),
            ("False", Some(false)),
            ("yes", None),
            ("", None),
            ("01", None),
        ] {
            assert_eq!(boolean(text), value, "{text:?}");
        }
    }

    #[test]
    fn decimals_have_no_exponent_and_nothing_else() {
        for (text, value) in [
            ("0.8", Some(0.8)),
            (" +.5 ", Some(0.5)),
            ("-1.", Some(-1.0)),
            ("007", Some(7.0)),
            ("1e2", None),
            ("80%", None),
            ("0,8", None),
            ("NaN", None),
            ("inf", None),
            (".", None),
            ("1.2.3", None),
            ("", None),
        ] {
            assert_eq!(decimal(text), value, "{text:?}");
        }
        for (text, value) in
            [("2", Some(2.0)), (" +2", Some(2.0)), ("2.0", None), ("-1", None), ("", None)]
        {
            assert_eq!(whole(text), value, "{text:?}");
        }
    }

    #[test]
    fn durations_have_their_parts_in_order() {
        for text in ["PT1H", "P1Y2M3DT4H5M6.7S", "P1D", "PT0S", " PT5M "] {
            assert_eq!(duration(text), Some(text.trim()), "{text:?}");
        }
        for text in ["", "P", "PT", "1H", "PT1M1H", "P1S", "PT1.5H", "PT.5S", "P-1D", "PT1M1M"] {
            assert_eq!(duration(text), None, "{text:?}");
        }
    }
}
