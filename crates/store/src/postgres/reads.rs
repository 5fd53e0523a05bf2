//! Reads beside the writer: probes share a few connections, lists have one each while they run.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use futures_core::Stream as _;
use tokio::runtime::Handle;
use tokio::sync::Semaphore;
use tokio_postgres::Row as SqlRow;
use tokio_postgres::types::ToSql;

use crate::dialect::Dialect;
use crate::error::StoreError;
use crate::postgres::connection::{Connection, Connector, Role, Shared};
use crate::postgres::error::Fault;
use crate::postgres::value::document;
use crate::row::Row;
use crate::select::{Bytes, Source, Statement};

/// Connections that probes share.
const PROBES: usize = 2;
/// Short lists that run at the same time.
const SHORT: usize = 4;
/// Long lists that run at the same time.
const LONG: usize = 2;
/// Most lists that wait for a connection.
const WAITING_MAX: usize = 512;
/// Shortest and longest pause after a connection could not be made.
const PAUSE: (Duration, Duration) = (Duration::from_millis(20), Duration::from_secs(1));

/// The reading side of a store.
pub(super) struct Reads {
    connector: Connector,
    runtime: Handle,
    deadline: Duration,
    probes: Vec<tokio::sync::Mutex<Option<Shared>>>,
    next_probe: AtomicUsize,
    short: Lane,
    long: Lane,
    outage: Mutex<Outage>,
    is_closed: AtomicBool,
}

/// Connections for one list at a time.
struct Lane {
    places: Semaphore,
    waiting: AtomicUsize,
    idle: Mutex<Vec<Shared>>,
}

/// When a connection may be tried again, and what became of the last try.
#[derive(Default)]
struct Outage {
    until: Option<Instant>,
    pause: Duration,
    why: String,
}

impl Reads {
    pub(super) fn new(connector: Connector, runtime: Handle, deadline: Duration) -> Self {
        let lane = |places| Lane {
            places: Semaphore::new(places),
            waiting: AtomicUsize::new(0),
            idle: Mutex::default(),
        };
        Self {
            connector,
            runtime,
            deadline,
            probes: (0..PROBES).map(|_| tokio::sync::Mutex::default()).collect(),
            next_probe: AtomicUsize::new(0),
            short: lane(SHORT),
            long: lane(LONG),
            outage: Mutex::default(),
            is_closed: AtomicBool::new(false),
        }
    }

    /// Answers nothing any more; what runs ends by its deadline.
    pub(super) fn close(&self) {
        self.is_closed.store(true, Ordering::Release);
        self.short.places.close();
        self.long.places.close();
        for lane in [&self.short, &self.long] {
            lane.idle.lock().unwrap_or_else(PoisonError::into_inner).clear();
        }
        for probe in &self.probes {
            if let Ok(mut probe) = probe.try_lock() {
                *probe = None;
            }
        }
    }

    /// Reads index entries; where a connection is lost, once more on another.
    pub(super) async fn probe(
        &self,
        text: &str,
        arguments: &[&(dyn ToSql + Sync)],
    ) -> Result<Vec<SqlRow>, StoreError> {
        let reading = async {
            let mut found = self.probe_connection().await?.query(text, arguments).await;
            if matches!(found, Err(Fault::Lost(_) | Fault::Again(_))) {
                found = self.probe_connection().await?.query(text, arguments).await;
            }
            found
        };
        self.within(reading).await
    }

    /// Runs a list on a connection of its own; where that is lost, once more on another.
    pub(super) async fn list<T, F: Future<Output = Result<T, Fault>>>(
        &self,
        is_long: bool,
        read: impl Fn(Shared) -> F,
    ) -> Result<T, StoreError> {
        let lane = if is_long { &self.long } else { &self.short };
        if lane.waiting.fetch_add(1, Ordering::Relaxed) >= WAITING_MAX {
            lane.waiting.fetch_sub(1, Ordering::Relaxed);
            return Err(StoreError::Busy);
        }
        let waiting = Countdown(&lane.waiting);
        self.within(async {
            let _place = lane.places.acquire().await.map_err(|_| Fault::Own(StoreError::Closed))?;
            drop(waiting);
            let mut found = self.list_once(lane, &read).await;
            if matches!(found, Err(Fault::Lost(_) | Fault::Again(_))) {
                found = self.list_once(lane, &read).await;
            }
            found
        })
        .await
    }

