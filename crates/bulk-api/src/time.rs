//! Moments of this part.

use std::time::Duration;

use homeroom_store::ChangedAt;

/// Returns the moment a while after another.
pub(crate) fn after(now: ChangedAt, while_: Duration) -> ChangedAt {
    let micros = i64::try_from(while_.as_micros()).unwrap_or(i64::MAX);
    ChangedAt(now.0.saturating_add(micros))
}
