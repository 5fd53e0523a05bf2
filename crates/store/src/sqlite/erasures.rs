//! Requests to remove the bytes that deleted rows have left in the files.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use tokio::sync::oneshot::{Receiver, Sender, channel};

use crate::error::StoreError;

/// Who waits until the bytes of deleted rows are gone.
#[derive(Default)]
pub(crate) struct Erasures {
    waiting: Mutex<Vec<Sender<Result<(), StoreError>>>>,
    /// Whether the log may still have such bytes.
    is_log_left: AtomicBool,
}

impl Erasures {
    /// Asks for it, at the end of the writer's next transaction.
    pub(crate) fn ask(&self) -> Receiver<Result<(), StoreError>> {
        let (done, wait) = channel();
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner).push(done);
        wait
    }

    /// Returns whether the log has to be emptied although it is small.
    pub(crate) fn is_log_left(&self) -> bool {
        self.is_log_left.load(Ordering::Acquire)
    }

    /// Notes that the log is empty.
    pub(crate) fn log_is_empty(&self) {
        self.is_log_left.store(false, Ordering::Release);
    }

    /// Notes that the log may still have such bytes.
    pub(crate) fn log_may_be_left(&self) {
        self.is_log_left.store(true, Ordering::Release);
    }

    /// Takes all who wait.
    pub(crate) fn take(&self) -> Vec<Sender<Result<(), StoreError>>> {
        std::mem::take(&mut self.waiting.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
