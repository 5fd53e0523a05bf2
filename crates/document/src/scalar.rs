//! Converts one sent value to its canonical text, or says what is wrong with it.

mod moment;
mod number;

use std::fmt::Write as _;

use homeroom_model::{Scalar, capitalized};

use crate::json::{Json, write_text};
use moment::{date, moment, time};
pub use number::integer;
use number::{decimal, number_text};

/// Length of a descriptor's longest namespace and longest code value, in characters.
const URI_PARTS_MAX: [usize; 2] = [255, 50];
/// Length of a descriptor's longest URI in characters: namespace, `#`, code value.
pub const DESCRIPTOR_MAX: usize = URI_PARTS_MAX[0] + 1 + URI_PARTS_MAX[1];

/// Writes the canonical JSON text of `json` as a `scalar`.
///
/// Strings that hold a number, a boolean or a date are converted, and so are 0 and 1 as booleans.
/// Dates become ISO dates, timestamps become UTC, and decimals are rounded to their scale.
///
/// # Errors
///
/// Returns what is wrong, as a sentence without the property's name; nothing is written then.
pub fn write(out: &mut String, scalar: Scalar, json: &Json<'_>) -> Result<(), String> {
    match scalar {
        Scalar::Text { min, max } => text(out, json, min, max),
        Scalar::Integer { min, max, .. } => {
            let number = integer(json).ok_or_else(|| match json {
                Json::Text(text) if has_zeros_in_front(text.trim()) => {
                    "The value must be a whole number without zeros in front."
                }
                _ => "The value must be a whole number.",
            })?;
            if !(min..=max).contains(&number) {
                return Err(format!("The value must be between {min} and {max}."));
            }
            _ = write!(out, "{number}");
            Ok(())
        }
        Scalar::Decimal { precision, scale, min, max } => {
            let text = number_text(json).ok_or("The value must be a number.")?;
            let decimal = decimal(text, precision, scale)?;
            let value: f64 = decimal.parse().unwrap_or(f64::NAN);
            if min.is_some_and(|min| value < min) || max.is_some_and(|max| value > max) {
                return Err(match (min, max) {
                    (Some(min), Some(max)) => format!("The value must be between {min} and {max}."),
                    (Some(min), None) => format!("The value must be at least {min}."),
                    (None, max) => {
                        format!("The value must be at most {}.", max.unwrap_or(f64::MAX))
                    }
                });
            }
            out.push_str(&decimal);
            Ok(())
        }
        Scalar::Boolean => {
            let value = boolean(json).ok_or("The value must be true or false.")?;
            out.push_str(if value { "true" } else { "false" });
            Ok(())
        }
        Scalar::Date => {
            let date = string(json)
                .and_then(date)
                .ok_or("The value must be a date such as 2026-08-31.")?;
            _ = write!(out, "\"{date}\"");
            Ok(())
        }
        Scalar::DateTime => {
            let moment = string(json)
                .and_then(moment)
                .ok_or("The value must be a date and time such as 2026-08-31T08:30:00Z.")?;
            _ = write!(out, "\"{moment}\"");
            Ok(())
        }
        Scalar::Time => {
            let time =
                string(json).and_then(time).ok_or("The value must be a time such as 08:30:00.")?;
            _ = write!(out, "\"{time}\"");
            Ok(())
        }
        Scalar::Descriptor(_) => {
            let uri = string(json).ok_or("The value must be a descriptor's URI in quotes.")?;
            descriptor(out, uri)
        }
    }
}

/// Whether a value is an empty or blank text, which counts as absent.
pub fn is_blank(json: &Json<'_>) -> bool {
    matches!(json, Json::Text(text) if text.trim().is_empty())
}

/// Whether a value in canonical text is the default of its type, so that a required member with
/// this name counts as missing.
///
/// Source: Ed-Fi ODS/API 7.3, which cannot distinguish these values from absent ones.
pub fn is_default(name: &str, scalar: Scalar, text: &str) -> bool {
    match scalar {
        Scalar::Integer { bits, min, max } => {
            let whole = if bits == 32 {
                (i64::from(i32::MIN), i64::from(i32::MAX))
            } else {
                (i64::MIN, i64::MAX)
            };
            text == "0" && (min, max) == whole && {
                let name = capitalized(name);
                ["Id", "USI", "Year", "Number"].iter().any(|end| name.ends_with(end))
                    || name.contains("Sequence")
                    || name == "Version"
            }
        }
        Scalar::Date => text == "\"0001-01-01\"",
        Scalar::DateTime => text == "\"0001-01-01T00:00:00Z\"",
        Scalar::Time => {
            text == "\"00:00:00\"" && {
                let name = capitalized(name);
                ["Start", "Begin", "End"].iter().any(|start| name.starts_with(start))
            }
        }
        Scalar::Text { .. } | Scalar::Decimal { .. } | Scalar::Boolean | Scalar::Descriptor(_) => {
            false
        }
    }
}

