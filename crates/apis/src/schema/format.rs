//! Formats of texts and numbers that are checked; all others say nothing.

use std::net::{Ipv4Addr, Ipv6Addr};

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::Number;

/// A format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Format {
    Int32,
    Int64,
    Date,
    DateTime,
    Time,
    Uuid,
    Email,
    Ipv4,
    Ipv6,
    Uri,
    Byte,
}

const NAMES: [(&str, Format); 11] = [
    ("int32", Format::Int32),
    ("int64", Format::Int64),
    ("date", Format::Date),
    ("date-time", Format::DateTime),
    ("time", Format::Time),
    ("uuid", Format::Uuid),
    ("email", Format::Email),
    ("ipv4", Format::Ipv4),
    ("ipv6", Format::Ipv6),
    ("uri", Format::Uri),
    ("byte", Format::Byte),
];

impl Format {
    pub(super) fn of_name(name: &str) -> Option<Self> {
        NAMES.iter().find(|(own, _)| *own == name).map(|(_, format)| *format)
    }

    pub(super) fn name(self) -> &'static str {
        NAMES.iter().find(|(_, format)| *format == self).map_or("", |(name, _)| name)
    }

    /// Returns whether a number has the format; formats of texts say nothing of numbers.
    pub(super) fn has_number(self, number: &Number) -> bool {
        match self {
            Self::Int32 => {
                let range = f64::from(i32::MIN)..=f64::from(i32::MAX);
                number.as_f64().is_some_and(|number| range.contains(&number))
            }
            Self::Int64 => {
                let is_within = |number: f64| number.abs() < 9.223_372_036_854_775e18;
                number.is_i64() || (number.is_f64() && number.as_f64().is_some_and(is_within))
            }
            _ => true,
        }
    }

    /// Returns whether a text has the format; formats of numbers say nothing of texts.
    pub(super) fn has_text(self, text: &str) -> bool {
        match self {
            Self::Int32 | Self::Int64 => true,
            Self::Date => is_date(text),
            Self::DateTime => {
                let time = text.get(10..11).filter(|t| t.eq_ignore_ascii_case("t"));
                time.is_some() && is_date(&text[..10]) && is_time(&text[11..])
            }
            Self::Time => is_time(text),
            Self::Uuid => is_uuid(text),
            Self::Email => is_email(text),
            Self::Ipv4 => text.parse::<Ipv4Addr>().is_ok(),
            Self::Ipv6 => text.parse::<Ipv6Addr>().is_ok(),
            Self::Uri => is_uri(text),
            Self::Byte => BASE64_STANDARD.decode(text).is_ok(),
        }
    }
}

fn digits(text: &str, count: usize) -> Option<u32> {
    let is_number = text.len() == count && text.bytes().all(|byte| byte.is_ascii_digit());
    if is_number { text.parse().ok() } else { None }
}

/// Source: RFC 3339 §5.6, `full-date`.
fn is_date(text: &str) -> bool {
    let parts: Vec<&str> = text.split('-').collect();
    let [year, month, day] = parts[..] else { return false };
    let (Some(year), Some(month), Some(day)) = (digits(year, 4), digits(month, 2), digits(day, 2))
    else {
        return false;
    };
    let is_leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    let days = match month {
        2 => 28 + u32::from(is_leap),
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => return false,
    };
    (1..=days).contains(&day)
}

/// Source: RFC 3339 §5.6, `full-time`.
fn is_time(text: &str) -> bool {
    let zone = text.find(['Z', 'z', '+', '-']).map(|at| text.split_at(at));
    let Some((time, zone)) = zone else { return false };
    let clock = |text: &str, parts: &[u32]| {
        let found: Vec<&str> = text.split(':').collect();
        found.len() == parts.len()
            && found.iter().zip(parts).all(|(own, most)| digits(own, 2).is_some_and(|n| n <= *most))
    };
    let (time, fraction) = time.split_once('.').unwrap_or((time, "0"));
    let is_fraction = !fraction.is_empty() && fraction.bytes().all(|byte| byte.is_ascii_digit());
    let is_zone = zone.eq_ignore_ascii_case("z") || clock(&zone[1..], &[23, 59]);
    is_fraction && is_zone && clock(time, &[23, 59, 60])
}

