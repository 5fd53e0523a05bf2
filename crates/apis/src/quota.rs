//! Quotas: so many calls in a minute, hour, day or month, by the calendar in UTC.

use std::collections::HashMap;

use homeroom_gateway::Shards;
use homeroom_http::Timestamp;
use serde::de::{Deserialize, Deserializer, Error};
use serde::{Serialize, Serializer};

/// Number of keys in a shard from which those of an earlier time are forgotten.
const SWEEP_MIN: usize = 1_024;
/// Most keys in a shard; beyond it, those that have called least are forgotten.
const KEYS_MAX: usize = 65_536;

/// The unit of time of a quota.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
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
        let unit = UNITS.iter().find(|(_, per)| *per == self.per).map_or("", |(name, _)| name);
        to.serialize_str(&format!("{}/{unit}", self.calls))
    }
}

/// The calls of each key in the present unit of time. They are counted in memory, by each node.
#[derive(Debug)]
pub(crate) struct Counts {
    per: Per,
    shards: Shards<Shard>,
}

#[derive(Debug, Default)]
struct Shard {
    /// When the unit of time began, and the calls since then, by key.
    counts: HashMap<String, (i64, u64)>,
    sweep_at: usize,
}

impl Shard {
    /// Makes room for another key: forgets those of an earlier time, and beyond `most` the half that has
    /// called least, which loses least by it.
    fn make_room(&mut self, begin: i64, most: usize) {
        if self.counts.len() < self.sweep_at.max(SWEEP_MIN.min(most)) {
            return;
        }
        self.counts.retain(|_, (begun, _)| *begun == begin);
        if self.counts.len() >= most {
            let mut calls: Vec<u64> = self.counts.values().map(|(_, calls)| *calls).collect();
            let middle = calls.len() / 2;
            let (_, middle, _) = calls.select_nth_unstable(middle);
            self.counts.retain(|_, (_, calls)| *calls > *middle);
        }
        self.sweep_at = (self.counts.len() * 2).min(most);
    }
}

impl Counts {
    pub(crate) fn new(per: Per) -> Self {
        Self { per, shards: Shards::default() }
    }

    /// Counts a call of a key that has so many in a unit of time. Returns how many are left, and the seconds
    /// until all are there again.
    ///
    /// # Errors
    ///
    /// Those seconds, where none is left.
    pub(crate) fn admit(&self, calls: u64, key: &str, now: Timestamp) -> Result<(u64, u64), u64> {
        let (begin, end) = unit_of(self.per, now);
        let seconds = (end - now.0).max(1).unsigned_abs().div_ceil(1_000_000);
        let mut shard = self.shards.of(key);
        let Some(count) = shard.counts.get_mut(key) else {
            shard.make_room(begin, KEYS_MAX);
            shard.counts.insert(key.to_owned(), (begin, 1));
            return Ok((calls - 1, seconds));
        };
        if count.0 != begin {
            *count = (begin, 0);
        }
        if count.1 >= calls {
            return Err(seconds);
        }
        count.1 += 1;
        Ok((calls - count.1, seconds))
    }

    /// Takes back a call that was refused otherwise.
    pub(crate) fn give_back(&self, key: &str) {
        if let Some((_, count)) = self.shards.of(key).counts.get_mut(key) {
            *count = count.saturating_sub(1);
        }
    }
}

/// Returns when the unit of time that contains a moment begins and ends, in microseconds.
fn unit_of(per: Per, now: Timestamp) -> (i64, i64) {
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
    fn calls_beyond_a_quota_wait_for_the_next_unit_of_time() {
        let counts = Counts::new(Per::Day);
        let admit = |key, now| counts.admit(2, key, now);

        assert_eq!(admit("a", NOON), Ok((1, 43_200)));
        assert_eq!(admit("a", NOON), Ok((0, 43_200)));
        assert_eq!(admit("a", NOON), Err(43_200));
        assert_eq!(admit("b", NOON), Ok((1, 43_200)));
        counts.give_back("a");
        assert_eq!(admit("a", NOON), Ok((0, 43_200)));
        assert_eq!(admit("a", NOON.plus_seconds(43_200)), Ok((1, 86_400)));
    }

    #[test]
    fn of_too_many_callers_those_who_have_called_least_are_forgotten() {
        let mut shard = Shard::default();
        for number in 0..99 {
            shard.make_room(0, 100);
            shard.counts.insert(number.to_string(), (0, if number < 20 { 5 } else { 1 }));
        }
        shard.counts.insert("of yesterday".into(), (-1, 9));

        shard.make_room(0, 100);
        let without_the_old = shard.counts.len();
        shard.counts.insert("new".into(), (0, 1));
        shard.make_room(0, 100);

        assert_eq!(without_the_old, 99);
        assert_eq!(shard.counts.len(), 20, "those who have called more than once");
        for number in 0..10_000 {
            shard.make_room(0, 100);
            shard.counts.insert(format!("x{number}"), (0, 1));
            assert!(shard.counts.len() <= 100 && shard.counts.contains_key("7"));
        }
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
