//! The single writer of a node: takes the jobs that have arrived, runs them in one transaction, and
//! answers when the commit is on disk.
//!
//! If one plan's fault fails a transaction, its halves are run separately, and so on, until that
//! plan is alone with its error. If another transaction or a lost connection fails it, it is run
//! again.
#![expect(clippy::disallowed_methods, reason = "a group is tried again until its deadline")]

mod ask;
mod batch;
mod commit;
mod group;
mod hold;
mod prepared;
mod statement;
mod together;
mod touch;

use std::num::NonZeroU32;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use tokio::runtime::Runtime;

use crate::commits::{Commits, Phase};
use crate::copies::Counted;
use crate::error::StoreError;
use crate::id::Uuid;
use crate::lane::Lane;
use crate::postgres::connection::{Connection, Connector, Role};
use crate::postgres::error::Fault;
use crate::postgres::reach::Memory;
use crate::postgres::writer::group::{Position, Prepared, end_all, prepare};
use crate::postgres::{place, schema};
use crate::queue::{Arrivals, Group};
use crate::store::Job;

/// How long a transaction is retried before its plans get the error that the database is away.
const PATIENCE: Duration = Duration::from_secs(10);
/// Longest pause between two attempts.
const PAUSE_MAX: Duration = Duration::from_millis(250);
/// The same as [`PATIENCE`], while the store is being closed.
const PATIENCE_AT_CLOSE: Duration = Duration::from_secs(2);
/// Longest time to roll a failed transaction back.
const ROLLBACK: Duration = Duration::from_secs(5);
/// What the writers of a node share.
#[derive(Clone)]
pub(super) struct Setup {
    pub(super) connector: Connector,
    /// For tests: one transaction in this many fails once.
    pub(super) strict: Option<NonZeroU32>,
    pub(super) is_closing: Arc<AtomicBool>,
    /// Where ties lead; shared with readers.
    pub(super) memory: Arc<Memory>,
    /// The commits of this node.
    pub(super) commits: Arc<Commits>,
}

/// A writer of a node: that of the documents, or that of a lane.
pub(super) struct Writer {
    runtime: Runtime,
    state: WriterState,
    /// A schema that is dropped with the writer.
    schema: Option<String>,
}

/// The writer's state beside the runtime that drives it.
struct WriterState {
    connector: Connector,
    connection: Option<Connection>,
    /// The lane that it writes; without one, documents and everything else.
    lane: Option<Lane>,
    node: uuid::Uuid,
    /// Number of the transaction, incremented by every attempt.
    txn: i64,
    /// For tests: one transaction in this many fails once.
    strict: Option<NonZeroU32>,
    /// Number of transactions that were made to fail.
    made_to_fail: u32,
    /// When the database went away, and when it was last found to be away.
    away: Option<(Instant, Instant)>,
    /// Whether a commit is in progress.
    is_committing: bool,
    is_closing: Arc<AtomicBool>,
    /// Where ties lead; shared with readers.
    memory: Arc<Memory>,
    /// The commits of this node.
    commits: Arc<Commits>,
}

impl Writer {
    /// Creates the writer of a lane, or without one that of the documents.
    pub(super) fn new(
        setup: Setup,
        lane: Option<Lane>,
        schema: Option<String>,
    ) -> Result<Self, StoreError> {
        let Setup { connector, strict, is_closing, memory, commits } = setup;
        // On the writer's own thread, so that no answer waits for another thread to wake up.
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| StoreError::Failed(error.to_string()))?;
        let node = uuid::Uuid::from_bytes(Uuid::new().0);
        let state = WriterState {
            connector,
            connection: None,
            lane,
            node,
            txn: 0,
            strict,
            made_to_fail: 0,
            away: None,
            is_committing: false,
            is_closing,
            memory,
            commits,
        };
        Ok(Self { runtime, state, schema })
    }

    /// Runs the jobs that arrive until all senders are gone.
    pub(super) fn work(mut self, arrivals: &Arrivals, waiting: &AtomicUsize) {
        while let Some(first) = arrivals.next() {
            let mut group = Group::of(&*first);
            let mut jobs = vec![first];
            jobs.extend(std::iter::from_fn(|| arrivals.next_of(&mut group)));
            // The next part is on top; a part stays until its plans have ended.
            let mut parts = vec![all_of(&mut jobs)];
            parts.retain(|positions| !positions.is_empty());
            let run = || self.runtime.block_on(self.state.run(&mut jobs, &mut parts));
            // A panic in one job must not end the writer.
            if catch_unwind(AssertUnwindSafe(run)).is_err() {
                self.runtime.block_on(self.state.give_up(&mut jobs, parts));
            }
            waiting.fetch_sub(jobs.len(), Ordering::Relaxed);
            for job in jobs {
                job.answer(Ok(()));
            }
        }
        self.runtime.block_on(async {
            let Some(schema) = &self.schema else { return };
            let dropped = match self.state.connection().await {
                Ok(connection) => {
                    let drop = format!("DROP SCHEMA {schema} CASCADE");
                    connection.answered(connection.simple(&drop)).await
                }
                Err(fault) => Err(fault),
            };
            if let Err(fault) = dropped {
                tracing::warn!(?fault, schema, "a temporary schema stays");
            }
        });
    }
}

