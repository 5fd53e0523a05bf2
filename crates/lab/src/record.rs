//! What was seen of requests, while they run: counts and histograms.

use hdrhistogram::Histogram;

use crate::outcome::{Outcome, Outcomes};
use crate::run::{Latency, Requests};

/// Times in microseconds, from 1 to ten minutes, three digits.
pub type Times = Histogram<u64>;

/// An empty histogram of times.
pub fn times() -> Times {
    let mut times = Times::new_with_bounds(1, 600_000_000, 3).expect("the bounds are right");
    times.auto(true);
    times
}

/// Counts of requests and how they ended.
#[derive(Debug, Clone, Default)]
pub struct Counts {
    /// Totals.
    pub requests: Requests,
    /// By status, those from 100 to 599; the rest is rare.
    statuses: Vec<(Outcome, u64)>,
}

impl Counts {
    /// Counts one.
    pub fn add(&mut self, outcome: Outcome, ok: bool, late: bool) {
        self.requests.total += 1;
        self.requests.ok += u64::from(ok);
        self.requests.failed += u64::from(!ok);
        self.requests.late += u64::from(late);
        self.add_outcome(outcome, 1);
    }

    /// Counts what another has counted.
    pub fn merge(&mut self, other: &Self) {
        self.requests.total += other.requests.total;
        self.requests.ok += other.requests.ok;
        self.requests.failed += other.requests.failed;
        self.requests.late += other.requests.late;
        for (outcome, count) in &other.statuses {
            self.add_outcome(*outcome, *count);
        }
    }

    /// By name.
    pub fn outcomes(&self) -> Outcomes {
        self.statuses.iter().map(|(outcome, count)| (outcome.name(), *count)).collect()
    }

    fn add_outcome(&mut self, outcome: Outcome, count: u64) {
        match self.statuses.iter_mut().find(|(of, _)| *of == outcome) {
            Some((_, counted)) => *counted += count,
            None => self.statuses.push((outcome, count)),
        }
    }
}

/// A histogram as figures, in milliseconds.
pub fn latency(times: &Times) -> Latency {
    let ms = |us: u64| us as f64 / 1e3;
    let at = |percentile: f64| ms(times.value_at_quantile(percentile / 100.0));
    if times.is_empty() {
        return Latency::default();
    }
    Latency {
        mean: times.mean() / 1e3,
        sd: times.stdev() / 1e3,
        min: ms(times.min()),
        p50: at(50.0),
        p75: at(75.0),
        p90: at(90.0),
        p95: at(95.0),
        p98: at(98.0),
        p99: at(99.0),
        p99_9: at(99.9),
        max: ms(times.max()),
    }
}
