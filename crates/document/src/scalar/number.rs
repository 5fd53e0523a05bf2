//! Numbers as text, without a float in between.

use crate::json::Json;

/// Most digits of a number that are evaluated.
const DIGITS_MAX: usize = 40;

/// Returns the text of a number, which may also be sent as a string.
pub(super) fn number_text<'j>(json: &'j Json<'_>) -> Option<&'j str> {
    match json {
        Json::Number(text) => Some(text),
        Json::Text(text) => {
            let text = text.trim();
            // The number must be the whole text, because reading skips a byte order mark in front
            // of it.
            matches!(Json::read(text.as_bytes()), Ok(Json::Number(all)) if all.len() == text.len())
                .then_some(text)
        }
        _ => None,
    }
}

/// Reads a whole number; `1.0` and `1e2` are whole.
pub fn integer(json: &Json<'_>) -> Option<i64> {
    let text = number_text(json)?;
    if let Ok(number) = text.parse() {
        return Some(number);
    }
    // It is whole if every digit after the point is zero, with the exponent applied.
    let (mantissa, exponent) = match text.find(['e', 'E']) {
        Some(at) => (&text[..at], text[at + 1..].parse::<i64>().ok()?),
        None => (text, 0),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits: String = [whole.trim_start_matches('-'), fraction].concat();
    let point = i64::try_from(whole.trim_start_matches('-').len()).ok()?.checked_add(exponent)?;
    let kept = usize::try_from(point.max(0)).ok()?.min(digits.len());
    if digits[kept..].bytes().any(|digit| digit != b'0') {
        return None;
    }
    if digits.bytes().all(|digit| digit == b'0') {
        return Some(0);
    }
    let zeros = usize::try_from(point).ok()?.checked_sub(kept).filter(|zeros| *zeros < 20)?;
    let sign = if whole.starts_with('-') { "-" } else { "" };
    format!("{sign}{}{}", &digits[..kept], "0".repeat(zeros)).parse().ok()
}

/// Rounds a number's text to `scale` digits after the point, half away from zero; returns it
/// without redundant zeros.
pub(super) fn decimal(text: &str, precision: u8, scale: u8) -> Result<String, String> {
    let too_large = || {
        format!(
            "The value must have at most {} digits before the point.",
            precision.saturating_sub(scale)
        )
    };
    let (mantissa, exponent) = match text.find(['e', 'E']) {
        Some(at) => (&text[..at], text[at + 1..].parse::<i32>().map_err(|_| too_large())?),
        None => (text, 0),
    };
    let negative = mantissa.starts_with('-');
    let mantissa = mantissa.trim_start_matches('-');
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits: Vec<u8> = whole.bytes().chain(fraction.bytes()).map(|byte| byte - b'0').collect();
    // The digits are those of 0.d1d2d3… × 10^point.
    let leading = digits.iter().take_while(|digit| **digit == 0).count();
    let digits = &digits[leading..];
    let point = i64::try_from(whole.len()).unwrap_or(i64::MAX) + i64::from(exponent)
        - i64::try_from(leading).unwrap_or(i64::MAX);
    if digits.is_empty() {
        return Ok("0".into());
    }
    let whole_max = i64::from(precision) - i64::from(scale);
    if point > whole_max {
        return Err(too_large());
    }
    let keep = point + i64::from(scale);
    if keep < 0 {
        return Ok("0".into());
    }
    let keep = usize::try_from(keep).unwrap_or(DIGITS_MAX).min(DIGITS_MAX);
    let mut kept: Vec<u8> = digits.iter().copied().take(keep).collect();
    kept.resize(keep, 0);
    let mut carry = digits.get(keep).is_some_and(|digit| *digit >= 5);
    for digit in kept.iter_mut().rev() {
        if !carry {
            break;
        }
        carry = *digit == 9;
        *digit = if carry { 0 } else { *digit + 1 };
    }
    let mut point = point;
    if carry {
        kept.insert(0, 1);
        point += 1;
        if point > whole_max {
            return Err(too_large());
        }
    }
    let mut out = String::with_capacity(kept.len() + 3);
    if negative {
        out.push('-');
    }
    let split = usize::try_from(point.max(0)).unwrap_or(0);
    if split == 0 {
        out.push('0');
    }
    out.extend(kept[..split.min(kept.len())].iter().map(|digit| char::from(b'0' + digit)));
    let zeros = usize::try_from((-point).max(0)).unwrap_or(0);
    let fraction: String = std::iter::repeat_n('0', zeros)
        .chain(kept[split.min(kept.len())..].iter().map(|digit| char::from(b'0' + digit)))
        .collect();
    let fraction = fraction.trim_end_matches('0');
    if !fraction.is_empty() {
        out.push('.');
        out.push_str(fraction);
    }
    Ok(if out == "-0" { "0".into() } else { out })
}
