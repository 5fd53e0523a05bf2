//! The writer of a direct load: runs the jobs that arrive, commits, and completes the store.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use rusqlite::Connection;

use super::complete::complete_with;
use super::journal::close;
use super::pace::Pace;
use super::tables::{Statements, Tables};
use crate::error::StoreError;
use crate::queue::Arrivals;
use crate::store::Job;

/// Most bytes of text between two commits.
const COMMIT_BYTES: usize = 64 << 20;

/// The state of a direct load.
pub(super) struct Worker {
    connection: Connection,
    tables: Tables,
    jobs: u64,
    pace: Arc<Pace>,
    /// Why nothing more is written.
    failed: Option<StoreError>,
}

impl Worker {
    /// Begins with what is in the store, which has little yet. `last` are its last number and
    /// change version.
    pub(super) fn new(
        connection: Connection,
        last: (i64, i64),
        pace: Arc<Pace>,
    ) -> Result<Self, StoreError> {
        let tables = Tables::read(&connection, last)?;
        Ok(Self { connection, tables, jobs: 0, pace, failed: None })
    }

    /// Runs the jobs that arrive until all senders are gone, then completes the store.
    pub(super) fn work(
        mut self,
        arrivals: &Arrivals,
        waiting: &AtomicUsize,
    ) -> Result<(), StoreError> {
        while let Some(mut job) = arrivals.next() {
            let run = AssertUnwindSafe(|| self.run(&mut *job));
            let ran = catch_unwind(run)
                .unwrap_or_else(|_| Err(StoreError::Failed("a plan panicked".into())));
            if let Err(error) = &ran {
                self.fail(error);
            }
            waiting.fetch_sub(1, Ordering::Relaxed);
            job.answer(ran);
        }
        self.finish()
    }

    /// Runs the plans of a job. After an error, nothing more is written.
    fn run(&mut self, job: &mut dyn Job) -> Result<(), StoreError> {
        if let Some(error) = &self.failed {
            return Err(error.clone());
        }
        if self.connection.is_autocommit() {
            self.connection.execute_batch("BEGIN IMMEDIATE")?;
        }
        let mut statements = Statements::new(&self.connection)?;
        for plan in 0..job.count() {
            self.tables.run(&self.connection, &mut statements, job, plan)?;
        }
        drop(statements);
        self.jobs += 1;
        let (documents, bytes) = self.tables.uncommitted;
        let commit_after = self.pace.commit_after.load(Ordering::Relaxed);
        if documents >= commit_after || bytes >= COMMIT_BYTES { self.commit() } else { Ok(()) }
    }

    fn commit(&mut self) -> Result<(), StoreError> {
        if !self.connection.is_autocommit() {
            self.tables.write_counts(&self.connection)?;
            self.connection.execute_batch("COMMIT")?;
        }
        self.pace.durable.store(self.jobs, Ordering::Release);
        Ok(())
    }

    fn fail(&mut self, error: &StoreError) {
        tracing::error!(%error, "the direct load cannot go on");
        if !self.connection.is_autocommit() {
            _ = self.connection.execute_batch("ROLLBACK");
        }
        self.failed.get_or_insert_with(|| error.clone());
    }

    /// Completes the store with what is committed, whether or not everything could be written.
    fn finish(mut self) -> Result<(), StoreError> {
        if self.failed.is_none()
            && let Err(error) = self.commit()
        {
            self.fail(&error);
        }
        let Self { connection, tables, failed, .. } = self;
        let edges = tables.into_edges().filter(|_| failed.is_none());
        complete_with(&connection, edges)?;
        close(connection)?;
        failed.map_or(Ok(()), Err)
    }
}
