//! Errors of jobs.

use homeroom_store::{Refused, StoreError};

use crate::job::{JobId, State};

/// Why a job was not queued, found or changed. Nothing was done.
#[derive(Debug, Clone, thiserror::Error)]
pub enum JobError {
    /// Too many jobs are waiting.
    #[error(
        "{waiting} jobs of {whose} are waiting, and that is the most (budget jobs); wait until some are \
         done"
    )]
    Full {
        /// Whose jobs are counted.
        whose: &'static str,
        /// The number of jobs that are waiting.
        waiting: u64,
    },
    /// A value has too many bytes.
    #[error("the {what} of a job has {bytes} bytes, and {bytes_max} is the most")]
    TooLarge {
        /// The value that is too large.
        what: &'static str,
        /// Its bytes.
        bytes: usize,
        /// The most that it may have.
        bytes_max: usize,
    },
    /// There is no such job.
    #[error("there is no job {0}; homeroom jobs list shows those that are kept")]
    Unknown(JobId),
    /// The job's state does not permit what was asked.
    #[error("the job {id} is {}; {mend}", state.name())]
    Unfit {
        /// The job.
        id: JobId,
        /// Its state.
        state: State,
        /// What is possible instead.
        mend: &'static str,
    },
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<Refused<JobError>> for JobError {
    fn from(refused: Refused<JobError>) -> Self {
        match refused {
            Refused::Decision(error) => error,
            Refused::Store(error) => Self::Store(error),
        }
    }
}
