//! The request behind a piece of work in a store's queue: whether it still waits, and what it
//! holds.
//!
//! When a client hangs up, its work is skipped once its turn comes. Until then the request's places
//! stay taken, so that no client fills a queue beyond its share by hanging up. The same holds for work
//! whose deadline has passed when its turn comes: its caller has stopped waiting.
#![expect(clippy::disallowed_methods, reason = "work has a deadline")]

use std::any::Any;
use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use tokio::task::JoinHandle;

/// The data of a request; only the part that supplied it knows its type.
pub type Kept = Arc<dyn Any + Send + Sync>;

tokio::task_local! {
    static ASKER: Asker;
}

/// The request on whose behalf work is done.
#[derive(Debug, Clone)]
pub struct Asker {
    /// What the request holds.
    pub kept: Kept,
    /// The number of whoever sent it: in the queues of the store, owners take turns. 0 is the server
    /// itself.
    pub owner: u64,
    /// When its caller stops waiting. Work whose turn comes later is not done.
    pub until: Option<Instant>,
}

impl Asker {
    /// Runs a request. What it holds stays held by each read and write that it puts into a queue of
    /// the store, until that is done or skipped, even if the request is abandoned before.
    pub async fn run<F: Future>(self, request: F) -> F::Output {
        ASKER.scope(self, request).await
    }

    /// Runs work of a request on a thread that may block.
    pub fn run_blocking<T>(self, work: impl FnOnce() -> T) -> T {
        ASKER.sync_scope(self, work)
    }
}

/// Begins work of this task's request on a thread that may block. It ends even if nobody waits for it any
/// more, and until then holds what the request holds.
pub fn spawn_blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> JoinHandle<T> {
    let asker = asker();
    tokio::task::spawn_blocking(move || match asker {
        Some(asker) => asker.run_blocking(work),
        None => work(),
    })
}

/// Does the same as [`Asker::run`] for a request whose sender is not known.
pub async fn keeping<F: Future>(kept: Kept, request: F) -> F::Output {
    Asker { kept, owner: 0, until: None }.run(request).await
}

/// Returns this task's request, for work that continues in another task.
pub fn asker() -> Option<Asker> {
    ASKER.try_with(Clone::clone).ok()
}

/// Returns what this task's request holds, for work that continues in another task.
pub fn kept() -> Option<Kept> {
    ASKER.try_with(|asker| Arc::clone(&asker.kept)).ok()
}

/// A queue's view of the request that asked for a piece of work.
#[derive(Debug, Default)]
pub(crate) struct Errand {
    _kept: Option<Kept>,
    owner: u64,
    until: Option<Instant>,
    is_left: Arc<AtomicBool>,
}

/// Marks the work as awaited until the value is dropped.
#[derive(Debug)]
pub(crate) struct Waiting(Arc<AtomicBool>);

impl Errand {
    /// Creates an errand for this task's request, and the value that marks it as awaited.
    pub(crate) fn awaited() -> (Self, Waiting) {
        let (kept, owner, until) = match asker() {
            Some(Asker { kept, owner, until }) => (Some(kept), owner, until),
            None => (None, 0, None),
        };
        let errand = Self { _kept: kept, owner, until, is_left: Arc::default() };
        let waiting = Waiting(Arc::clone(&errand.is_left));
        (errand, waiting)
    }

    /// Returns the same errand, which is late after `time` at the latest.
    pub(crate) fn within(self, time: Duration) -> Self {
        let end = Instant::now().checked_add(time);
        let until = [self.until, end].into_iter().flatten().min();
        Self { until, ..self }
    }

    /// Returns the number of whoever asked for the work.
    pub(crate) fn owner(&self) -> u64 {
        self.owner
    }

    /// Returns whether nobody wants the work any more because its deadline has passed.
    pub(crate) fn is_late(&self) -> bool {
        self.until.is_some_and(|until| Instant::now() >= until)
    }

    /// Returns how much of `time` is left until the deadline.
    pub(crate) fn time_left(&self, time: Duration) -> Duration {
        let left = self.until.map(|until| until.saturating_duration_since(Instant::now()));
        left.map_or(time, |left| left.min(time))
    }

    /// Returns whether the work is still awaited.
    pub(crate) fn is_wanted(&self) -> bool {
        !self.is_left.load(Ordering::Relaxed)
    }

    /// Returns a flag that becomes true once nobody waits any more.
    pub(crate) fn is_left(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.is_left)
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}