/// Returns the canonical text of a value for comparisons, regardless of its length or range;
/// [`None`] if it is not a value of the type.
pub fn comparable(scalar: Scalar, json: &Json<'_>) -> Option<String> {
    let wide = match scalar {
        Scalar::Text { .. } => Scalar::Text { min: 0, max: u32::MAX },
        Scalar::Integer { .. } => Scalar::Integer { bits: 64, min: i64::MIN, max: i64::MAX },
        Scalar::Decimal { scale, .. } => {
            Scalar::Decimal { precision: u8::MAX, scale, min: None, max: None }
        }
        other => other,
    };
    let mut text = String::new();
    write(&mut text, wide, json).ok()?;
    if let Scalar::Descriptor(_) = scalar {
        text = text.to_lowercase();
    }
    Some(text)
}

fn text(out: &mut String, json: &Json<'_>, min: u32, max: u32) -> Result<(), String> {
    // Clients send identifiers as numbers, too; the text of such a number is taken unchanged.
    let text = match json {
        Json::Text(text) => text.as_ref(),
        Json::Number(text) => text,
        _ => return Err("The value must be a string in quotes.".into()),
    };
    if text.chars().any(|c| c.is_control() && !matches!(c, '\n' | '\r' | '\t')) {
        return Err("The value contains control characters; remove them.".into());
    }
    let length = if text.len() <= max as usize { text.len() } else { text.chars().count() };
    if length > max as usize {
        return Err(format!("The value has {length} characters; at most {max} are allowed."));
    }
    if min > 0 && text.chars().take(min as usize).count() < min as usize {
        return Err(if min == 1 {
            "The value must not be empty.".into()
        } else {
            format!("The value must have at least {min} characters.")
        });
    }
    if !text.is_empty() && text.chars().all(char::is_whitespace) {
        return Err("The value must not consist of white space only.".into());
    }
    write_text(out, text);
    Ok(())
}

/// Writes a descriptor's URI, if a descriptor can have it.
fn descriptor(out: &mut String, uri: &str) -> Result<(), String> {
    // Blanks around a code value do not count.
    let parts = uri.split_once('#').map(|(namespace, code)| [namespace, code.trim()]);
    let Some(parts) = parts.filter(|parts| parts.iter().all(|part| !part.trim().is_empty())) else {
        return Err("The value must be a descriptor's URI: namespace#codeValue.".into());
    };
    if uri.chars().count() > DESCRIPTOR_MAX {
        return Err(format!("The value must have at most {DESCRIPTOR_MAX} characters."));
    }
    if parts.iter().zip(URI_PARTS_MAX).any(|(part, max)| part.chars().count() > max) {
        let [namespace, code] = URI_PARTS_MAX;
        return Err(format!(
            "The namespace must have at most {namespace} characters, the code value {code}."
        ));
    }
    let [namespace, code] = parts;
    if namespace.trim() != namespace {
        return Err("The value's namespace must not begin or end with white space.".into());
    }
    if uri.chars().any(char::is_control) {
        return Err("The value contains control characters; remove them.".into());
    }
    if namespace.len() + "#".len() + code.len() == uri.len() {
        write_text(out, uri);
    } else {
        write_text(out, &format!("{namespace}#{code}"));
    }
    Ok(())
}

fn string<'j>(json: &'j Json<'_>) -> Option<&'j str> {
    if let Json::Text(text) = json { Some(text) } else { None }
}

/// Reads a boolean, also from text regardless of case, and from 0 and 1.
pub fn boolean(json: &Json<'_>) -> Option<bool> {
    let said = match json {
        Json::Boolean(value) => return Some(*value),
        Json::Number(number) => number,
        Json::Text(text) => text.trim(),
        _ => return None,
    };
    match said {
        "1" => Some(true),
        "0" => Some(false),
        _ if said.eq_ignore_ascii_case("true") => Some(true),
        _ if said.eq_ignore_ascii_case("false") => Some(false),
        _ => None,
    }
}

