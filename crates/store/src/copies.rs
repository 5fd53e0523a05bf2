//! A store that is a copy of another one continues above everything that the other may have issued.
//!
//! Versions serve as `ETags` and as bounds of change windows, document numbers appear in page
//! tokens, and ids of vendors and applications in administrators' scripts. After a store has been
//! put back to an earlier state, it must not issue a number that a client has already seen with
//! another meaning. How far the replaced store had counted is often unknown, but it cannot have
//! counted faster than [`CHANGES_PER_SECOND_MAX`]. So a copy continues at a number that is derived
//! from the clock alone: a later copy starts above anything that an earlier one can have reached.
#![expect(
    clippy::disallowed_methods,
    reason = "versions of a restored store continue above the present moment"
)]

use std::time::{SystemTime, UNIX_EPOCH};

use crate::error::StoreError;

/// Most changes per second that a store makes, on average since [`BEGINNING`].
pub(crate) const CHANGES_PER_SECOND_MAX: i64 = 100_000;
/// Most ids of one kind that are issued to managed items per day, on average.
const IDS_PER_DAY_MAX: i64 = 10_000;
/// The greatest version: JSON clients read numbers as doubles, which are exact up to here.
pub(crate) const VERSION_MAX: i64 = (1 << 53) - 1;
/// The greatest id of a managed item: the Admin API has 32 bits for it.
const ID_MAX: i64 = i32::MAX as i64;
/// 2020-01-01T00:00:00Z in seconds since 1970: no store is older.
const BEGINNING: i64 = 1_577_836_800;
/// Microseconds in a second.
const MICROS: i64 = 1_000_000;
/// Seconds' worth of changes by which a copy continues above its own state at least, whatever the
/// clock says.
const CLOCK_SLACK: i64 = 86_400;

/// Name of the row of `managed_last` that is a lower bound for all kinds.
pub(crate) const ALL_KINDS: &str = "";
/// Name of the row of `place` that marks a backup.
pub(crate) const COPIED: &str = "copied";

/// How far a store's counters have come.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Counted {
    /// The greatest document number.
    pub(crate) number: i64,
    /// The greatest change version.
    pub(crate) change_version: i64,
    /// The version of clients and their rights.
    pub(crate) access: i64,
    /// The greatest version of ties; 0 where the database keeps none.
    pub(crate) ties: i64,
    /// The greatest id of a managed item.
    pub(crate) managed: i64,
}

/// Where a copy continues.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Raised {
    /// Numbers and versions are greater than this.
    pub(crate) version: i64,
    /// Ids of managed items are greater than this.
    pub(crate) managed: i64,
}

impl Counted {
    /// Returns the greater of each.
    pub(crate) fn max(self, other: Self) -> Self {
        Self {
            number: self.number.max(other.number),
            change_version: self.change_version.max(other.change_version),
            access: self.access.max(other.access),
            ties: self.ties.max(other.ties),
            managed: self.managed.max(other.managed),
        }
    }

    /// Returns where a store with these counters continues if it is a copy. `moment` is the latest
    /// known time, in microseconds since 1970.
    pub(crate) fn raised(self, moment: i64) -> Result<Raised, StoreError> {
        let since = moment.saturating_sub(BEGINNING * MICROS).max(0);
        let slack = CLOCK_SLACK * CHANGES_PER_SECOND_MAX;
        let by_clock = since / (MICROS / CHANGES_PER_SECOND_MAX) + slack;
        let own = self.number.max(self.change_version).max(self.access).max(self.ties);
        // If the clock went back, what other copies have reached is unknown.
        let version = if by_clock > own { by_clock } else { own.saturating_add(slack) };
        if version > VERSION_MAX / 2 {
            return Err(StoreError::Unusable(format!(
                "the store is a copy and would continue at change version {version}, but from \
                 {VERSION_MAX} on clients cannot tell versions apart; check the machine's clock, \
                 or export its documents and load them into a new store"
            )));
        }
        let by_clock = (since / (86_400 * MICROS) + 1).saturating_mul(IDS_PER_DAY_MAX);
        let managed = by_clock.max(self.managed + IDS_PER_DAY_MAX);
        // Keeping the last ids usable is worth more than the distance.
        let managed = if managed > ID_MAX / 2 { self.managed } else { managed };
        Ok(Raised { version, managed })
    }
}

/// Returns the current time in microseconds since 1970.
pub(crate) fn now_us() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_micros()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const NOW: i64 = 1_800_000_000_000_000;

    fn counted(version: i64) -> Counted {
        Counted { number: version / 2, change_version: version, ..Counted::default() }
    }

    #[test]
    fn a_copy_with_a_wrong_clock_still_continues_above_its_own_version() {
        for moment in [i64::MIN, 0, NOW] {
            let first = counted(7).raised(moment).unwrap().version;
            let second = counted(first).raised(moment).unwrap().version;

            let slack = CLOCK_SLACK * CHANGES_PER_SECOND_MAX;
            assert!(first >= slack, "{moment}");
            assert!(second >= first + slack, "{moment}: the clock stands still");
        }
    }

    #[test]
    fn versions_that_doubles_cannot_hold_are_refused() {
        assert!(counted(VERSION_MAX / 2).raised(NOW).is_err());
        assert!(counted(7).raised(i64::MAX).is_err());
    }

    #[test]
    fn nearly_exhausted_ids_are_not_raised() {
        let all = Counted { managed: ID_MAX - 5, ..Counted::default() };

        assert_eq!(all.raised(NOW).unwrap().managed, ID_MAX - 5);
    }

    proptest! {
        /// Holds however often a store is put back, and to whichever earlier state, as long as it
        /// changes less often than it is taken to at most: a store that has kept up with that bound
        /// for as long as it exists looks like one whose clock stands still.
        #[test]
        fn no_copy_can_reuse_a_version_of_an_earlier_copy(
            steps in proptest::collection::vec((1_i64..30_000_000, 0_i64..100, any::<bool>()), 1..20)
        ) {
            let (mut now, mut version) = (NOW, 1_000_i64);
            let first = version;
            let mut greatest = version;
            for (seconds, percent, is_from_the_first) in steps {
                now += seconds * MICROS;
                version += seconds * CHANGES_PER_SECOND_MAX / 100 * percent;
                greatest = greatest.max(version);
                let copy = if is_from_the_first { first } else { version };
                version = counted(copy).raised(now).unwrap().version;
                prop_assert!(version >= greatest, "{} {}", version, greatest);
            }
        }
    }
}
