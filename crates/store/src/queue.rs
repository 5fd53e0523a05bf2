//! The way to an engine's writer: a bounded queue of jobs and the one thread that takes them.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::thread::JoinHandle;

use crate::error::StoreError;
use crate::store::Job;

/// Most jobs in one transaction: bounds both the wait of the first and the size of a transaction.
pub(crate) const GROUP_MAX: usize = 256;

/// What the writer's thread takes from.
pub(crate) type Arrivals = Receiver<Box<dyn Job>>;

type Jobs = SyncSender<Box<dyn Job>>;

/// Jobs for a thread of its own.
pub(crate) struct Queue {
    /// Jobs that are not answered yet; the writer counts down.
    waiting: Arc<AtomicUsize>,
    jobs: RwLock<Option<Jobs>>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Queue {
    /// Starts the writer; `length` bounds the jobs that wait.
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

    /// Hands a job over without waiting for a place in the queue.
    pub(crate) fn offer(&self, job: Box<dyn Job>) -> Result<(), StoreError> {
        self.hand(|jobs| {
            jobs.try_send(job).map_err(|error| match error {
                TrySendError::Full(_) => StoreError::Busy,
                TrySendError::Disconnected(_) => StoreError::Closed,
            })
        })
    }

    /// Hands a job over and waits for a place in the queue.
    pub(crate) fn push(&self, job: Box<dyn Job>) -> Result<(), StoreError> {
        self.hand(|jobs| jobs.send(job).map_err(|_| StoreError::Closed))
    }

    /// Jobs that are not answered yet.
    pub(crate) fn waiting(&self) -> usize {
        self.waiting.load(Ordering::Relaxed)
    }

    fn hand(&self, send: impl FnOnce(&Jobs) -> Result<(), StoreError>) -> Result<(), StoreError> {
        // A clone, so that one who waits for a place keeps nobody out.
        let jobs = self.jobs.read().unwrap_or_else(PoisonError::into_inner).clone();
        let jobs = jobs.ok_or(StoreError::Closed)?;
        self.waiting.fetch_add(1, Ordering::Relaxed);
        send(&jobs).inspect_err(|_| _ = self.waiting.fetch_sub(1, Ordering::Relaxed))
    }

    /// Takes no more jobs and waits until those that were taken are done and the writer has ended.
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

/// Waits for a thread, unless it is this one: the last to hold a store may be a job of its own.
pub(crate) fn join(thread: JoinHandle<()>) {
    if thread.thread().id() != std::thread::current().id() && thread.join().is_err() {
        tracing::error!("a thread of the store panicked");
    }
}