/// Returns the plans of all jobs that are still awaited, in order.
fn all_of(jobs: &mut [Box<dyn Job>]) -> Vec<Position> {
    let all =
        jobs.iter_mut().enumerate().filter_map(|(at, job)| job.is_wanted().then_some((at, job)));
    all.flat_map(|(at, job)| (0..job.count()).map(move |plan| (at, plan))).collect()
}

impl WriterState {
    /// Runs parts of jobs: every plan ends done, refused, or with its own error.
    async fn run(&mut self, jobs: &mut [Box<dyn Job>], parts: &mut Vec<Vec<Position>>) {
        while let Some(positions) = parts.last().cloned() {
            let ran = self.run_part(jobs, &positions).await;
            parts.pop();
            match ran {
                Ok(()) => {}
                Err(Fault::Own(_) | Fault::Form(_)) if positions.len() > 1 => {
                    tracing::debug!(plans = positions.len(), "a group is cut in two");
                    let (left, right) = positions.split_at(positions.len() / 2);
                    parts.extend([right.to_vec(), left.to_vec()]);
                }
                Err(fault) => {
                    let error = fault.told(|| StoreError::Failed("it took too long".into()));
                    if positions.len() > 1 || !matches!(error, StoreError::Failed(_)) {
                        tracing::error!(%error, plans = positions.len(), "a transaction was lost");
                    }
                    end_all(jobs, &positions, &error);
                }
            }
        }
    }

    /// Ends what a panic has left unfinished; parts that were done before stay done.
    async fn give_up(&mut self, jobs: &mut [Box<dyn Job>], mut parts: Vec<Vec<Position>>) {
        self.leave().await;
        let failed = || StoreError::Failed("a plan panicked".into());
        let is_unsure = std::mem::take(&mut self.is_committing);
        if let Some(at_work) = parts.pop() {
            let error = if is_unsure { StoreError::Unsure } else { failed() };
            end_all(jobs, &at_work, &error);
        }
        end_all(jobs, &parts.concat(), &failed());
    }

    /// Runs plans in one transaction, repeatedly while others are in its way.
    async fn run_part(
        &mut self,
        jobs: &mut [Box<dyn Job>],
        positions: &[Position],
    ) -> Result<(), Fault> {
        let mut pause = Duration::from_millis(1);
        loop {
            if self.is_closing() && self.is_given_up() {
                return Err(Fault::Lost("it was away when the store was closed".into()));
            }
            let begun = Instant::now();
            let fault = match self.attempt(jobs, positions).await {
                Ok(ended) => {
                    self.away = None;
                    for ((job, plan), change_version) in ended {
                        jobs[job].end(plan, Ok(change_version));
                    }
                    return Ok(());
                }
                Err(fault) => fault,
            };
            self.clean(&fault).await;
            if !matches!(fault, Fault::Again(_) | Fault::Lost(_)) {
                return Err(fault);
            }
            let now = Instant::now();
            // All plans share one outage; a failure that is long past belonged to another.
            let since = self.away.filter(|(_, last)| now - *last < PATIENCE);
            self.away = Some((since.map_or(begun, |(since, _)| since), now));
            if self.is_given_up() {
                return Err(fault);
            }
            tracing::debug!(?fault, "a transaction is run again");
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(PAUSE_MAX);
        }
    }

