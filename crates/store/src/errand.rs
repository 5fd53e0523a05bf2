//! A piece of work in a store's queue: who waits for it, and what its request keeps meanwhile.
//!
//! A client that hangs up leaves the work behind. It is passed over when its turn comes, and until then
//! the request's places stay taken, so that nobody fills a queue beyond its share by hanging up.

use std::any::Any;
use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// What a request keeps; of what type it is, only the part knows that gave it.
pub type Kept = Arc<dyn Any + Send + Sync>;

tokio::task_local! {
    static KEPT: Kept;
}

/// Runs a request. What it keeps goes with each read and write that it puts into a queue of the
/// store, until that is done or passed over, even when the request is given up before.
pub async fn keeping<F: Future>(kept: Kept, request: F) -> F::Output {
    KEPT.scope(kept, request).await
}

/// What the request of this task keeps, for work that goes on in another task.
pub fn kept() -> Option<Kept> {
    KEPT.try_with(Arc::clone).ok()
}

/// What a queue knows of the request that asked for a piece of work.
#[derive(Debug, Default)]
pub(crate) struct Errand {
    _kept: Option<Kept>,
    is_left: Arc<AtomicBool>,
}

/// Somebody who waits for a piece of work, until the value goes.
#[derive(Debug)]
pub(crate) struct Waiting(Arc<AtomicBool>);

impl Errand {
    /// An errand for this task's request, and what stands for the one who waits.
    pub(crate) fn awaited() -> (Self, Waiting) {
        let errand = Self { _kept: kept(), is_left: Arc::default() };
        let waiting = Waiting(Arc::clone(&errand.is_left));
        (errand, waiting)
    }

    /// Whether somebody still waits for it.
    pub(crate) fn is_wanted(&self) -> bool {
        !self.is_left.load(Ordering::Relaxed)
    }

    /// True from when nobody waits any more.
    pub(crate) fn is_left(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.is_left)
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}
