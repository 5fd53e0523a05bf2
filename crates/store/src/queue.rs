//! The queue of an engine's writer: a bounded queue of jobs, and the one thread that takes them.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::thread::JoinHandle;

use crate::error::StoreError;
use crate::store::Job;

/// Most jobs in one transaction. It bounds both the wait of the first job and the transaction's
/// size.
pub(crate) const GROUP_MAX: usize = 256;

/// The receiving end, for the writer's thread.
pub(crate) type Arrivals = Receiver<Box<dyn Job>>;

type Jobs = SyncSender<Box<dyn Job>>;

/// A queue of jobs for a thread of its own.
pub(crate) struct Queue {
    /// Number of jobs that are not answered yet; the writer decrements it.
    waiting: Arc<AtomicUsize>,
    jobs: RwLock<Option<Jobs>>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Queue {
    /// Starts the writer; `length` is the most jobs that may wait.
    pub(crate) fn start(
        length: usize,
        waiting: Arc<AtomicUsize>,
        work: impl FnOnce(Arrivals) + Send + 'static,
    ) -> Result<Self, StoreError> {
        let (jobs, arrivals) = sync_channel(length);
        let thread = std::thread::Builder::new()
            .name("store-writer".into())
            .spawn(move || work(arrivals))
            .map_err(|error| StoreError::Failed(error.to_string()))?;
        Ok(Self { waiting, jobs: RwLock::new(Some(jobs)), thread: Mutex::new(Some(thread)) })
    }

    /// Submits a job without waiting for room in the queue.
    pub(crate) fn offer(&self, job: Box<dyn Job>) -> Result<(), StoreError> {
        self.hand(|jobs| {
            jobs.try_send(job).map_err(|error| match error {
                TrySendError::Full(_) => StoreError::Busy,
                TrySendError::Disconnected(_) => StoreError::Closed,
            })
        })
    }

    /// Submits a job and waits for room in the queue.
    pub(crate) fn push(&self, job: Box<dyn Job>) -> Result<(), StoreError> {
        self.hand(|jobs| jobs.send(job).map_err(|_| StoreError::Closed))
    }

    /// Returns the number of jobs that are not answered yet.
    pub(crate) fn waiting(&self) -> usize {
        self.waiting.load(Ordering::Relaxed)
    }

    fn hand(&self, send: impl FnOnce(&Jobs) -> Result<(), StoreError>) -> Result<(), StoreError> {
        // A clone, so that a caller that waits for room does not hold the lock.
        let jobs = self.jobs.read().unwrap_or_else(PoisonError::into_inner).clone();
        let jobs = jobs.ok_or(StoreError::Closed)?;
        self.waiting.fetch_add(1, Ordering::Relaxed);
        send(&jobs).inspect_err(|_| _ = self.waiting.fetch_sub(1, Ordering::Relaxed))
    }

    /// Accepts no more jobs, and waits until the accepted ones are done and the writer has ended.
    pub(crate) fn close(&self) {
        drop(self.jobs.write().unwrap_or_else(PoisonError::into_inner).take());
        let mut thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(thread) = thread.take() {
            join(thread);
        }
    }
}

impl Drop for Queue {
    fn drop(&mut self) {
        self.close();
    }
}

/// Joins a thread, unless it is the current one: a job may be the last to hold a store.
pub(crate) fn join(thread: JoinHandle<()>) {
    if thread.thread().id() != std::thread::current().id() && thread.join().is_err() {
        tracing::error!("a thread of the store panicked");
    }
}
