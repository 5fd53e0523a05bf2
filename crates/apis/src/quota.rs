//! Quotas: so many calls in a minute, hour, day or month, by the calendar in UTC.

use homeroom_http::Timestamp;
use serde::de::{Deserialize, Deserializer, Error};
use serde::{Serialize, Serializer};

/// The unit of time of a quota.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Per {
    /// A minute.
    Minute,
    /// An hour.
    Hour,
    /// A day.
    Day,
    /// A month.
    Month,
}

impl Per {
    /// Returns its length in seconds; of a month, the longest.
    pub(crate) fn seconds(self) -> u64 {
        match self {
            Self::Minute => 60,
            Self::Hour => 3_600,
            Self::Day => 86_400,
            Self::Month => 31 * 86_400,
        }
    }

    /// Returns its name in files.
    pub(crate) fn name(self) -> &'static str {
        UNITS.iter().find(|(_, per)| *per == self).map_or("", |(name, _)| name)
    }
}

const UNITS: &[(&str, Per)] =
    &[("minute", Per::Minute), ("hour", Per::Hour), ("day", Per::Day), ("month", Per::Month)];

/// So many calls in each unit of time, written `10000/day`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Quota {
    /// The calls.
    pub calls: u64,
    /// The unit of time.
    pub per: Per,
}

impl Quota {
    fn read(text: &str) -> Option<Self> {
        let (calls, unit) = text.split_once('/')?;
        let per = UNITS.iter().find(|(name, _)| *name == unit.trim())?.1;
        Some(Self { calls: calls.trim().parse().ok().filter(|calls| *calls > 0)?, per })
    }
}

impl<'de> Deserialize<'de> for Quota {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = String::deserialize(from)?;
        Self::read(&text).ok_or_else(|| {
            D::Error::custom(format!(
                "`{text}` is no quota; write 1000/minute, 1000/hour, 1000/day or 1000/month"
            ))
        })
    }
}

impl Serialize for Quota {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&format!("{}/{}", self.calls, self.per.name()))
    }
}

/// Returns when the unit of time that contains a moment begins and ends, in microseconds.
pub(crate) fn unit_of(per: Per, now: Timestamp) -> (i64, i64) {
    const SECOND: i64 = 1_000_000;
    let seconds = match per {
        Per::Month => {
            let (year, month) = month_of(now.0.div_euclid(86_400 * SECOND));
            let next = if month == 12 { (year + 1, 1) } else { (year, month + 1) };
            let moment = |(year, month)| days_before(year, month) * 86_400 * SECOND;
            return (moment((year, month)), moment(next));
        }
        per => per.seconds().cast_signed(),
    };
    let begin = now.0.div_euclid(seconds * SECOND) * seconds * SECOND;
    (begin, begin + seconds * SECOND)
}

/// Returns the days from 1970-01-01 to the first of a month of the Gregorian calendar.
fn days_before(year: i64, month: i64) -> i64 {
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let of_years = year * 365 + year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400);
    of_years + (month * 153 + 2) / 5 - 719_468
}

/// Returns year and month of a day, counted from 1970-01-01.
fn month_of(day: i64) -> (i64, i64) {
    let mut year = 1970 + day.div_euclid(366);
    while days_before(year + 1, 1) <= day {
        year += 1;
    }
    let month = (1..=12).rev().find(|month| days_before(year, *month) <= day).unwrap_or(1);
    (year, month)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOON: Timestamp = Timestamp(1_795_608_000_000_000); // 2026-11-25T12:00:00Z

    #[test]
    fn a_quota_counts_by_the_calendar() {
        assert_eq!(days_before(1970, 1), 0);
        assert_eq!(days_before(2000, 3), 11_017);
        assert_eq!(month_of(days_before(2026, 11) + 24), (2026, 11));
        assert_eq!(month_of(days_before(2027, 1) - 1), (2026, 12));
        let (begin, end) = unit_of(Per::Month, NOON);
        assert_eq!((end - begin) / 86_400_000_000, 30);
        assert_eq!(unit_of(Per::Day, NOON).1 - NOON.0, 43_200_000_000);
    }

    #[test]
    fn a_quota_is_written_as_it_is_read() {
        for text in ["10/minute", "1000/day"] {
            let quota: Quota = serde_json::from_value(text.into()).unwrap();
            assert_eq!(serde_json::to_value(quota).unwrap(), text);
        }
        for text in ["", "0/day", "10", "10/week", "-1/day"] {
            assert!(serde_json::from_value::<Quota>(text.into()).is_err(), "{text}");
        }
    }
}