    async fn list_once<T, F: Future<Output = Result<T, Fault>>>(
        &self,
        lane: &Lane,
        read: &impl Fn(Shared) -> F,
    ) -> Result<T, Fault> {
        let idle = || lane.idle.lock().unwrap_or_else(PoisonError::into_inner);
        let kept = idle().pop();
        let connection = match kept.filter(|connection| !connection.is_closed()) {
            Some(connection) => connection,
            None => Arc::new(self.connect(Role::List).await?),
        };
        let connection = Abandoned(Some(connection));
        let found = read(connection.get()).await;
        // One that is in an unknown state is not used again, nor one whose list was given up.
        if found.is_ok() && !self.is_closed.load(Ordering::Acquire) {
            idle().push(connection.keep());
        }
        found
    }

    async fn probe_connection(&self) -> Result<Shared, Fault> {
        let at = self.next_probe.fetch_add(1, Ordering::Relaxed) % self.probes.len();
        let mut probe = self.probes[at].lock().await;
        match &*probe {
            Some(connection) if !connection.is_closed() => Ok(Arc::clone(connection)),
            _ => {
                let connection = Arc::new(self.connect(Role::Probe).await?);
                *probe = Some(Arc::clone(&connection));
                Ok(connection)
            }
        }
    }

    /// Makes a connection on the store's own runtime; after a failure not at once.
    async fn connect(&self, role: Role) -> Result<Connection, Fault> {
        let outage = || self.outage.lock().unwrap_or_else(PoisonError::into_inner);
        {
            let outage = outage();
            if outage.until.is_some_and(|until| Instant::now() < until) {
                return Err(Fault::Lost(outage.why.clone()));
            }
        }
        let connector = self.connector.clone();
        let made = self.runtime.spawn(async move { connector.connect(role).await }).await;
        let made = made.unwrap_or(Err(Fault::Own(StoreError::Closed)));
        let mut outage = outage();
        match &made {
            Ok(_) => *outage = Outage::default(),
            Err(fault) => {
                outage.pause = (outage.pause * 2).clamp(PAUSE.0, PAUSE.1);
                outage.until = Some(Instant::now() + outage.pause);
                tracing::warn!(?fault, "a connection for reads could not be made");
                outage.why = fault.clone().told(|| StoreError::Deadline(self.deadline)).to_string();
            }
        }
        made
    }

    async fn within<T>(
        &self,
        reading: impl Future<Output = Result<T, Fault>>,
    ) -> Result<T, StoreError> {
        if self.is_closed.load(Ordering::Acquire) {
            return Err(StoreError::Closed);
        }
        let reading = pin!(reading);
        // The store's own clock: who asks may have no runtime with one.
        let timed = {
            let _entered = self.runtime.enter();
            tokio::time::timeout(self.deadline, reading)
        };
        let late = || StoreError::Deadline(self.deadline);
        match timed.await {
            Ok(found) => found.map_err(|fault| fault.told(late)),
            Err(_) => Err(late()),
        }
    }
}

/// Counts down when it goes.
struct Countdown<'a>(&'a AtomicUsize);

impl Drop for Countdown<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A connection that is ended when the read on it is given up.
struct Abandoned(Option<Shared>);

impl Abandoned {
    fn get(&self) -> Shared {
        Arc::clone(self.0.as_ref().expect("it is kept last of all"))
    }

    fn keep(mut self) -> Shared {
        self.0.take().expect("it is kept once")
    }
}

impl Drop for Abandoned {
    fn drop(&mut self) {
        if let Some(connection) = &self.0 {
            connection.abandon();
        }
    }
}

/// What lists read from.
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

    async fn documents(&self, sql: &Statement, bytes: &mut Bytes) -> Result<Vec<Row>, Fault> {
        let arguments = sql.arguments.iter().map(|value| value as &(dyn ToSql + Sync));
        let stream = self.0.stream(&sql.text, arguments).await?;
        let mut stream = pin!(stream);
        let mut rows = vec![];
        while let Some(row) = poll_fn(|context| stream.as_mut().poll_next(context)).await {
            let row = document(&row?)?;
            bytes.add(&row)?;
            rows.push(row);
        }
        Ok(rows)
    }

    async fn numbers(&self, sql: &Statement) -> Result<Vec<Vec<i64>>, Fault> {
        let arguments: Vec<_> =
            sql.arguments.iter().map(|value| value as &(dyn ToSql + Sync)).collect();
        let rows = self.0.query(&sql.text, &arguments).await?;
        let numbers = rows.iter().map(|row| (0..row.len()).map(|at| row.try_get(at)).collect());
        Ok(numbers.collect::<Result<_, _>>()?)
    }
}
