//! Counts of requests: how many arrived when, and how they ended.
#![expect(clippy::disallowed_methods, reason = "requests are counted by second")]

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

/// The number of seconds that are counted separately: two days.
const SECONDS_MAX: usize = 2 * 24 * 3600;

/// The number of milliseconds that are counted separately: ten minutes.
const MILLISECONDS_MAX: usize = 10 * 60 * 1000;

/// Counters since the first request.
#[derive(Debug)]
pub struct EchoCounts {
    first: OnceLock<Instant>,
    arrived: AtomicU64,
    answered: AtomicU64,
    shed: AtomicU64,
    failed: AtomicU64,
    by_second: Box<[AtomicU32]>,
    by_millisecond: Box<[AtomicU32]>,
}

/// How a request ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// It was answered normally.
    Answered,
    /// It was turned away because the queue was full.
    Shed,
    /// It got a planted error.
    Failed,
}

impl EchoCounts {
    /// Returns counters at zero.
    pub fn new(by_millisecond: bool) -> Self {
        let zeros = |many: usize| (0..many).map(|_| AtomicU32::new(0)).collect();
        Self {
            first: OnceLock::new(),
            arrived: AtomicU64::new(0),
            answered: AtomicU64::new(0),
            shed: AtomicU64::new(0),
            failed: AtomicU64::new(0),
            by_second: zeros(SECONDS_MAX),
            by_millisecond: zeros(if by_millisecond { MILLISECONDS_MAX } else { 0 }),
        }
    }

    /// Counts an arrival, and returns the time since the first one.
    pub fn arrive(&self) -> Duration {
        let now = Instant::now();
        let since = now.saturating_duration_since(*self.first.get_or_init(|| now));
        self.arrived.fetch_add(1, Ordering::Relaxed);
        let add = |counts: &[AtomicU32], at: u128| {
            let counter = usize::try_from(at).ok().and_then(|at| counts.get(at));
            counter.inspect(|counter| _ = counter.fetch_add(1, Ordering::Relaxed));
        };
        add(&self.by_second, u128::from(since.as_secs()));
        add(&self.by_millisecond, since.as_millis());
        since
    }

    /// Returns when the first request arrived.
    pub fn first(&self) -> Option<Instant> {
        self.first.get().copied()
    }

    /// Counts how a request ended.
    pub fn end(&self, became: Ending) {
        let counter = match became {
            Ending::Answered => &self.answered,
            Ending::Shed => &self.shed,
            Ending::Failed => &self.failed,
        };
        counter.fetch_add(1, Ordering::Relaxed);
    }

    /// Returns all counts as JSON. Arrivals are listed by second and by millisecond since the first
    /// one, without trailing zeros.
    pub fn as_json(&self) -> Value {
        let of = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let mut all = json!({
            "arrived": of(&self.arrived),
            "answered": of(&self.answered),
            "shed": of(&self.shed),
            "failed": of(&self.failed),
            "by_second": list(&self.by_second),
        });
        if !self.by_millisecond.is_empty() {
            all["by_millisecond"] = list(&self.by_millisecond).into();
        }
        all
    }
}

fn list(counts: &[AtomicU32]) -> Vec<u32> {
    let mut list: Vec<u32> = counts.iter().map(|count| count.load(Ordering::Relaxed)).collect();
    let end = list.iter().rposition(|count| *count > 0);
    list.truncate(end.map_or(0, |at| at + 1));
    list
}