/// Returns whether a value is a date of which nobody can tell whether it begins with the month or
/// the day.
pub fn is_ambiguous(scalar: Scalar, json: &Json<'_>) -> bool {
    let is_date = matches!(scalar, Scalar::Date | Scalar::DateTime);
    is_date && matches!(json, Json::Text(text) if moment::is_ambiguous(text))
}

/// Whether a text has only digits, and the first of several is a zero.
fn has_zeros_in_front(text: &str) -> bool {
    text.len() > 1 && text.starts_with('0') && text.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use homeroom_model::ResourceId;

    use super::*;

    fn canonical(scalar: Scalar, sent: &str) -> Result<String, String> {
        let mut out = String::new();
        write(&mut out, scalar, &Json::read(sent.as_bytes()).unwrap()).map(|()| out)
    }

    #[test]
    fn a_byte_order_mark_is_not_part_of_a_number() {
        let int = Scalar::Integer { bits: 32, min: -5, max: 4_000_000_000 };
        let decimal = Scalar::Decimal { precision: 5, scale: 2, min: None, max: None };

        for sent in ["\"\u{feff}5\"", "\"\u{feff}5e-3\"", "\"\u{feff}5.5\""] {
            assert!(canonical(int, sent).is_err(), "{sent:?}");
            assert!(canonical(decimal, sent).is_err(), "{sent:?}");
        }
    }

    #[test]
    fn a_number_with_zeros_in_front_is_told_as_such() {
        let int = Scalar::Integer { bits: 32, min: 0, max: 4_000_000_000 };

        let told = canonical(int, "\"0255901\"").unwrap_err();
        let other = canonical(int, "\"02x\"").unwrap_err();

        assert_eq!(told, "The value must be a whole number without zeros in front.");
        assert_eq!(other, "The value must be a whole number.");
        assert_eq!(canonical(int, "\"0\"").unwrap(), "0");
    }

    #[test]
    fn values_become_canonical() {
        let int = Scalar::Integer { bits: 32, min: -5, max: 4_000_000_000 };
        let decimal = Scalar::Decimal { precision: 5, scale: 2, min: None, max: None };
        let text = Scalar::Text { min: 1, max: 5 };
        for (scalar, sent, expected) in [
            (int, "12", "12"),
            (int, "\"12\"", "12"),
            (int, "12.0", "12"),
            (int, "1.2e1", "12"),
            (int, "-0", "0"),
            (int, "0.0e9", "0"),
            (int, "-50e-1", "-5"),
            (int, "120.0e-1", "12"),
            (decimal, "1.005", "1.01"),
            (decimal, "999.994", "999.99"),
            (decimal, "\"-1.50\"", "-1.5"),
            (decimal, "1e2", "100"),
            (decimal, "0.001", "0"),
            (decimal, "0.05", "0.05"),
            (decimal, "-0.0", "0"),
            (Scalar::Boolean, "\"True\"", "true"),
            (Scalar::Boolean, "1", "true"),
            (Scalar::Boolean, "0", "false"),
            (Scalar::Boolean, "\"1\"", "true"),
            (Scalar::Boolean, "\" 0 \"", "false"),
            (Scalar::Date, "\"8/1/2026\"", "\"2026-08-01\""),
            (Scalar::Date, "\"2026/8/1\"", "\"2026-08-01\""),
            (Scalar::Date, "\"2026/08/01 00:00\"", "\"2026-08-01\""),
            (Scalar::Date, "\"12/31/2026 12:00:00 AM\"", "\"2026-12-31\""),
            (Scalar::Date, "\" 2026-08-01 \"", "\"2026-08-01\""),
            (Scalar::Date, "\"2024-02-29\"", "\"2024-02-29\""),
            (Scalar::Date, "\"2026-08-01T00:00:00Z\"", "\"2026-08-01\""),
            (Scalar::DateTime, "\"2026-08-01\"", "\"2026-08-01T00:00:00Z\""),
            (Scalar::DateTime, "\"2026-08-01T23:30:00-05:00\"", "\"2026-08-02T04:30:00Z\""),
            (Scalar::DateTime, "\"2026-08-01 08:30:15.1200\"", "\"2026-08-01T08:30:15.12Z\""),
            (Scalar::DateTime, "\"2026/8/1\"", "\"2026-08-01T00:00:00Z\""),
            (Scalar::DateTime, "\"8/1/2026  8:30 PM\"", "\"2026-08-01T20:30:00Z\""),
            (Scalar::DateTime, "\"8/1/2026 8:30:15\"", "\"2026-08-01T08:30:15Z\""),
            (Scalar::DateTime, "\"8/1/2026 12:30:00am\"", "\"2026-08-01T00:30:00Z\""),
            (Scalar::DateTime, "\"8/1/2026 12:30 PM -05:00\"", "\"2026-08-01T17:30:00Z\""),
            (Scalar::DateTime, "\"2026-08-01T08:30:00 PM Z\"", "\"2026-08-01T20:30:00Z\""),
            (Scalar::Time, "\"08:30\"", "\"08:30:00\""),
            (Scalar::Time, "\"8:30\"", "\"08:30:00\""),
            (Scalar::Time, "\"8:30:05 pm\"", "\"20:30:05\""),
            (Scalar::Time, "\"12:05 AM\"", "\"00:05:00\""),
            (Scalar::Descriptor(ResourceId(0)), "\"uri://x#A b \"", "\"uri://x#A b\""),
            (Scalar::Descriptor(ResourceId(0)), "\"uri://x# A b\"", "\"uri://x#A b\""),
            (text, "60482", "\"60482\""),
            (text, "\"ä\\u00e4bcd\"", "\"ääbcd\""),
        ] {
            assert_eq!(canonical(scalar, sent).as_deref(), Ok(expected), "{sent}");
        }
    }

    #[test]
    fn values_out_of_bounds_are_refused() {
        let int = Scalar::Integer { bits: 32, min: 1, max: 8 };
        let decimal = Scalar::Decimal { precision: 5, scale: 2, min: Some(0.0), max: None };
        let text = Scalar::Text { min: 1, max: 5 };
        for (scalar, sent) in [
            (int, "9"),
            (int, "1.5"),
            (int, "\"x\""),
            (int, "1e400"),
            (int, "2.6e-42"),
            (int, "1.000000000000000000001"),
            (int, "true"),
            (decimal, "1000"),
            (decimal, "999.995"),
            (decimal, "-1"),
            (Scalar::Boolean, "2"),
            (Scalar::Boolean, "-1"),
            (Scalar::Boolean, "1.0"),
            (Scalar::Boolean, "\"yes\""),
            (Scalar::Boolean, "\"\""),
            (Scalar::Date, "\"2026-02-29\""),
            (Scalar::Date, "\"2026-13-01\""),
            (Scalar::Date, "\"01.02.2026\""),
            (Scalar::DateTime, "\"2026-08-01T25:00:00\""),
            (Scalar::Date, "\"13/1/2026\""),
            (Scalar::Date, "\"2026/13/1\""),
            (Scalar::Date, "\"8/1/26\""),
            (Scalar::Date, "\"8/1/2026/1\""),
            (Scalar::Date, "\"2026-8-1\""),
            (Scalar::DateTime, "\"8/1/2026 13:00 PM\""),
            (Scalar::DateTime, "\"8/1/2026 0:30 PM\""),
            (Scalar::DateTime, "\"8/1/2026 8 PM\""),
            (Scalar::DateTime, "\"8/1/2026 8:30 XM\""),
            (Scalar::DateTime, "\"2026-08-01T\""),
            (Scalar::Time, "\"8\""),
            (Scalar::Time, "\"8:3\""),
            (Scalar::Time, "\"24:00\""),
            (Scalar::Time, "\"008:30\""),
            (Scalar::Descriptor(ResourceId(0)), "\" uri://x#A\""),
            (Scalar::Descriptor(ResourceId(0)), "\"uri://x #A\""),
            (Scalar::Descriptor(ResourceId(0)), "\"uri://x# \""),
            (text, "\"abcdef\""),
            (text, "\"\""),
            (text, "\"  \""),
            (text, "\"a\\u0000\""),
            (text, "true"),
            (text, "[5]"),
        ] {
            assert!(canonical(scalar, sent).is_err(), "{sent}");
        }
    }
}
