//! The record of one second.

use super::counts::Counts;
use super::times::{Times, latency, merge, times};
use crate::figures::Interval;

/// The record of one second of a run.
#[derive(Debug, Clone)]
pub struct Second {
    /// Its number, from 0.
    pub number: u64,
    /// The requests that ended in it.
    pub counts: Counts,
    /// Their response times.
    pub response: Times,
    /// The requests of modelled clients that were due in it; those of a rate are known beforehand.
    pub due: u64,
    /// The requests that waited for an answer at its end.
    pub in_flight: u64,
    /// When sending was told to end, in nanoseconds since the run began; `None` if it was not by
    /// then.
    pub stopped_at: Option<u64>,
}

impl Second {
    /// Returns an empty record of the second with this number.
    pub fn new(number: u64) -> Self {
        Self {
            number,
            counts: Counts::default(),
            response: times(),
            due: 0,
            in_flight: 0,
            stopped_at: None,
        }
    }

    /// Adds another thread's record of the same second.
    pub fn merge(&mut self, other: &Self) {
        self.counts.merge(&other.counts);
        merge(&mut self.response, &other.response);
        self.due += other.due;
        self.in_flight += other.in_flight;
        self.stopped_at = self.stopped_at.max(other.stopped_at);
    }

    /// Returns the moment before which requests of a rate count as due by its end, in nanoseconds
    /// since the run began. None is due after sending was told to end.
    pub fn due_before(&self) -> u64 {
        let end = (self.number + 1) * 1_000_000_000;
        self.stopped_at.map_or(end, |stopped| end.min(stopped + 1))
    }

    /// Returns a row of a run file; `due` is the number of requests due at a rate.
    pub fn interval(&self, due: u64) -> Interval {
        let latency = latency(&self.response);
        Interval {
            at_s: self.number as f64,
            due: due + self.due,
            answered: self.counts.requests.total,
            ok: self.counts.requests.ok,
            outcomes: self.counts.outcomes(),
            mean_ms: latency.mean,
            p50_ms: latency.p50,
            p99_ms: latency.p99,
            max_ms: latency.max,
            in_flight: self.in_flight,
        }
    }
}
