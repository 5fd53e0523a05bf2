//! Durations as people write them.

use std::fmt;
use std::time::Duration;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A duration such as `250ms`, `5s`, `2m` or `1h`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HumanDuration(pub Duration);

impl HumanDuration {
    /// Returns a duration of whole seconds.
    pub const fn from_secs(seconds: u64) -> Self {
        Self(Duration::from_secs(seconds))
    }

    fn read(text: &str) -> Option<Self> {
        let at = text.find(|c: char| !c.is_ascii_digit())?;
        let number: u64 = text[..at].parse().ok()?;
        let millis = match &text[at..] {
            "ms" => 1,
            "s" => 1_000,
            "m" => 60_000,
            "h" => 3_600_000,
            _ => return None,
        };
        Some(Self(Duration::from_millis(number.checked_mul(millis)?)))
    }
}

impl std::str::FromStr for HumanDuration {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::read(text)
            .ok_or_else(|| format!("`{text}` is not a duration; write 250ms, 5s, 2m or 1h"))
    }
}

impl fmt::Display for HumanDuration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.as_millis() {
            millis if millis % 1_000 != 0 => write!(f, "{millis}ms"),
            millis => write!(f, "{}s", millis / 1_000),
        }
    }
}

impl Serialize for HumanDuration {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for HumanDuration {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_read_as_people_write_them() {
        for (text, millis) in [("250ms", 250), ("5s", 5_000), ("2m", 120_000), ("1h", 3_600_000)] {
            assert_eq!(HumanDuration::read(text).unwrap().0.as_millis(), millis);
        }
        for text in ["5", "s", "-1s", "5 s", "99999999999999999999s"] {
            assert_eq!(HumanDuration::read(text), None, "{text}");
        }
    }
}