fn is_uuid(text: &str) -> bool {
    let is_dash = |at: usize| matches!(at, 8 | 13 | 18 | 23);
    text.len() == 36
        && text
            .bytes()
            .enumerate()
            .all(|(at, byte)| if is_dash(at) { byte == b'-' } else { byte.is_ascii_hexdigit() })
}

fn is_email(text: &str) -> bool {
    let Some((local, host)) = text.rsplit_once('@') else { return false };
    let is_label = |label: &str| {
        let is_plain = |c: char| c.is_alphanumeric() || c == '-';
        !label.is_empty() && label.chars().all(is_plain)
    };
    let is_literal = host.starts_with('[') && host.ends_with(']');
    let is_odd = |c: char| c.is_whitespace() || c.is_control();
    !local.is_empty() && !local.contains(is_odd) && (is_literal || host.split('.').all(is_label))
}

/// Source: RFC 3986 §3: a scheme, and no character that must be encoded.
fn is_uri(text: &str) -> bool {
    let Some((scheme, rest)) = text.split_once(':') else { return false };
    let is_scheme = scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme.bytes().all(|b| b.is_ascii_alphanumeric() || b"+-.".contains(&b));
    let is_plain = |b: u8| b.is_ascii_graphic() && !b"\"<>\\^`{|}".contains(&b);
    is_scheme && rest.bytes().all(is_plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_tell_what_has_them() {
        for (format, yes, no) in [
            (
                Format::Date,
                &["2024-02-29", "2026-12-31"][..],
                &["2023-02-29", "2026-13-01", "1-1-1", ""][..],
            ),
            (
                Format::DateTime,
                &["2026-11-25T12:00:00Z", "2026-11-25t12:00:00.5+01:00"],
                &["2026-11-25", "2026-11-25T12:00", "2026-11-25T25:00:00Z", "2026-11-2éT"],
            ),
            (Format::Time, &["23:59:60Z"], &["23:59Z", "23:59:59", "23:59:59.Z", "1:2:3Z"]),
            (
                Format::Uuid,
                &["0197d8f1-b434-7f0b-8a3e-7b2c5d6e7f80"],
                &["0197d8f1", "0197d8f1-b434-7f0b-8a3e-7b2c5d6e7f8g"],
            ),
            (Format::Email, &["a@b.org", "a.b+c@d"], &["a", "@b", "a@", "a b@c", "a@b..c"]),
            (Format::Ipv4, &["192.0.2.1"], &["192.0.2", "256.1.1.1"]),
            (Format::Ipv6, &["2001:db8::1"], &["2001:db8"]),
            (Format::Uri, &["https://a.org/b?c#d", "urn:a:b"], &["a", "//a", "http://a b"]),
            (Format::Byte, &["aGk=", ""], &["a", "%"]),
        ] {
            assert_eq!(Format::of_name(format.name()), Some(format));
            for text in yes {
                assert!(format.has_text(text), "{format:?} {text}");
            }
            for text in no {
                assert!(!format.has_text(text), "{format:?} {text}");
            }
        }
    }

    #[test]
    fn numbers_have_their_ranges() {
        let number = |text: &str| serde_json::from_str::<Number>(text).unwrap();

        for (format, text, has) in [
            (Format::Int32, "2147483647", true),
            (Format::Int32, "-2147483649", false),
            (Format::Int64, "9223372036854775807", true),
            (Format::Int64, "9223372036854775808", false),
            (Format::Int64, "-9223372036854775808", true),
            (Format::Int64, "1e30", false),
            (Format::Int64, "5.0", true),
            (Format::Date, "5", true),
        ] {
            assert_eq!(format.has_number(&number(text)), has, "{format:?} {text}");
        }
    }
}
