//! The jobs of a store, as all its users share them.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use homeroom_store::{Plan, Sql, Store, StoreError};
use tokio::sync::Notify;

use crate::error::JobError;
use crate::job::{Job, JobId};
use crate::limits::Limits;
use crate::{row, sql};

/// The jobs of a store; clones share them.
#[derive(Debug, Clone)]
pub struct Jobs {
    pub(crate) store: Store,
    pub(crate) limits: Limits,
    pub(crate) signals: Arc<Signals>,
}

/// What users of jobs tell the runner of this process, and what they count.
#[derive(Debug, Default)]
pub(crate) struct Signals {
    /// A job was queued.
    pub(crate) queued: Notify,
    /// A running job was cancelled.
    pub(crate) cancelled: Notify,
    /// Jobs that were refused because too many are waiting.
    pub(crate) refused_full: AtomicU64,
    /// Jobs that were refused because a value was too large.
    pub(crate) refused_large: AtomicU64,
}

impl Jobs {
    /// Returns the jobs of a store.
    pub fn new(store: Store, limits: Limits) -> Self {
        Self { store, limits, signals: Arc::default() }
    }

    /// Returns the store that keeps the jobs.
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// Returns the limits of jobs.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Tells the runner of this process that jobs were queued in a plan of another part. Without it
    /// they begin a little later.
    pub fn wake(&self) {
        self.signals.queued.notify_one();
    }

    /// Finds a job.
    ///
    /// # Errors
    ///
    /// The store's own.
    pub async fn find(&self, id: JobId) -> Result<Option<Job>, StoreError> {
        let rows = self.store.look_up(Sql::new(sql::FIND, vec![id.to_string().into()])).await?;
        rows.first().map(|row| row::job(row)).transpose()
    }

    /// Counts a refusal.
    pub(crate) fn note<T>(&self, done: Result<T, JobError>) -> Result<T, JobError> {
        let count = match &done {
            Err(JobError::Full { .. }) => &self.signals.refused_full,
            Err(JobError::TooLarge { .. }) => &self.signals.refused_large,
            _ => return done,
        };
        count.fetch_add(1, Ordering::Relaxed);
        done
    }

    /// Runs a plan of this crate, in the lane of jobs.
    pub(crate) async fn run<D>(&self, plan: Plan<D>) -> Result<D::Done, JobError>
    where
        D: homeroom_store::Decide<Refusal = JobError>,
    {
        Ok(self.store.run_in(row::LANE, plan).await?.value)
    }
}
