//! Connections for lists, one list at a time on each.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::runtime::Handle;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::error::StoreError;
use crate::postgres::connection::{Connector, Role, Shared};
use crate::postgres::error::Fault;
use crate::postgres::reads::outage::Outage;
use crate::waiting::{Busy, QueueLoad, QueueName};

/// Places for lists. An abandoned list keeps its place until the server has stopped it.
pub(super) struct Lane {
    queue: QueueName,
    connections: QueueName,
    /// Number of places.
    count: usize,
    places: Arc<Semaphore>,
    /// Most lists that wait for a place.
    waiting_max: usize,
    waiting: AtomicUsize,
    refused: AtomicU64,
    idle: Mutex<Vec<Shared>>,
}

impl Lane {
    /// Creates a lane with so many places, for which at most `waiting_max` lists wait.
    pub(super) fn new(
        (queue, connections): (QueueName, QueueName),
        count: usize,
        waiting_max: usize,
    ) -> Arc<Self> {
        Arc::new(Self {
            queue,
            connections,
            count,
            places: Arc::new(Semaphore::new(count)),
            waiting_max,
            waiting: AtomicUsize::new(0),
            refused: AtomicU64::new(0),
            idle: Mutex::default(),
        })
    }

    /// Returns how full the lane is.
    pub(super) fn loads(&self) -> [QueueLoad; 2] {
        let free = self.places.available_permits();
        [
            QueueLoad {
                queue: self.queue,
                size: self.waiting_max as u64,
                used: self.waiting.load(Ordering::Relaxed) as u64,
                refused: self.refused.load(Ordering::Relaxed),
            },
            QueueLoad {
                queue: self.connections,
                size: self.count as u64,
                used: self.count.saturating_sub(free) as u64,
                refused: 0,
            },
        ]
    }

    /// Returns the error of a list whose turn came too late.
    pub(super) fn late(&self) -> Fault {
        self.refused.fetch_add(1, Ordering::Relaxed);
        StoreError::Busy(Busy::Late(self.queue)).into()
    }

    /// Admits no more lists.
    pub(super) fn close(&self) {
        self.places.close();
        self.idle().clear();
    }

    /// Waits for a place; fails at once if too many are waiting.
    pub(super) async fn place(&self) -> Result<OwnedSemaphorePermit, Fault> {
        let free = Arc::clone(&self.places).try_acquire_owned();
        if let Ok(place) = free {
            return Ok(place);
        }
        let waiting = Countdown(&self.waiting);
        if self.waiting.fetch_add(1, Ordering::Relaxed) >= self.waiting_max {
            self.refused.fetch_add(1, Ordering::Relaxed);
            return Err(StoreError::Busy(Busy::Full(self.queue)).into());
        }
        let place = Arc::clone(&self.places).acquire_owned().await;
        drop(waiting);
        place.map_err(|_| StoreError::Closed.into())
    }

    /// Returns a connection for a place: an idle one, or a new one. A new one is opened on the
    /// store's own runtime; if nobody waits for it any more, the next list finds it idle.
    pub(super) async fn connection(
        self: &Arc<Self>,
        place: OwnedSemaphorePermit,
        connector: &Connector,
        outage: &Arc<Outage>,
        runtime: &Handle,
    ) -> Result<Used, Fault> {
        let used = {
            let (lane, runtime) = (Arc::clone(self), runtime.clone());
            |connection| Used {
                lane,
                connection: Some(connection),
                place,
                runtime,
                is_begun: false,
            }
        };
        let idle = std::iter::from_fn(|| self.idle().pop()).find(|idle| !idle.is_closed());
        if let Some(connection) = idle {
            return Ok(used(connection));
        }
        outage.enter()?;
        let (connector, outage) = (connector.clone(), Arc::clone(outage));
        let making = runtime.spawn(async move {
            let made = connector.connect(Role::List).await;
            outage.note(&made);
            made.map(|connection| used(Arc::new(connection)))
        });
        making.await.unwrap_or(Err(StoreError::Closed.into()))
    }

    fn idle(&self) -> MutexGuard<'_, Vec<Shared>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Decrements a counter when it is dropped.
struct Countdown<'a>(&'a AtomicUsize);

impl Drop for Countdown<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A connection and its place.
pub(super) struct Used {
    lane: Arc<Lane>,
    /// [`None`] once it has been given back.
    connection: Option<Shared>,
    place: OwnedSemaphorePermit,
    runtime: Handle,
    /// Whether a list has begun on it.
    is_begun: bool,
}

impl Used {
    /// Returns the connection, for a list.
    pub(super) fn begin(&mut self) -> Shared {
        self.is_begun = true;
        Arc::clone(self.connection.as_ref().expect("it is given back last of all"))
    }

    /// Gives it back after a list that ran to its end.
    pub(super) fn keep(mut self) {
        self.is_begun = false;
    }
}

impl Drop for Used {
    fn drop(&mut self) {
        let Some(connection) = self.connection.take() else { return };
        if connection.is_closed() || self.lane.places.is_closed() {
            return connection.abandon();
        }
        if !self.is_begun {
            return self.lane.idle().push(connection);
        }
        // The state that an unfinished list leaves behind is unknown.
        let place = self.place.split(1);
        self.runtime.spawn(async move {
            connection.stop().await;
            drop(place);
        });
    }
}