    /// Returns whether the database has been away for longer than callers should wait.
    fn is_given_up(&self) -> bool {
        let patience = if self.is_closing() { PATIENCE_AT_CLOSE } else { PATIENCE };
        self.away.is_some_and(|(since, _)| since.elapsed() >= patience)
    }

    fn is_closing(&self) -> bool {
        self.is_closing.load(Ordering::Acquire)
    }

    async fn attempt(
        &mut self,
        jobs: &mut [Box<dyn Job>],
        positions: &[Position],
    ) -> Result<Vec<(Position, i64)>, Fault> {
        self.txn += 1;
        let failing = self.shall_fail();
        let memory = Arc::clone(&self.memory);
        if self.lane.is_none()
            && let Some(change_version) = memory.behind()
        {
            let seen = Counted { change_version, ..Counted::default() };
            let (_, raised) = place::raise(self.connection().await?, seen).await?;
            let version = raised.version;
            tracing::warn!(version, "the database has gone back: change versions continue above");
            memory.caught_up();
        }
        let lane = self.lane;
        let connection = self.connection().await?;
        let asked = Instant::now();
        let prepared = prepare(connection, &memory, lane, jobs, positions).await?;
        let Prepared { last, ended, is_forgetful, ties } = prepared;
        if let Some(Failing::Statement) = failing {
            return Err(Fault::Again("made to fail at a statement".into()));
        }
        if last.is_empty() {
            connection.answered(connection.simple("COMMIT")).await?;
            return Ok(ended);
        }
        let begun = Instant::now();
        self.commit(&last, failing).await?;
        self.commits.note(Phase::Plans, begun - asked);
        self.commits.note(Phase::Commit, begun.elapsed());
        if let Some(version) = ties {
            self.memory.saw(version, version);
        }
        if is_forgetful {
            self.commits.note_forgetting();
        }
        Ok(ended)
    }

    /// Rolls back a failed transaction, and ends a connection that may be unusable.
    async fn clean(&mut self, fault: &Fault) {
        let Some(connection) = &self.connection else { return };
        let is_of_use = !matches!(fault, Fault::Lost(_)) && !connection.is_closed() && {
            let rolled_back = tokio::time::timeout(ROLLBACK, connection.simple("ROLLBACK")).await;
            matches!(rolled_back, Ok(Ok(())))
        };
        if !is_of_use {
            self.leave().await;
        }
    }

    /// Ends the connection; the server rolls back what it has not committed.
    async fn leave(&mut self) {
        if let Some(connection) = self.connection.take() {
            connection.end().await;
        }
    }

    async fn connection(&mut self) -> Result<&Connection, Fault> {
        if self.connection.as_ref().is_none_or(Connection::is_closed) {
            let made = self.made().await;
            // A condition that locks the node out is not a plan's own fault, whatever the server
            // calls it.
            let made = made.map_err(|fault| match fault {
                fault @ Fault::Everybody(StoreError::FromTheFuture { .. }) => fault,
                Fault::Own(error) | Fault::Everybody(error) => {
                    Fault::Everybody(StoreError::Away(error.to_string()))
                }
                other => other,
            });
            self.connection = Some(made?);
        }
        self.connection.as_ref().ok_or_else(|| Fault::Lost("there is no connection".into()))
    }

    /// Returns a connection to a database whose tables this program knows, and that has not been
    /// put back since it was written to, or has been made to continue above.
    async fn made(&self) -> Result<Connection, Fault> {
        let connection = self.connector.connect(Role::Writer).await?;
        let schema = connection.answered(schema::schema(&connection)).await?;
        self.memory.saw_schema(schema)?;
        place::settle(&connection).await?;
        Ok(connection)
    }

    /// Returns whether and where this transaction is to fail, as related databases let any
    /// transaction fail.
    fn shall_fail(&mut self) -> Option<Failing> {
        let every = i64::from(self.strict?.get());
        if self.txn % every != 0 {
            return None;
        }
        self.made_to_fail += 1;
        Some(if self.made_to_fail.is_multiple_of(2) { Failing::Commit } else { Failing::Statement })
    }
}

/// Where a transaction is made to fail.
#[derive(Clone, Copy)]
enum Failing {
    Statement,
    Commit,
}
