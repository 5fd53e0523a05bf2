//! What a caller is told when the store fails.

use homeroom_http::{Kind, Problem};
use homeroom_store::StoreError;

/// What a caller is to do who cannot know whether a write was stored, where the same request may be sent twice.
pub const SEND_AGAIN: &str = "Send the same request again: if it was written, nothing changes.";
/// What a caller is to do there where a second request could do the same twice.
pub const CHECK_FIRST: &str = "Check whether it was written before you try again.";

/// Returns the problem for a failure of the store. `if_unsure` is [`SEND_AGAIN`] or [`CHECK_FIRST`].
pub fn store_problem(error: StoreError, if_unsure: &str) -> Problem {
    match error {
        StoreError::Busy(busy) => Problem::busy(1).budget(busy.queue()).detail(busy.to_string()),
        StoreError::Deadline(time) => Problem::busy(5)
            .detail(format!("The read took longer than {} s and was stopped.", time.as_secs())),
        StoreError::TooLarge { bytes_max, .. } => {
            let error = format!("The answer would be larger than {} MiB.", bytes_max >> 20);
            Problem::of(Kind::ParameterValidationFailed).error(error)
        }
        StoreError::DiskFull => {
            Problem::busy(30).detail("The server's disk is full; nothing was written.")
        }
        StoreError::DiskFailed(_) => {
            Problem::busy(30).detail("The server's disk is failing; nothing was written.")
        }
        StoreError::Displaced(_) => Problem::busy(30)
            .detail("The server's store was moved or replaced; nothing was written."),
        StoreError::Unsure => Problem::busy(30)
            .detail(
                "The server's disk or database failed; it is not known whether this was written.",
            )
            .hint(if_unsure),
        StoreError::Away(_) => {
            Problem::busy(2).detail("The server cannot use its database at the moment.")
        }
        StoreError::Closed => Problem::busy(5).detail("The server is being shut down."),
        StoreError::FromTheFuture { found, known } => Problem::busy(30).detail(format!(
            "A newer Homeroom has migrated the database (schema version {found}; this server knows \
             {known}); nothing was written. Upgrade this server, too."
        )),
        StoreError::Failed(_) | StoreError::InUse(_) | StoreError::Unusable(_) => {
            Problem::internal(error)
        }
    }
}
