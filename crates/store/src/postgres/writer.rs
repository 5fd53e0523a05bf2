//! The one lane of a node's writes: takes what has arrived, runs it in one transaction, and answers
//! when the commit is on disk.
//!
//! Where a transaction fails by a fault of one plan, its halves are run by themselves, and so on,
//! until that plan is alone with its error. Where it fails by another's transaction or a lost
//! connection, it is run again.

mod ask;
mod batch;
mod group;
mod touch;

use std::num::NonZeroU32;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use tokio::runtime::Runtime;

use crate::error::StoreError;
use crate::id::Uuid;
use crate::postgres::connection::{Connection, Connector, LOCK, Role, in_order};
use crate::postgres::error::Fault;
use crate::postgres::migrate::now_us;
use crate::postgres::writer::group::{Place, Prepared, end_all, prepare, prepare_all, run};
use crate::queue::{Arrivals, GROUP_MAX};
use crate::store::Job;

/// How long a transaction is tried again before its plans are answered that the database is away.
const PATIENCE: Duration = Duration::from_secs(10);
/// Longest pause between two tries.
const PAUSE_MAX: Duration = Duration::from_millis(250);
/// How long it is tried to find out what became of a commit.
const DOUBT: Duration = Duration::from_mins(1);

/// Who is known to have committed what.
const COMMITTED: &str = "INSERT INTO node (id, txn, seen) VALUES (?1, ?2, ?3) \
     ON CONFLICT (id) DO UPDATE SET txn = excluded.txn, seen = excluded.seen";
/// Waits until no transaction is under way; the one in doubt holds this row till its end.
const WAIT: &str = "SELECT id FROM counter WHERE name = 'writer' FOR UPDATE";
const LAST: &str = "SELECT txn FROM node WHERE id = ?1";

/// The writer of a node.
pub(super) struct Writer {
    runtime: Runtime,
    lane: Lane,
    /// A schema that goes with the writer.
    schema: Option<String>,
}

/// Its state beside the runtime that drives it.
struct Lane {
    connector: Connector,
    connection: Option<Connection>,
    node: uuid::Uuid,
    /// Number of the transaction, counted up by every try.
    txn: i64,
    /// Every so-manieth transaction fails once.
    strict: Option<NonZeroU32>,
    /// Transactions that have failed so.
    made_to_fail: u32,
}

impl Writer {
    pub(super) fn new(
        connector: Connector,
        strict: Option<NonZeroU32>,
        schema: Option<String>,
    ) -> Result<Self, StoreError> {
        // On the writer's own thread, so that no answer waits for another to wake up.
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| StoreError::Failed(error.to_string()))?;
        let node = uuid::Uuid::from_bytes(Uuid::new().0);
        let lane = Lane { connector, connection: None, node, txn: 0, strict, made_to_fail: 0 };
        Ok(Self { runtime, lane, schema })
    }

    /// Runs what arrives until nobody can send any more.
    pub(super) fn work(mut self, arrivals: &Arrivals, waiting: &AtomicUsize) {
        while let Ok(first) = arrivals.recv() {
            let mut jobs = vec![first];
            jobs.extend(arrivals.try_iter().take(GROUP_MAX - 1));
            let run = AssertUnwindSafe(|| self.runtime.block_on(self.lane.run(&mut jobs)));
            // A fault in one job must not end the writer.
            let ended = catch_unwind(run).map_err(|_| {
                self.lane.connection = None;
                StoreError::Failed("a plan panicked".into())
            });
            waiting.fetch_sub(jobs.len(), Ordering::Relaxed);
            for job in jobs {
                job.answer(ended.clone());
            }
        }
        self.runtime.block_on(async {
            let Some(schema) = &self.schema else { return };
            let dropped = match self.lane.connection().await {
                Ok(connection) => connection.simple(&format!("DROP SCHEMA {schema} CASCADE")).await,
                Err(fault) => Err(fault),
            };
            if let Err(fault) = dropped {
                tracing::warn!(?fault, schema, "a temporary schema stays");
            }
        });
    }
}

impl Lane {
    /// Runs jobs: every plan ends done, refused, or with its own error.
    async fn run(&mut self, jobs: &mut [Box<dyn Job>]) {
        let all: Vec<Place> = jobs
            .iter()
            .enumerate()
            .flat_map(|(at, job)| (0..job.count()).map(move |plan| (at, plan)))
            .collect();
        // The next part is on top.
        let mut parts = vec![all.as_slice()];
        while let Some(places) = parts.pop() {
            match self.run_part(jobs, places).await {
                Ok(()) => {}
                Err(Fault::Own(error)) if places.len() > 1 => {
                    tracing::debug!(%error, plans = places.len(), "a group is cut in two");
                    let (left, right) = places.split_at(places.len() / 2);
                    parts.extend([right, left]);
                }
                Err(fault) => {
                    let error = fault.told(|| StoreError::Failed("it took too long".into()));
                    if places.len() > 1 || !matches!(error, StoreError::Failed(_)) {
                        tracing::error!(%error, plans = places.len(), "a transaction was lost");
                    }
                    end_all(jobs, places, &error);
                }
            }
        }
    }

