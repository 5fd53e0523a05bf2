//! What a search for the capacity found, as a report shows it.

use super::words;

/// The result of a search.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Search {
    /// The three levels.
    pub levels: Levels,
    /// Why the figures are no result of the server; empty if they are.
    pub spoilt: String,
    /// Every trial, in order.
    pub tried: Vec<Tried>,
    /// What else is to be said, in sentences: a forecast, a cross-check.
    pub remarks: Vec<String>,
}

/// The three levels, those that were found.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Levels {
    /// Held for as long as one likes.
    pub stable: Option<Level>,
    /// Held for a short while from idle.
    pub burst: Option<Level>,
    /// Where service breaks down.
    pub failure: Option<Level>,
}

/// A level: a rate and where it may lie.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Level {
    /// Requests a second.
    pub rate: f64,
    /// The low end of its interval.
    pub low: f64,
    /// The high end.
    pub high: f64,
}

/// A trial of a search.
#[derive(Debug, Clone, PartialEq)]
pub struct Tried {
    /// What it was for: `bracket`, `narrow`, `confirm`, …
    pub phase: String,
    /// Requests a second that were asked for.
    pub rate: f64,
    /// Answers as expected, a second.
    pub goodput: f64,
    /// Mean response time in milliseconds.
    pub mean_ms: f64,
    /// 95th percentile of the response time in milliseconds.
    pub p95_ms: f64,
    /// Share of requests that did not end as expected.
    pub failed_share: f64,
    /// What became of it.
    pub ended: TriedAs,
    /// Why, in words; empty for nothing to say.
    pub why: String,
}

/// What became of a trial.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TriedAs {
    /// The load was held.
    Held,
    /// It was not.
    Failed,
    /// Generator or host spoilt it, or it was too short to tell.
    Void,
}

impl TriedAs {
    /// In a word.
    pub fn word(self) -> &'static str {
        match self {
            Self::Held => "held",
            Self::Failed => "not held",
            Self::Void => "void",
        }
    }
}

impl Levels {
    /// Name, meaning and value of each, in order.
    pub fn named(&self) -> [(&'static str, &'static str, Option<Level>); 3] {
        [
            ("Stable", "Held for as long as you like: mean response below 1 s.", self.stable),
            ("Burst", "Held for a short while, beginning idle.", self.burst),
            ("Failure", "From here on service breaks down.", self.failure),
        ]
    }
}

impl Search {
    /// The answer in one sentence without a full stop.
    pub fn headline(&self) -> String {
        let stable = self.levels.stable.map(|level| words::figure(level.rate));
        match (stable, self.spoilt.is_empty()) {
            (Some(rate), true) => format!("Holds {rate} requests/s"),
            (Some(rate), false) => {
                format!("At least {rate} requests/s: {}", words::name(&self.spoilt))
            }
            (None, true) => "No load was held".into(),
            (None, false) => format!("Not judged: {}", words::name(&self.spoilt)),
        }
    }
}
