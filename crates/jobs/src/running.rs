//! A job in the hands of its handler.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::Value;
use tokio::sync::watch;

use crate::job::{JobId, Progress};

/// Why a handler should stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    /// Somebody has cancelled the job.
    Cancelled,
    /// The server stops: return [`crate::Failed::GivenBack`], or finish quickly.
    ServerStops,
    /// The lease was lost, and another node may do the job by now: do nothing more.
    LeaseLost,
}

/// A request to a handler to stop.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Order {
    /// Why it should stop.
    pub(crate) stop: Stop,
    /// How long it may take; then it is ended.
    pub(crate) within: Duration,
}

/// The progress that a handler has told, and that is not stored yet.
pub(crate) type Told = Arc<Mutex<Option<Progress>>>;

/// Takes what a handler has told.
pub(crate) fn take(told: &Told) -> Option<Progress> {
    told.lock().unwrap_or_else(PoisonError::into_inner).take()
}

/// Puts back what could not be stored, unless the handler has told something newer.
pub(crate) fn put_back(told: &Told, progress: Option<Progress>) {
    let mut told = told.lock().unwrap_or_else(PoisonError::into_inner);
    *told = told.take().or(progress);
}

/// A job in the hands of its handler.
#[derive(Debug)]
pub struct Running {
    /// Its id.
    pub id: JobId,
    /// Whose job it is.
    pub owner: String,
    /// What is to be done.
    pub input: Value,
    /// The number of this attempt, from 1.
    pub attempt: u32,
    pub(crate) told: Told,
    pub(crate) orders: watch::Receiver<Option<Order>>,
}

impl Running {
    /// Tells how far the job has come. It is stored within about a second; of several in between
    /// only the last one.
    pub fn progress(&self, progress: Progress) {
        *self.told.lock().unwrap_or_else(PoisonError::into_inner) = Some(progress);
    }

    /// Returns why the handler should stop, if it should. A handler that does not ask is ended a
    /// little later, where it waits; work on other threads is not ended by that.
    pub fn stop(&self) -> Option<Stop> {
        self.orders.borrow().map(|order| order.stop)
    }

    /// Waits until the handler should stop.
    pub async fn stopped(&self) -> Stop {
        let mut orders = self.orders.clone();
        match orders.wait_for(Option::is_some).await.map(|order| *order) {
            Ok(Some(order)) => order.stop,
            // The runner is gone, and nobody extends the lease.
            Ok(None) | Err(_) => Stop::LeaseLost,
        }
    }
}
