//! The state that all connections of an echo share.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::sync::Notify;

use super::counts::EchoCounts;
use super::freeze::Freezer;
use super::options::EchoOptions;
use super::queue::Queue;

/// State that all connections share.
#[derive(Debug)]
pub struct EchoState {
    pub options: EchoOptions,
    pub body: bytes::Bytes,
    pub counts: EchoCounts,
    pub freezer: Option<Freezer>,
    pub queue: Option<Mutex<Queue>>,
    pub failed_at: AtomicU64,
    pub over: Notify,
}

impl EchoState {
    /// Returns the state before the first request.
    pub fn new(options: EchoOptions) -> Self {
        Self {
            body: vec![b'x'; options.body_bytes.unwrap_or(0)].into(),
            counts: EchoCounts::new(options.by_millisecond),
            freezer: options.freeze.map(|(at, time)| Freezer::new(at, time)),
            queue: options.capacity.map(|capacity| Queue::new(capacity).into()),
            failed_at: AtomicU64::new(0),
            over: Notify::new(),
            options,
        }
    }

    /// Returns whether the next request is to fail. Failures are spread evenly over all requests,
    /// so the share is exact.
    pub fn next_fails(&self, share: f64) -> bool {
        let number = self.failed_at.fetch_add(1, Ordering::Relaxed);
        let whole = |number: u64| (number as f64 * share).floor();
        whole(number + 1) > whole(number)
    }
}
