//! The time of work that no request brings.
#![expect(clippy::disallowed_methods, reason = "a job and a command get their moment here")]

use homeroom_store::ChangedAt;

/// Returns the current time in microseconds.
pub(crate) fn now() -> i64 {
    ChangedAt::now().0
}
