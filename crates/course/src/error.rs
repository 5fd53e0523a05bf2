//! Why a request is refused.

use homeroom_access::{SEND_AGAIN, store_problem};
use homeroom_blobs::BlobError;
use homeroom_http::{Kind, Problem};
use homeroom_jobs::JobError;
use homeroom_store::{Refused, StoreError};

use crate::shown::shown;

/// Why something was not done.
#[derive(Debug, Clone, thiserror::Error)]
pub enum Error {
    /// There is no such thing.
    #[error("there is no {0}")]
    Unknown(String),
    /// What was sent cannot be used.
    #[error("{0}")]
    Invalid(String),
    /// What is there contradicts what was sent.
    #[error("{0}")]
    Conflict(String),
    /// It was there, and has ended for good.
    #[error("{0}")]
    Ended(String),
    /// It is not known any more whether this was saved.
    #[error("{0}")]
    Forgotten(String),
    /// A sweep has not yet prepared what an older version has saved.
    #[error("what an older version has saved is still being prepared")]
    BeingPrepared,
    /// A row has something else in it than this part writes.
    #[error("a row of {0} cannot be read")]
    Damaged(String),
    /// The body is too large.
    #[error("{0}")]
    TooLarge(String),
    /// This is not offered.
    #[error("{0}")]
    NotOffered(String),
    /// The body was refused while it arrived.
    #[error("the request could not be read")]
    Body(Problem),
    /// Jobs failed.
    #[error(transparent)]
    Job(#[from] JobError),
    /// Blobs failed.
    #[error(transparent)]
    Blob(#[from] BlobError),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Error {
    /// Creates the error for a course that is not there.
    pub(crate) fn no_course(id: &str) -> Self {
        Self::Unknown(format!("course {}", shown(id)))
    }

    /// Creates the error for a version of a course that is not there.
    pub(crate) fn no_version(course: &str, version: i64) -> Self {
        Self::Unknown(format!("version {version} of course {}", shown(course)))
    }

    /// Creates the error for an instance of a registration that is not there.
    pub(crate) fn no_instance(id: &str, instance: i64) -> Self {
        Self::Unknown(format!("instance {instance} of registration {}", shown(id)))
    }

    /// Creates the error for a registration that is not there.
    pub(crate) fn no_registration(id: &str) -> Self {
        Self::Unknown(format!("registration {}", shown(id)))
    }

    /// Creates the error for a row that cannot be read.
    pub(crate) fn damaged(what: &str) -> Self {
        Self::Damaged(what.to_owned())
    }
}

impl From<Refused<Error>> for Error {
    fn from(refused: Refused<Self>) -> Self {
        match refused {
            Refused::Decision(error) => error,
            Refused::Store(error) => Self::Store(error),
        }
    }
}

impl From<Problem> for Error {
    fn from(problem: Problem) -> Self {
        Self::Body(problem)
    }
}

impl From<Error> for Problem {
    fn from(error: Error) -> Self {
        let capital = |text: String| {
            let mut letters = text.chars();
            let first = letters.next().map(|letter| letter.to_ascii_uppercase());
            format!("{}.", first.into_iter().chain(letters).collect::<String>())
        };
        match error {
            Error::Unknown(_) => Self::of(Kind::NotFound).detail(capital(error.to_string())),
            Error::Invalid(message) => Self::of(Kind::BadRequest).detail(capital(message)),
            Error::Conflict(message) => Self::of(Kind::NonUniqueIdentity).detail(capital(message)),
            Error::Ended(message) => Self::of(Kind::Gone).detail(capital(message)),
            Error::Forgotten(message) => Self::of(Kind::SessionForgotten).detail(capital(message)),
            Error::BeingPrepared => Self::busy(10).detail(capital(error.to_string())),
            Error::TooLarge(message) => Self::of(Kind::PayloadTooLarge).detail(capital(message)),
            Error::NotOffered(message) => Self::of(Kind::NotImplemented).detail(capital(message)),
            Error::Body(problem) => problem,
            Error::Job(JobError::Full { .. }) => Self::busy(30)
                .budget("jobs")
                .detail("Too many jobs are waiting (budget jobs); try again when some are done."),
            Error::Job(JobError::Store(error)) | Error::Store(error) => {
                store_problem(error, SEND_AGAIN)
            }
            Error::Job(other) => Self::internal(other),
            Error::Damaged(_) => Self::internal(error),
            Error::Blob(error) => of_blob(error),
        }
    }
}

fn of_blob(error: BlobError) -> Problem {
    match error {
        BlobError::TooLarge { bytes_max } => Problem::of(Kind::PayloadTooLarge)
            .detail(format!("The file is larger than the {bytes_max} bytes allowed here.")),
        BlobError::DiskFull(_) => {
            Problem::busy(30).detail("The server's disk is full; nothing was kept.")
        }
        BlobError::Bucket { is_passing: true, .. } => {
            let mut busy = Problem::busy(10)
                .detail("The server cannot use the store of its files at the moment.");
            busy.internal = Some(error.to_string());
            busy
        }
        BlobError::Store(error) => store_problem(error, SEND_AGAIN),
        BlobError::Late(_) => Problem::busy(1).detail("The upload took too long; send it again."),
        // Somebody has to mend this first; trying again is of no use.
        other @ (BlobError::Bucket { is_passing: false, .. }
        | BlobError::Failed { .. }
        | BlobError::Foreign(_)
        | BlobError::NotHandedOver(_)
        | BlobError::Unknown(_)
        | BlobError::Damaged { .. }) => Problem::internal(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bucket(is_passing: bool) -> BlobError {
        let (place, why) = ("s3://bucket".to_owned(), "of a reason".to_owned());
        BlobError::Bucket { doing: "read a blob of", place, why, mend: "mend it", is_passing }
    }

    #[test]
    fn only_what_passes_is_to_be_tried_again() {
        for (is_passing, status) in [(true, 503), (false, 500)] {
            let problem = Problem::from(Error::Blob(bucket(is_passing)));

            assert_eq!(problem.kind.status().as_u16(), status);
            let names = problem.headers.iter().map(|(name, _)| name).collect::<Vec<_>>();
            assert_eq!(names.contains(&&http::header::RETRY_AFTER), is_passing);
            assert!(problem.internal.as_ref().is_some_and(|said| said.contains("of a reason")));
        }
    }
}
