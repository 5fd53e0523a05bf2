//! The queue of an engine's writer: a bounded queue of jobs, and the one thread that takes them.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use crate::error::StoreError;
use crate::fair::{FairQueue, Next, NotTaken, Waits};
use crate::store::Job;
use crate::waiting::{Busy, QueueLoad, QueueName};

/// Most jobs in one transaction. It bounds both the wait of the first job and the transaction's
/// size.
const GROUP_MAX: usize = 256;
/// The same where jobs of several owners wait: whoever comes next waits for what is left of a
/// transaction, however much another has sent.
const SHARED_GROUP_MAX: usize = 64;

type Jobs = FairQueue<Box<dyn Job>>;

impl Waits for Box<dyn Job> {
    fn owner(&self) -> u64 {
        (**self).owner()
    }

    fn is_late(&self) -> bool {
        (**self).is_late()
    }
}

/// The receiving end, for the writer's thread. Once it is dropped, nothing more is accepted.
pub(crate) struct Arrivals(Arc<Jobs>);

impl Arrivals {
    /// Waits for a job; [`None`] once the queue is closed and empty.
    pub(crate) fn next(&self) -> Option<Box<dyn Job>> {
        self.0.next()
    }

    /// Waits for a job for at most `time`.
    pub(crate) fn next_within(&self, time: Duration) -> Next<Box<dyn Job>> {
        self.0.next_within(time)
    }

    /// Returns the next job for a group, unless nothing waits or the group is large enough.
    pub(crate) fn next_of(&self, group: &mut Group) -> Option<Box<dyn Job>> {
        let max = if group.is_shared { SHARED_GROUP_MAX } else { GROUP_MAX };
        if group.count >= max {
            return None;
        }
        let job = self.0.try_next()?;
        group.add(&*job);
        Some(job)
    }
}

impl Drop for Arrivals {
    fn drop(&mut self) {
        self.0.abandon();
    }
}

/// Whose jobs are in a transaction.
#[derive(Debug)]
pub(crate) struct Group {
    count: usize,
    owner: u64,
    is_shared: bool,
}

impl Group {
    /// Creates a group of one job.
    pub(crate) fn of(first: &dyn Job) -> Self {
        Self { count: 1, owner: first.owner(), is_shared: false }
    }

    fn add(&mut self, job: &dyn Job) {
        self.count += 1;
        self.is_shared |= job.owner() != self.owner;
    }
}

/// A queue of jobs for a thread of its own. Owners of jobs take turns.
pub(crate) struct Queue {
    /// Number of jobs that are not answered yet; the writer decrements it.
    waiting: Arc<AtomicUsize>,
    jobs: Arc<Jobs>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Queue {
    /// Starts the writer; `length` is the most jobs that may wait for it.
    pub(crate) fn start(
        length: usize,
        waiting: Arc<AtomicUsize>,
        work: impl FnOnce(Arrivals) + Send + 'static,
    ) -> Result<Self, StoreError> {
        let jobs = Arc::new(Jobs::new(length));
        let arrivals = Arrivals(Arc::clone(&jobs));
        let thread = std::thread::Builder::new()
            .name("store-writer".into())
            .spawn(move || work(arrivals))
            .map_err(|error| StoreError::Failed(error.to_string()))?;
        Ok(Self { waiting, jobs, thread: Mutex::new(Some(thread)) })
    }

    /// Submits a job without waiting for room in the queue.
    pub(crate) fn offer(&self, job: Box<dyn Job>) -> Result<(), StoreError> {
        self.waiting.fetch_add(1, Ordering::Relaxed);
        self.jobs.offer(job).map_err(|not_taken| {
            self.waiting.fetch_sub(1, Ordering::Relaxed);
            match not_taken {
                NotTaken::Full => StoreError::Busy(Busy::Full(QueueName::Writes)),
                NotTaken::Closed => StoreError::Closed,
            }
        })
    }

    /// Submits a job and waits for room in the queue.
    pub(crate) fn push(&self, job: Box<dyn Job>) -> Result<(), StoreError> {
        self.waiting.fetch_add(1, Ordering::Relaxed);
        if self.jobs.push(job) {
            return Ok(());
        }
        self.waiting.fetch_sub(1, Ordering::Relaxed);
        Err(StoreError::Closed)
    }

    /// Returns the number of jobs that are not answered yet.
    pub(crate) fn waiting(&self) -> usize {
        self.waiting.load(Ordering::Relaxed)
    }

    /// Returns how full it is; jobs of the transaction that is running do not count.
    pub(crate) fn load(&self) -> QueueLoad {
        QueueLoad {
            queue: QueueName::Writes,
            size: self.jobs.size() as u64,
            used: self.jobs.count() as u64,
            refused: self.jobs.refused(),
        }
    }

    /// Accepts no more jobs, and waits until the accepted ones are done and the writer has ended.
    pub(crate) fn close(&self) {
        self.jobs.close();
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
