//! Counts and times of requests.

use super::times::{Times, merge, times};
use crate::figures::Requests;
use crate::outcome::{Outcome, Outcomes};

/// Counts of requests and of how they ended.
#[derive(Debug, Clone, Default)]
pub struct Counts {
    /// The totals.
    pub requests: Requests,
    /// The answers that came during a stage, whenever their requests were due.
    pub answered_within: u64,
    /// The expected answers among these.
    pub ok_within: u64,
    /// Counts by status from 100 to 599; others are rare.
    statuses: Vec<(Outcome, u64)>,
}

impl Counts {
    /// Counts a request.
    pub fn add(&mut self, outcome: Outcome, ok: bool, late: bool) {
        self.requests.total += 1;
        self.requests.ok += u64::from(ok);
        self.requests.failed += u64::from(!ok && outcome != Outcome::Unfinished);
        self.requests.late += u64::from(late);
        self.add_outcome(outcome, 1);
    }

    /// Counts an answer that came within a stage's own time.
    pub fn add_within(&mut self, ok: bool) {
        self.answered_within += 1;
        self.ok_within += u64::from(ok);
    }

    /// Adds the counts of another record.
    pub fn merge(&mut self, other: &Self) {
        self.requests.total += other.requests.total;
        self.requests.ok += other.requests.ok;
        self.requests.failed += other.requests.failed;
        self.requests.late += other.requests.late;
        self.answered_within += other.answered_within;
        self.ok_within += other.ok_within;
        for (outcome, count) in &other.statuses {
            self.add_outcome(*outcome, *count);
        }
    }

    /// Returns the counts by the outcome's name.
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

/// The record of some requests: all of a stage, or all of a step.
#[derive(Debug, Clone)]
pub struct Measured {
    /// How they ended.
    pub counts: Counts,
    /// The times from the due moment to the end of the answer.
    pub response: Times,
    /// The times from sending to the end of the answer; requests that were never sent have none.
    pub service: Times,
    /// The times from the due moment to sending.
    pub lag: Times,
}

impl Default for Measured {
    fn default() -> Self {
        Self { counts: Counts::default(), response: times(), service: times(), lag: times() }
    }
}

impl Measured {
    /// Adds the requests of another record.
    pub fn merge(&mut self, other: &Self) {
        self.counts.merge(&other.counts);
        merge(&mut self.response, &other.response);
        merge(&mut self.service, &other.service);
        merge(&mut self.lag, &other.lag);
    }
}
