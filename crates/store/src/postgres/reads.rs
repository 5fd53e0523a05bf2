//! Reads beside the writer: probes share a few connections, running lists have one each.
#![expect(clippy::disallowed_methods, reason = "a read has a deadline")]

mod lane;
mod outage;
mod slot;

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use futures_core::Stream as _;
use tokio::runtime::Handle;
use tokio_postgres::Row as SqlRow;
use tokio_postgres::types::ToSql;

use crate::dialect::Dialect;
use crate::errand::asker;
use crate::error::StoreError;
use crate::postgres::connection::{Connector, Shared, in_order};
use crate::postgres::error::Fault;
use crate::postgres::reads::lane::Lane;
use crate::postgres::reads::outage::Outage;
use crate::postgres::reads::slot::{Probe, Slot};
use crate::postgres::value::document;
use crate::row::{References, Row};
use crate::select::Statement;
use crate::select::{Bytes, Head, Source};
use crate::store::Options;
use crate::waiting::{QueueLoad, QueueName};

/// Connections that probes share.
pub(super) const PROBES: usize = 2;

/// A statement with its arguments.
pub(super) type BoundStatement<'a> = (&'a str, &'a [&'a (dyn ToSql + Sync)]);

/// The reading side of a store.
pub(super) struct Reads {
    connector: Connector,
    runtime: Handle,
    deadline: Duration,
    probes: Vec<Arc<Slot>>,
    next_probe: AtomicUsize,
    short: Arc<Lane>,
    long: Arc<Lane>,
    outage: Arc<Outage>,
    is_closed: AtomicBool,
}

impl Reads {
    pub(super) fn new(connector: Connector, runtime: Handle, options: &Options) -> Self {
        let deadline = options.list_deadline;
        let short = (QueueName::Lists, QueueName::ListConnections);
        let long = (QueueName::Scans, QueueName::ScanConnections);
        Self {
            connector,
            runtime,
            deadline,
            probes: (0..PROBES)
                .map(|at| Arc::new(Slot::new(((options.probes + at) / PROBES).max(1))))
                .collect(),
            next_probe: AtomicUsize::new(0),
            short: Lane::new(short, options.list_connections, options.list_queue),
            long: Lane::new(long, options.scan_connections, options.scan_queue),
            outage: Arc::default(),
            is_closed: AtomicBool::new(false),
        }
    }

    /// Stops answering; running reads end by their deadline.
    pub(super) fn close(&self) {
        self.is_closed.store(true, Ordering::Release);
        self.short.close();
        self.long.close();
        self.probes.iter().for_each(|probe| probe.clear());
    }

    fn is_closed(&self) -> bool {
        self.is_closed.load(Ordering::Acquire)
    }

    /// Runs something on the store's own runtime.
    pub(super) fn spawn(&self, future: impl Future<Output = ()> + Send + 'static) {
        self.runtime.spawn(future);
    }

    /// Returns the error of a read that has ended without an answer.
    pub(super) fn lost(&self) -> StoreError {
        if self.is_closed() {
            return StoreError::Closed;
        }
        StoreError::Failed("a read has ended without an answer".into())
    }

    /// Returns how full the queues and the pools of connections are; `gathered` reads wait beside the statements.
    pub(super) fn loads(&self, gathered: usize) -> Vec<QueueLoad> {
        let mut all: Vec<_> = [&self.short, &self.long].iter().flat_map(|l| l.loads()).collect();
        let probes = self.probes.iter().map(|slot| slot.load());
        let (size, used) = probes.fold((0, 0), |sum, (size, used)| (sum.0 + size, sum.1 + used));
        let used = (used + gathered).min(size);
        let (size, used) = (size as u64, used as u64);
        all.push(QueueLoad { queue: QueueName::Probes, size, used, refused: 0 });
        all
    }

