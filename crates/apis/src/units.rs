//! Durations and sizes as files write them: `10s`, `64KiB`.

use std::time::Duration;

use serde::de::{Deserialize, Deserializer, Error};
use serde::{Serialize, Serializer};

/// A duration: a number and `ms`, `s`, `m` or `h`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Time(pub Duration);

/// A number of bytes: a number alone, or with `B`, `KiB`, `MiB`, `GiB`, `kB`, `MB` or `GB`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Size(pub usize);

const TIMES: &[(&str, u64)] = &[("ms", 1), ("s", 1_000), ("m", 60_000), ("h", 3_600_000)];
const SIZES: &[(&str, u64)] = &[
    ("KiB", 1 << 10),
    ("MiB", 1 << 20),
    ("GiB", 1 << 30),
    ("KB", 1_000),
    ("kB", 1_000),
    ("MB", 1_000_000),
    ("GB", 1_000_000_000),
    ("B", 1),
];

/// Returns the number of a text in the smallest unit of a table.
fn read(text: &str, units: &[(&str, u64)]) -> Option<u64> {
    let text = text.trim();
    let (unit, factor) = units.iter().find(|(unit, _)| {
        let number = text.strip_suffix(unit);
        number.is_some_and(|number| number.trim().bytes().all(|byte| byte.is_ascii_digit()))
    })?;
    text.strip_suffix(unit)?.trim().parse::<u64>().ok()?.checked_mul(*factor)
}

/// Returns a number in the largest unit of a table that has it whole.
fn shown(number: u64, units: &[(&'static str, u64)]) -> String {
    let fits = |(_, factor): &&(&str, u64)| number >= *factor && number.is_multiple_of(*factor);
    let (unit, factor) = units.iter().filter(fits).max_by_key(|(_, f)| *f).unwrap_or(&units[0]);
    format!("{}{unit}", number / factor)
}

impl<'de> Deserialize<'de> for Time {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = String::deserialize(from)?;
        let wrong = || D::Error::custom(format!("`{text}` is no duration; write 500ms, 10s or 1m"));
        let ms = read(&text, TIMES).filter(|ms| (1..=86_400_000).contains(ms)).ok_or_else(wrong)?;
        Ok(Self(Duration::from_millis(ms)))
    }
}

impl Serialize for Time {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let ms = u64::try_from(self.0.as_millis()).unwrap_or(u64::MAX);
        to.serialize_str(&shown(ms, TIMES))
    }
}

impl<'de> Deserialize<'de> for Size {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        #[derive(serde::Deserialize)]
        #[serde(untagged)]
        enum Written {
            Number(u64),
            Text(String),
        }
        let (bytes, text) = match Written::deserialize(from)? {
            Written::Number(bytes) => (Some(bytes), bytes.to_string()),
            Written::Text(text) => (read(&text, SIZES), text),
        };
        let bytes = bytes.and_then(|bytes| usize::try_from(bytes).ok());
        bytes.map(Self).ok_or_else(|| {
            D::Error::custom(format!(
                "`{text}` is no size; write 64KiB, 10MiB or a number of bytes"
            ))
        })
    }
}

impl Serialize for Size {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        if self.0 == 0 {
            return to.serialize_u64(0);
        }
        to.serialize_str(&shown(self.0 as u64, SIZES))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_and_a_size_are_written_as_they_are_read() {
        for text in ["500ms", "10s", "2m", "1h", "1500ms"] {
            let time: Time = serde_json::from_value(text.into()).unwrap();
            assert_eq!(serde_json::to_value(time).unwrap(), text);
        }
        for text in ["64KiB", "10MiB", "1GiB", "10kB", "7B"] {
            let size: Size = serde_json::from_value(text.into()).unwrap();
            assert_eq!(serde_json::to_value(size).unwrap(), text);
        }
        assert_eq!(serde_json::from_value::<Size>(2048.into()).unwrap(), Size(2048));
        for text in ["", "10", "s", "-1s", "0s", "1 day", "99999999999999h"] {
            assert!(serde_json::from_value::<Time>(text.into()).is_err(), "{text}");
        }
        assert!(serde_json::from_value::<Size>("64 pages".into()).is_err());
    }
}
