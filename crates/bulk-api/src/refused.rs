//! What a caller is told when the store, a job or a blob fails.

use homeroom_access::{CHECK_FIRST, store_problem};
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
    // Whoever creates an operation again has two of them.
    store_problem(error, CHECK_FIRST)
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
        BlobError::Bucket { is_passing: true, .. } => {
            let mut busy = Problem::busy(10)
                .detail("The server cannot use the store of its files at the moment.");
            busy.internal = Some(error.to_string());
            busy
        }
        BlobError::Store(error) => of_store(error),
        // Somebody has to mend this first; trying again is of no use.
        BlobError::Bucket { is_passing: false, .. }
        | BlobError::TooLarge { .. }
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

#[cfg(test)]
mod tests {
    use super::*;

    fn bucket(is_passing: bool) -> BlobError {
        let (place, why) = ("s3://bucket".to_owned(), "of a reason".to_owned());
        BlobError::Bucket { doing: "read a blob of", place, why, mend: "mend it", is_passing }
    }

    #[test]
    fn whoever_cannot_know_whether_an_operation_was_created_looks_first() {
        let problem = of_store(StoreError::Unsure);

        assert_eq!(problem.hint.as_deref(), Some(CHECK_FIRST));
    }

    #[test]
    fn only_what_passes_is_to_be_tried_again() {
        for (is_passing, status) in [(true, 503), (false, 500)] {
            let problem = of_blob(bucket(is_passing));

            assert_eq!(problem.kind.status().as_u16(), status);
            let names = problem.headers.iter().map(|(name, _)| name).collect::<Vec<_>>();
            assert_eq!(names.contains(&&http::header::RETRY_AFTER), is_passing);
            assert!(problem.internal.as_ref().is_some_and(|said| said.contains("of a reason")));
        }
    }
}