    /// Returns why the last attempt to reach the database failed, if it did.
    pub(super) fn trouble(&self) -> Option<StoreError> {
        self.outage.why().map(StoreError::Away)
    }

    /// Reads index entries; if the connection is lost, tries once more on another.
    pub(super) async fn probe(
        &self,
        text: &str,
        arguments: &[&(dyn ToSql + Sync)],
    ) -> Result<Vec<SqlRow>, StoreError> {
        self.probe_on(self.next_slot(), text, arguments).await
    }

    /// Reads index entries over the connection of a slot.
    pub(super) async fn probe_on(
        &self,
        slot: usize,
        text: &str,
        arguments: &[&(dyn ToSql + Sync)],
    ) -> Result<Vec<SqlRow>, StoreError> {
        let read = |connection: Shared| async move { connection.query(text, arguments).await };
        self.probing(slot, read).await
    }

    fn next_slot(&self) -> usize {
        self.next_probe.fetch_add(1, Ordering::Relaxed) % PROBES
    }

    /// Reads index entries by several statements, run in this order in one flight.
    pub(super) async fn probe_all(
        &self,
        all: &[BoundStatement<'_>],
    ) -> Result<Vec<Vec<SqlRow>>, StoreError> {
        let read = |connection: Shared| async move {
            let mut prepared = Vec::with_capacity(all.len());
            for (text, arguments) in all {
                prepared.push((connection.prepared(text).await?, arguments));
            }
            let asked = prepared.iter().map(|(text, arguments)| connection.all(text, arguments));
            in_order(asked).await.into_iter().collect()
        };
        self.probing(self.next_slot(), read).await
    }

    async fn probing<T, F: Future<Output = Result<T, Fault>>>(
        &self,
        slot: usize,
        read: impl Fn(Shared) -> F,
    ) -> Result<T, StoreError> {
        let slot = &self.probes[slot];
        let reading = async {
            let mut found = self.probe_once(slot, &read).await;
            if matches!(found, Err(Fault::Lost(_) | Fault::Again(_))) {
                found = self.probe_once(slot, &read).await;
            }
            found
        };
        self.within(reading).await
    }

    async fn probe_once<T, F: Future<Output = Result<T, Fault>>>(
        &self,
        slot: &Arc<Slot>,
        read: &impl Fn(Shared) -> F,
    ) -> Result<T, Fault> {
        let place = slot.place().await?;
        let connection = slot.connection(&self.connector, &self.outage, &self.runtime).await?;
        // Half of the time is kept for another connection.
        let time = self.deadline / 2;
        let probe = Probe::on(&connection, place, &self.runtime, time);
        let reading = read(Arc::clone(&connection));
        let found = self.timed(time, reading).await;
        probe.ended();
        let Ok(found) = found else {
            connection.leave();
            self.runtime.spawn(async move { connection.stop().await });
            return Err(Fault::silent());
        };
        if found.is_ok() {
            self.outage.end();
        }
        found
    }

    /// Runs a list on a connection of its own; if that is lost, tries once more on another.
    pub(super) async fn list<T, F: Future<Output = Result<T, Fault>>>(
        &self,
        is_long: bool,
        read: impl Fn(Shared) -> F,
    ) -> Result<T, StoreError> {
        let lane = if is_long { &self.long } else { &self.short };
        let now = Instant::now();
        let caller_ends = asker().and_then(|asker| asker.until);
        let end = caller_ends.map_or(now + self.deadline, |until| until.min(now + self.deadline));
        self.within(async {
            let mut found = self.list_once(lane, end, &read).await;
            if matches!(found, Err(Fault::Lost(_) | Fault::Again(_))) {
                found = self.list_once(lane, end, &read).await;
            }
            found
        })
        .await
    }

    async fn list_once<T, F: Future<Output = Result<T, Fault>>>(
        &self,
        lane: &Arc<Lane>,
        end: Instant,
        read: &impl Fn(Shared) -> F,
    ) -> Result<T, Fault> {
        let place = lane.place().await?;
        // A list whose caller has stopped waiting is not begun.
        if Instant::now() >= end {
            return Err(lane.late());
        }
        let (connector, outage, runtime) = (&self.connector, &self.outage, &self.runtime);
        let mut used = lane.connection(place, connector, outage, runtime).await?;
        let connection = used.begin();
        let left = end.saturating_duration_since(Instant::now());
        if connection.is_pooled() {
            // The session is also that of others; each transaction has the time-out.
            let found = read(Arc::clone(&connection)).await;
            if found.is_ok() {
                used.keep();
            }
            return found;
        }
        // Both travel in one flight.
        let limit = connection.limit_to(left);
        let ((), found) = tokio::join!(biased; limit, read(Arc::clone(&connection)));
        if found.is_ok() {
            used.keep();
        }
        found
    }

    pub(super) async fn within<T>(
        &self,
        reading: impl Future<Output = Result<T, Fault>>,
    ) -> Result<T, StoreError> {
        if self.is_closed() {
            return Err(StoreError::Closed);
        }
        let late = || StoreError::Deadline(self.deadline);
        match self.timed(self.deadline, reading).await {
            Ok(found) => found.map_err(|fault| fault.told(late)),
            Err(_) => Err(late()),
        }
    }

    /// Limits the time by the store's own clock: the caller's runtime may have no timer.
    fn timed<F: Future>(&self, longest: Duration, reading: F) -> tokio::time::Timeout<F> {
        let _entered = self.runtime.enter();
        tokio::time::timeout(longest, reading)
    }
}

/// The connection that lists read from.
pub(super) struct Lists(pub(super) Shared);

impl Lists {
    /// Runs a read of several statements on one state of the store.
    pub(super) async fn on_one_state<T>(
        &self,
        read: impl Future<Output = Result<T, Fault>>,
    ) -> Result<T, Fault> {
        self.0.simple("BEGIN TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY").await?;
        let found = read.await?;
        self.0.simple("COMMIT").await?;
        Ok(found)
    }
}

impl Source for Lists {
    type Error = Fault;