    /// Runs plans in one transaction, again and again while others are in its way.
    async fn run_part(&mut self, jobs: &mut [Box<dyn Job>], places: &[Place]) -> Result<(), Fault> {
        let begun = Instant::now();
        let mut pause = Duration::from_millis(1);
        loop {
            let fault = match self.attempt(jobs, places).await {
                Ok(ended) => {
                    for ((job, plan), change_version) in ended {
                        jobs[job].end(plan, Ok(change_version));
                    }
                    return Ok(());
                }
                Err(fault) => fault,
            };
            self.clean(&fault).await;
            if !matches!(fault, Fault::Again(_) | Fault::Lost(_)) || begun.elapsed() > PATIENCE {
                return Err(fault);
            }
            tracing::debug!(?fault, "a transaction is run again");
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(PAUSE_MAX);
        }
    }

    async fn attempt(
        &mut self,
        jobs: &mut [Box<dyn Job>],
        places: &[Place],
    ) -> Result<Vec<(Place, i64)>, Fault> {
        self.txn += 1;
        let failing = self.shall_fail();
        let (node, txn) = (self.node, self.txn);
        let connection = self.connection().await?;
        let Prepared { last, ended } = prepare(connection, jobs, places).await?;
        if let Some(Failing::Statement) = failing {
            return Err(Fault::Again("made to fail at a statement".into()));
        }
        if last.is_empty() {
            connection.simple("COMMIT").await?;
            return Ok(ended);
        }
        prepare_all(connection, last.iter().map(|statement| statement.text)).await?;
        let committed = connection.prepared(COMMITTED).await?;
        let seen = now_us();
        if let Some(Failing::Commit) = failing {
            in_order(last.iter().map(|statement| run(connection, statement))).await;
            return Err(Fault::Again("made to fail at the commit".into()));
        }
        let write = in_order(last.iter().map(|statement| run(connection, statement)));
        let sign = async { connection.execute(&committed, &[&node, &txn, &seen]).await };
        let (written, signed, ends) =
            tokio::join!(biased; write, sign, connection.simple("COMMIT"));
        // After an error the rest is refused and the commit is none: the first one tells.
        let result = written.into_iter().chain([signed, ends]).collect::<Result<(), Fault>>();
        match result {
            Ok(()) => Ok(ended),
            Err(Fault::Lost(why)) => {
                tracing::warn!(why, "the connection was lost in a commit");
                self.find_out()
                    .await
                    .and_then(|is_done| if is_done { Ok(ended) } else { Err(Fault::Again(why)) })
            }
            Err(fault) => Err(fault),
        }
    }

    /// Finds out whether the last transaction was committed, once it is over.
    async fn find_out(&mut self) -> Result<bool, Fault> {
        let begun = Instant::now();
        while begun.elapsed() < DOUBT {
            self.connection = None;
            match self.look_up().await {
                Ok(is_done) => return Ok(is_done),
                Err(fault) => tracing::warn!(?fault, "what became of a commit is not known yet"),
            }
            tokio::time::sleep(PAUSE_MAX).await;
        }
        Err(Fault::Everybody(StoreError::Unsure))
    }

    async fn look_up(&mut self) -> Result<bool, Fault> {
        let (node, txn) = (self.node, self.txn);
        let connection = self.connection().await?;
        connection.simple("BEGIN").await?;
        connection.query(WAIT, &[]).await?;
        let rows = connection.query(LAST, &[&node]).await?;
        let last: Option<i64> = rows.first().map(|row| row.try_get(0)).transpose()?;
        connection.simple("ROLLBACK").await?;
        Ok(last == Some(txn))
    }

    /// Ends a transaction that failed, and a connection that may be of no use.
    async fn clean(&mut self, fault: &Fault) {
        let Some(connection) = &self.connection else { return };
        let is_lost = matches!(fault, Fault::Lost(_)) || connection.is_closed();
        let ended = if is_lost {
            false
        } else {
            let rolled_back = tokio::time::timeout(LOCK, connection.simple("ROLLBACK")).await;
            matches!(rolled_back, Ok(Ok(())))
        };
        if !ended {
            connection.abandon();
            self.connection = None;
        }
    }

    async fn connection(&mut self) -> Result<&Connection, Fault> {
        if self.connection.as_ref().is_none_or(Connection::is_closed) {
            let made = self.connector.connect(Role::Writer).await;
            // What keeps the node out is no plan's own fault, whatever the server calls it.
            let made = made.map_err(|fault| match fault {
                Fault::Own(error) => Fault::Everybody(StoreError::Away(error.to_string())),
                other => other,
            });
            self.connection = Some(made?);
        }
        self.connection.as_ref().ok_or_else(|| Fault::Lost("there is no connection".into()))
    }

    /// Whether and where this transaction shall fail, as related databases let any fail.
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
