//! The figures of some requests, as run files have them.

use serde::{Deserialize, Serialize};

use crate::outcome::Outcomes;

/// Requests by how they ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Requests {
    /// All requests that were due.
    pub total: u64,
    /// Requests that were answered as the step expects, including its checks.
    pub ok: u64,
    /// All other requests, except those that an interruption cut off.
    pub failed: u64,
    /// Requests sent more than a millisecond late because every connection was waiting; they also
    /// count among the two above.
    pub late: u64,
}

/// A distribution of times, in milliseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Latency {
    /// The mean.
    pub mean: f64,
    /// The standard deviation.
    pub sd: f64,
    /// The least value.
    pub min: f64,
    /// The median.
    pub p50: f64,
    /// The 75th percentile.
    pub p75: f64,
    /// The 90th percentile.
    pub p90: f64,
    /// The 95th percentile.
    pub p95: f64,
    /// The 98th percentile.
    pub p98: f64,
    /// The 99th percentile.
    pub p99: f64,
    /// The 99.9th percentile.
    pub p99_9: f64,
    /// The greatest value.
    pub max: f64,
}

/// The results of one second of a run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    /// Its beginning, in seconds since the run began.
    pub at_s: f64,
    /// Requests that were due in it.
    pub due: u64,
    /// Requests whose answer or failure came in it.
    pub answered: u64,
    /// How many of these were as expected.
    pub ok: u64,
    /// These requests by how they ended.
    pub outcomes: Outcomes,
    /// The mean of their response times.
    pub mean_ms: f64,
    /// The median of their response times.
    pub p50_ms: f64,
    /// The 99th percentile of their response times.
    pub p99_ms: f64,
    /// The greatest of their response times.
    pub max_ms: f64,
    /// Requests that were sent and not answered by its end.
    pub in_flight: u64,
}