    const DIALECT: Dialect = Dialect::Postgres;

    const ENDS_EARLY: bool = false;

    async fn documents(&self, sql: &Statement, bytes: &mut Bytes) -> Result<Vec<Row>, Fault> {
        let arguments = sql.arguments.iter().map(|value| value as &(dyn ToSql + Sync));
        let stream = self.0.stream(&sql.text, arguments).await?;
        let mut stream = pin!(stream);
        let mut rows = vec![];
        while let Some(row) = poll_fn(|context| stream.as_mut().poll_next(context)).await {
            let row = document(&row?)?;
            if !bytes.add(&row)? {
                break;
            }
            rows.push(row);
        }
        Ok(rows)
    }

    async fn heads(&self, sql: &Statement) -> Result<Vec<Head>, Fault> {
        let arguments: Vec<_> =
            sql.arguments.iter().map(|value| value as &(dyn ToSql + Sync)).collect();
        let rows = self.0.query(&sql.text, &arguments).await?;
        let head =
            |row: &SqlRow| Ok((row.try_get(0)?, References::marks(row.try_get(1)?).collect()));
        let mut heads = rows.iter().map(head).collect::<Result<Vec<Head>, Fault>>()?;
        heads.sort_unstable_by_key(|(id, _)| *id);
        Ok(heads)
    }

    async fn numbers(&self, sql: &Statement) -> Result<Vec<Vec<i64>>, Fault> {
        let arguments: Vec<_> =
            sql.arguments.iter().map(|value| value as &(dyn ToSql + Sync)).collect();
        let rows = self.0.query(&sql.text, &arguments).await?;
        let numbers = rows.iter().map(|row| (0..row.len()).map(|at| row.try_get(at)).collect());
        Ok(numbers.collect::<Result<_, _>>()?)
    }
}
