//! A connection that many probes use at the same time.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

use crate::error::StoreError;
use crate::postgres::connection::{Connector, Role, Shared};
use crate::postgres::error::Fault;
use crate::postgres::reads::outage::Outage;

/// A query without effect. The server answers in order, so when it is answered, so is everything
/// before it.
const NOTHING: &str = "SELECT 1";

/// A slot for one connection.
pub(super) struct Slot {
    current: Mutex<Option<Shared>>,
    /// Most probes that the server has not answered yet; further ones wait on this side. An abandoned
    /// probe counts until its answer has come, so that no client fills the connection by hanging up.
    size: usize,
    places: Arc<Semaphore>,
    /// Held while a connection is opened, so that only one is.
    making: Arc<tokio::sync::Mutex<()>>,
}

impl Slot {
    /// Creates a slot for so many probes at a time.
    pub(super) fn new(size: usize) -> Self {
        let places = Arc::new(Semaphore::new(size));
        Self { current: Mutex::default(), size, places, making: Arc::default() }
    }

    /// Returns the number of probes that it takes at a time, and how many it has.
    pub(super) fn load(&self) -> (usize, usize) {
        (self.size, self.size.saturating_sub(self.places.available_permits()))
    }

    /// Waits for a place for a probe.
    pub(super) async fn place(&self) -> Result<OwnedSemaphorePermit, Fault> {
        let place = Arc::clone(&self.places).acquire_owned().await;
        place.map_err(|_| StoreError::Closed.into())
    }

    /// Returns the connection, opening it if there is none. Opening continues even if nobody waits
    /// for it.
    pub(super) async fn connection(
        self: &Arc<Self>,
        connector: &Connector,
        outage: &Arc<Outage>,
        runtime: &Handle,
    ) -> Result<Shared, Fault> {
        if let Some(connection) = self.open() {
            return Ok(connection);
        }
        outage.look()?;
        let making = Arc::clone(&self.making).lock_owned().await;
        if let Some(connection) = self.open() {
            return Ok(connection);
        }
        outage.enter()?;
        let (slot, connector, outage) = (Arc::clone(self), connector.clone(), Arc::clone(outage));
        let made = runtime.spawn(async move {
            let made = connector.connect(Role::Probe).await.map(Arc::new);
            outage.note(&made);
            *slot.current() = made.as_ref().ok().cloned();
            drop(making);
            made
        });
        made.await.unwrap_or(Err(StoreError::Closed.into()))
    }

    /// Drops the connection, which ends with the last probe on it, and admits no more probes.
    pub(super) fn clear(&self) {
        self.places.close();
        *self.current() = None;
    }

    fn open(&self) -> Option<Shared> {
        self.current().clone().filter(|connection| !connection.is_closed())
    }

    fn current(&self) -> MutexGuard<'_, Option<Shared>> {
        self.current.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A probe in progress, with its place.
pub(super) struct Probe<'a> {
    connection: &'a Shared,
    /// [`None`] once the probe is over.
    place: Option<OwnedSemaphorePermit>,
    runtime: &'a Handle,
    time: Duration,
}

impl<'a> Probe<'a> {
    /// Creates a probe on `connection`, which a live server answers within `time`.
    pub(super) fn on(
        connection: &'a Shared,
        place: OwnedSemaphorePermit,
        runtime: &'a Handle,
        time: Duration,
    ) -> Self {
        Self { connection, place: Some(place), runtime, time }
    }

    /// Gives the place back: the answer has come, or the connection is not used any more.
    pub(super) fn ended(mut self) {
        self.place = None;
    }
}

impl Drop for Probe<'_> {
    fn drop(&mut self) {
        let Some(place) = self.place.take() else { return };
        let (connection, time) = (Arc::clone(self.connection), self.time);
        self.runtime.spawn(async move {
            let answered = timeout(time, connection.simple(NOTHING)).await;
            drop(place);
            if answered.is_err() {
                connection.leave();
                connection.stop().await;
            }
        });
    }
}
