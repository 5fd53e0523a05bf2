//! The request behind a piece of work in a store's queue: whether it still waits, and what it
//! holds.
//!
//! When a client hangs up, its work is skipped once its turn comes. Until then the request's places
//! stay taken, so that no client fills a queue beyond its share by hanging up.

use std::any::Any;
use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The data of a request; only the part that supplied it knows its type.
pub type Kept = Arc<dyn Any + Send + Sync>;

tokio::task_local! {
    static KEPT: Kept;
}

/// Runs a request. What it holds stays held by each read and write that it puts into a queue of the
/// store, until that is done or skipped, even if the request is abandoned before.
pub async fn keeping<F: Future>(kept: Kept, request: F) -> F::Output {
    KEPT.scope(kept, request).await
}

/// Returns what this task's request holds, for work that continues in another task.
pub fn kept() -> Option<Kept> {
    KEPT.try_with(Arc::clone).ok()
}

/// A queue's view of the request that asked for a piece of work.
#[derive(Debug, Default)]
pub(crate) struct Errand {
    _kept: Option<Kept>,
    is_left: Arc<AtomicBool>,
}

/// Marks the work as awaited until the value is dropped.
#[derive(Debug)]
pub(crate) struct Waiting(Arc<AtomicBool>);

impl Errand {
    /// Creates an errand for this task's request, and the value that marks it as awaited.
    pub(crate) fn awaited() -> (Self, Waiting) {
        let errand = Self { _kept: kept(), is_left: Arc::default() };
        let waiting = Waiting(Arc::clone(&errand.is_left));
        (errand, waiting)
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
