//! Connections for lists, one list at a time on each.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::runtime::Handle;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::error::StoreError;
use crate::postgres::connection::{Connector, Role, Shared};
use crate::postgres::error::Fault;
use crate::postgres::reads::outage::Outage;

/// Most lists that wait for a connection.
const WAITING_MAX: usize = 512;

/// Places for lists. An abandoned list keeps its place until the server has stopped it.
pub(super) struct Lane {
    places: Arc<Semaphore>,
    waiting: AtomicUsize,
    idle: Mutex<Vec<Shared>>,
}

impl Lane {
    pub(super) fn new(places: usize) -> Arc<Self> {
        let places = Arc::new(Semaphore::new(places));
        Arc::new(Self { places, waiting: AtomicUsize::new(0), idle: Mutex::default() })
    }

    /// Admits no more lists.
    pub(super) fn close(&self) {
        self.places.close();
        self.idle().clear();
    }

    /// Waits for a place; fails at once if too many are waiting.
    pub(super) async fn place(&self) -> Result<OwnedSemaphorePermit, Fault> {
        let waiting = Countdown(&self.waiting);
        if self.waiting.fetch_add(1, Ordering::Relaxed) >= WAITING_MAX {
            return Err(StoreError::Busy.into());
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
