//! What a caller is told when the store, a job or a blob fails.

use homeroom_blobs::BlobError;
use homeroom_http::{Kind, Problem};
use homeroom_jobs::JobError;
use homeroom_store::{Refused, StoreError};
use http::{HeaderValue, header};

/// Returns the problem for a plan that was not carried out.
pub(crate) fn of_plan(refused: Refused<Problem>) -> Problem {
    match refused {
        Refused::Decision(problem) => problem,
        Refused::Store(error) => of_store(error),
    }
}

/// Returns the problem for a failure of the store.
pub(crate) fn of_store(error: StoreError) -> Problem {
    match error {
        StoreError::Busy(busy) => Problem::busy(1).budget(busy.queue()).detail(busy.to_string()),
        StoreError::Deadline(_) | StoreError::Closed => Problem::busy(5),
        StoreError::Away(_) => {
            Problem::busy(2).detail("The server cannot use its database at the moment.")
        }
        StoreError::DiskFull
        | StoreError::DiskFailed(_)
        | StoreError::Displaced(_)
        | StoreError::FromTheFuture { .. } => {
            Problem::busy(30).detail("The server's store takes no writes at the moment.")
        }
        StoreError::Unsure => Problem::busy(30)
            .detail("The server's disk or database failed; it is not known whether this was done.")
            .hint("Send the same request again."),
        StoreError::TooLarge { .. }
        | StoreError::Failed(_)
        | StoreError::InUse(_)
        | StoreError::Unusable(_) => Problem::internal(error),
    }
}

/// Returns the problem for a failure of the jobs.
pub(crate) fn of_job(error: JobError) -> Problem {
    match error {
        JobError::Full { .. } => too_many(error.to_string()).budget("jobs"),
        JobError::Store(error) => of_store(error),
        JobError::TooLarge { .. } | JobError::Unknown(_) | JobError::Unfit { .. } => {
            Problem::internal(error)
        }
    }
}

/// Returns the problem for a failure of the blobs.
pub(crate) fn of_blob(error: BlobError) -> Problem {
    match error {
        BlobError::DiskFull(_) => {
            Problem::busy(30).detail("The server's disk is full; nothing was kept of this.")
        }
        BlobError::Bucket { .. } => {
            let mut busy = Problem::busy(10)
                .detail("The server cannot use the store of its files at the moment.");
            busy.internal = Some(error.to_string());
            busy
        }
        BlobError::Store(error) => of_store(error),
        BlobError::TooLarge { .. }
        | BlobError::Failed { .. }
        | BlobError::Foreign(_)
        | BlobError::NotHandedOver(_)
        | BlobError::Unknown(_)
        | BlobError::Damaged { .. }
        | BlobError::Late(_) => Problem::internal(error),
    }
}

/// Refuses more than a key may have.
pub(crate) fn too_many(detail: String) -> Problem {
    Problem::of(Kind::TooManyRequests)
        .detail(detail)
        .hint("Wait until operations have ended, or upload fewer files at a time.")
        .header(header::RETRY_AFTER, HeaderValue::from_static("60"))
}

/// Refuses a request that is not as it must be.
pub(crate) fn bad(error: impl Into<String>) -> Problem {
    Problem::of(Kind::BadRequest).error(error)
}

/// Answers for an operation or a file that is not there, or another key's.
pub(crate) fn not_found() -> Problem {
    Problem::of(Kind::NotFound).detail("There is no such bulk operation or file of this key.")
}
