//! A connection that many probes use at the same time.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::runtime::Handle;

use crate::error::StoreError;
use crate::postgres::connection::{Connector, Role, Shared};
use crate::postgres::error::Fault;
use crate::postgres::reads::outage::Outage;

/// The place of a connection.
#[derive(Default)]
pub(super) struct Slot {
    current: Mutex<Option<Shared>>,
    /// Held by whoever makes the connection, so that no two do.
    making: Arc<tokio::sync::Mutex<()>>,
}

impl Slot {
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

    /// Forgets the connection; it ends when the last probe on it does.
    pub(super) fn clear(&self) {
        *self.current() = None;
    }

    fn open(&self) -> Option<Shared> {
        self.current().clone().filter(|connection| !connection.is_closed())
    }

    fn current(&self) -> MutexGuard<'_, Option<Shared>> {
        self.current.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
