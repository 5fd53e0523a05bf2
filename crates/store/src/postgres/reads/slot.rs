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

/// Most probes that the server has not answered yet; further ones wait on this side. A probe that is
/// given up counts until its answer has come, so that nobody fills the connection by hanging up.
const PROBES_MAX: usize = 256;
/// Asks nothing. The server answers in the order of asking, so all before it is answered, too.
const NOTHING: &str = "SELECT 1";

/// The place of a connection.
pub(super) struct Slot {
    current: Mutex<Option<Shared>>,
    places: Arc<Semaphore>,
    /// Held while the connection is made, so that no two are.
    making: Arc<tokio::sync::Mutex<()>>,
}

impl Default for Slot {
    fn default() -> Self {
        let places = Arc::new(Semaphore::new(PROBES_MAX));
        Self { current: Mutex::default(), places, making: Arc::default() }
    }
}

impl Slot {
    /// Waits for the place of a probe.
    pub(super) async fn place(&self) -> Result<OwnedSemaphorePermit, Fault> {
        let place = Arc::clone(&self.places).acquire_owned().await;
        place.map_err(|_| StoreError::Closed.into())
    }

    /// The connection; makes it where there is none. That goes on where nobody waits for it.
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

    /// Forgets the connection, which ends when the last probe on it does, and lets nobody in.
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

/// A probe on its way, with its place.
pub(super) struct Probe<'a> {
    connection: &'a Shared,
    /// [`None`] once the probe is over.
    place: Option<OwnedSemaphorePermit>,
    runtime: &'a Handle,
    time: Duration,
}

impl<'a> Probe<'a> {
    /// A probe on `connection`, which the server answers within `time` if it is alive.
    pub(super) fn on(
        connection: &'a Shared,
        place: OwnedSemaphorePermit,
        runtime: &'a Handle,
        time: Duration,
    ) -> Self {
        Self { connection, place: Some(place), runtime, time }
    }

    /// Gives the place back: the answer is there, or the connection is not used any more.
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
