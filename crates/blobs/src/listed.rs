//! From where on a sweep has to list a bucket.
//!
//! Ids grow with time. A blob that has a row when the grace period is over is removed only with that row, so a
//! sweep need not look at it again: it begins where the one before it ended. Once a day, and first of all, it
//! lists everything: uploads may have taken long, and a restore puts old blobs back.

use std::sync::{Mutex, PoisonError};

use homeroom_store::{ChangedAt, Uuid};

use crate::blob::BlobId;

/// The time between two lists of everything, in microseconds.
const WHOLE_US: i64 = 86_400_000_000;
/// Longest time that uploads usually take, in microseconds, and that clocks differ by.
const LONG_US: i64 = 3_600_000_000;

/// How far a bucket has been listed by this process.
#[derive(Debug, Default)]
pub(crate) struct ListedTo(Mutex<Option<Done>>);

#[derive(Debug, Clone, Copy)]
struct Done {
    /// The moment of the last list of everything.
    whole: ChangedAt,
    /// What is older than this has been looked at.
    to: ChangedAt,
}

impl ListedTo {
    /// Returns the first blob to list; [`None`] for all.
    pub(crate) fn first(&self, now: ChangedAt) -> Option<BlobId> {
        let done = (*self.lock())?;
        let is_due = now.0.saturating_sub(done.whole.0) >= WHOLE_US;
        let milliseconds = u64::try_from(done.to.0.saturating_sub(LONG_US) / 1_000).unwrap_or(0);
        let mut id = [0; 16];
        // Source: RFC 9562 §5.7, UUIDv7: the first 48 bits are milliseconds.
        id[..6].copy_from_slice(&milliseconds.to_be_bytes()[2..]);
        (!is_due).then_some(BlobId(Uuid(id)))
    }

    /// Notes that all was listed from `first` on, and everything older than `to` was looked at.
    pub(crate) fn done(&self, first: Option<BlobId>, to: ChangedAt, now: ChangedAt) {
        let mut done = self.lock();
        let whole = done.filter(|_| first.is_some()).map_or(now, |done| done.whole);
        *done = Some(Done { whole, to });
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Option<Done>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sweep_begins_where_the_last_one_ended_and_once_a_day_at_the_beginning() {
        let listed = ListedTo::default();
        let now = ChangedAt(1_700_000_000_000_000);
        let later = |hours: i64| ChangedAt(now.0 + hours * LONG_US);

        assert_eq!(listed.first(now), None);
        listed.done(None, now, now);
        let first = listed.first(later(2)).expect("everything was listed two hours ago");
        // An hour before what was looked at, in milliseconds.
        assert_eq!(first.to_string()[..12], format!("{:012x}", 1_700_000_000_000_u64 - 3_600_000));
        listed.done(Some(first), later(2), later(2));

        let next = listed.first(later(3)).expect("everything was listed three hours ago");
        assert_eq!(next.to_string()[..12], format!("{:012x}", 1_700_000_000_000_u64 + 3_600_000));
        assert_eq!(listed.first(later(24)), None);
    }
}
