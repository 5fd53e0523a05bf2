//! A store that is a copy of another one goes on above all that the other may have given out.
//!
//! Versions are `ETags` and borders of change windows, numbers of documents stand in page tokens, ids
//! of vendors and applications in the scripts of administrators. If a store is put back to an earlier
//! state, what it gives out from then on must not be what somebody has seen before with another
//! meaning. How far the store before had come is often not known; but nobody can have counted
//! faster than [`CHANGES_PER_SECOND_MAX`]. So a copy goes on at a number that is made from the clock
//! alone: what a later copy begins at is above what an earlier one can have come to.

use std::time::{SystemTime, UNIX_EPOCH};

use crate::error::StoreError;

/// Most changes that a store makes in a second, on the average since [`BEGINNING`].
pub(crate) const CHANGES_PER_SECOND_MAX: i64 = 100_000;
/// Most ids of one kind that are given out in a day to what is managed, on the average.
const IDS_PER_DAY_MAX: i64 = 10_000;
/// The greatest version: JSON clients read numbers as doubles, which are exact up to here.
pub(crate) const VERSION_MAX: i64 = (1 << 53) - 1;
/// The greatest id of what is managed: the Admin API has 32 bits for it.
const ID_MAX: i64 = i32::MAX as i64;
/// 2020-01-01T00:00:00Z in seconds since 1970: no store is older.
const BEGINNING: i64 = 1_577_836_800;
/// Microseconds in a second.
const MICROS: i64 = 1_000_000;
/// Seconds by which a copy goes on above its own state at least, whatever the clock says.
const CLOCK_SLACK: i64 = 86_400;

/// Name of the row of `managed_last` that bounds all kinds from below.
pub(crate) const ALL_KINDS: &str = "";
/// Name of the row of `place` that a backup has.
pub(crate) const COPIED: &str = "copied";

/// How far a store has counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Counted {
    /// The greatest number of a document.
    pub(crate) number: i64,
    /// The greatest change version.
    pub(crate) change_version: i64,
    /// The version of who may call.
    pub(crate) access: i64,
    /// The greatest version of ties; 0 where they have none.
    pub(crate) ties: i64,
    /// The greatest id of what is managed.
    pub(crate) managed: i64,
}

/// Where a copy goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Raised {
    /// Numbers and versions are greater than this.
    pub(crate) version: i64,
    /// Ids of what is managed are greater than this.
    pub(crate) managed: i64,
}

impl Counted {
    /// The greater of each.
    pub(crate) fn max(self, other: Self) -> Self {
        Self {
            number: self.number.max(other.number),
            change_version: self.change_version.max(other.change_version),
            access: self.access.max(other.access),
            ties: self.ties.max(other.ties),
            managed: self.managed.max(other.managed),
        }
    }

    /// Where a store that has counted so far goes on if it is a copy; `moment` is the latest one
    /// that is known of, in microseconds since 1970.
    pub(crate) fn raised(self, moment: i64) -> Result<Raised, StoreError> {
        let since = moment.saturating_sub(BEGINNING * MICROS).max(0);
        let slack = CLOCK_SLACK * CHANGES_PER_SECOND_MAX;
        let by_clock = since / (MICROS / CHANGES_PER_SECOND_MAX) + slack;
        let own = self.number.max(self.change_version).max(self.access).max(self.ties);
        // Where the clock has gone back, what others have come to is not known any more.
        let version = if by_clock > own { by_clock } else { own.saturating_add(slack) };
        if version > VERSION_MAX / 2 {
            return Err(StoreError::Unusable(format!(
                "the store is a copy and would go on at change version {version}, and from \
                 {VERSION_MAX} on clients cannot tell versions apart; look at the machine's clock, \
                 or export its documents and load them into a new store"
            )));
        }
        let by_clock = (since / (86_400 * MICROS) + 1).saturating_mul(IDS_PER_DAY_MAX);
        let managed = by_clock.max(self.managed + IDS_PER_DAY_MAX);
        // The last ids are worth more than the distance.
        let managed = if managed > ID_MAX / 2 { self.managed } else { managed };
        Ok(Raised { version, managed })
    }
}

/// The moment, in microseconds since 1970.
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
    fn a_copy_with_a_wrong_clock_still_goes_on_above_itself() {
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
    fn ids_that_are_nearly_used_up_stay_where_they_are() {
        let all = Counted { managed: ID_MAX - 5, ..Counted::default() };

        assert_eq!(all.raised(NOW).unwrap().managed, ID_MAX - 5);
    }

    proptest! {
        /// However often a store is put back to whichever earlier state.
        #[test]
        fn no_copy_meets_what_an_earlier_one_can_have_given_out(
            steps in proptest::collection::vec((1_i64..30_000_000, 0_i64..=100, any::<bool>()), 1..20)
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
