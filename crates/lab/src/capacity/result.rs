//! The result of a search: the capacity file.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::constants::Constants;
use super::judge::TrialVerdict;
use super::levels::Levels;
use crate::statistics::{Estimate, Forecast};

/// The format version that this version writes.
pub const FORMAT: u32 = 1;

/// How much load a server holds, as in the capacity file. Rates are in requests per second.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Capacity {
    /// The format version: [`FORMAT`].
    pub format: u32,
    /// How far the levels are the server's own.
    pub verdict: Verdict,
    /// The reasons for the verdict, and anything else that a reader should know.
    pub reasons: Vec<String>,
    /// Stable, burst and failure.
    #[serde(flatten)]
    pub levels: Levels,
    /// The mean response time with which the stable level was confirmed.
    pub stable_mean_ms: Estimate,
    /// The generator's limit, as the self-check measured it.
    pub generator_ceiling: Option<f64>,
    /// The result of the self-check, if there was one.
    #[serde(default)]
    pub self_check: Option<SelfCheck>,
    /// The knee of goodput over rate, a cross-check of the stable level.
    pub knee: Option<f64>,
    /// The throughput expected with more concurrent clients, by the universal scalability law.
    pub usl: Option<Forecast>,
    /// The seconds spent, including drains and self-check.
    pub seconds: f64,
    /// The seconds spent in each phase.
    pub phases: BTreeMap<Phase, f64>,
    /// All trials, in order.
    pub trials: Vec<Tried>,
    /// The constants of the search.
    pub constants: Constants,
}

/// The self-check's measurements of the generator alone.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct SelfCheck {
    /// The requests per second against a server that does nothing.
    pub ceiling: f64,
    /// The 99th percentile of the send lag at an easy rate, in milliseconds.
    pub lag_p99_ms: f64,
    /// The undisturbed score of the fixed piece of work: rounds per microsecond.
    pub spin_reference: f64,
    /// How long the self-check took, in seconds.
    pub seconds: f64,
}

impl SelfCheck {
    /// Returns the generator's limit in the form that the search takes.
    pub fn ceiling(&self) -> Ceiling {
        Ceiling { rate: Some(self.ceiling), seconds: self.seconds }
    }
}

/// The generator's limit, as the self-check measured it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ceiling {
    /// The requests per second against a server that does nothing; `None` if this was not measured.
    pub rate: Option<f64>,
    /// How long the self-check took, in seconds; it counts against the budget.
    pub seconds: f64,
}

/// How far the levels are the server's own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Verdict {
    /// They are the server's own.
    #[serde(rename = "CLEAN")]
    Clean,
    /// The generator was the limit: the server holds at least this.
    #[serde(rename = "GENERATOR-LIMITED")]
    GeneratorLimited,
    /// The host of the generator was too unsteady: the server holds at least this.
    #[serde(rename = "HOST-NOISY")]
    HostNoisy,
    /// The server did not behave the same twice: it became faster or slower, or had pauses of its
    /// own.
    #[serde(rename = "TARGET-UNSTEADY")]
    TargetUnsteady,
    /// No rate was found that keeps the goal.
    #[serde(rename = "TARGET-FAILING")]
    TargetFailing,
    /// The highest rate that was asked for passes: the server holds at least this.
    #[serde(rename = "LIMIT-OF-SEARCH")]
    LimitOfSearch,
    /// The time ended before the interval was narrow.
    #[serde(rename = "OUT-OF-TIME")]
    OutOfTime,
    /// The search was told to stop: the levels are what was known by then.
    #[serde(rename = "INTERRUPTED")]
    Interrupted,
}

impl Verdict {
    /// Returns its name in files and reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Clean => "CLEAN",
            Self::GeneratorLimited => "GENERATOR-LIMITED",
            Self::HostNoisy => "HOST-NOISY",
            Self::TargetUnsteady => "TARGET-UNSTEADY",
            Self::TargetFailing => "TARGET-FAILING",
            Self::LimitOfSearch => "LIMIT-OF-SEARCH",
            Self::OutOfTime => "OUT-OF-TIME",
            Self::Interrupted => "INTERRUPTED",
        }
    }

    /// Returns its meaning, in a sentence.
    pub fn meaning(self) -> &'static str {
        match self {
            Self::Clean => "The levels are the server's own.",
            Self::GeneratorLimited => "The generator was the limit: the server may hold more.",
            Self::HostNoisy => "The host was noisy: the server may hold more.",
            Self::TargetUnsteady => "The server did not behave the same twice.",
            Self::TargetFailing => "No rate kept the goal.",
            Self::LimitOfSearch => "The highest rate that was allowed was held.",
            Self::OutOfTime => "Time ran out before the answer was precise.",
            Self::Interrupted => "It was stopped before the answer was precise.",
        }
    }

    /// Returns whether the levels are only the least that the server holds.
    pub fn is_at_least(self) -> bool {
        matches!(self, Self::GeneratorLimited | Self::HostNoisy | Self::LimitOfSearch)
    }
}

/// A phase of the search.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// Measures the generator's limit before the search.
    SelfCheck,
    /// Finds a rate that passes and one that fails.
    Bracket,
    /// Brings these rates closer together.
    Narrow,
    /// Holds the stable level for long.
    Confirm,
    /// Almost no load, so that a server that did not drain comes to rest.
    Rest,
    /// Windows above stable, for burst and failure.
    Above,
    /// Holds a rate for long whose window kept the goal of stable.
    Lift,
    /// Well below stable, for the report's picture of a healthy server.
    Healthy,
    /// Well above stable, for the report's picture of an unhealthy one.
    Unhealthy,
    /// Checks the stable level once more at the end.
    Check,
}

impl Phase {
    /// Returns what the phase does, in words.
    pub fn words(self) -> &'static str {
        match self {
            Self::SelfCheck => "what the generator can do",
            Self::Bracket => "looking for a rate that fails",
            Self::Narrow => "narrowing the stable level",
            Self::Confirm => "confirming the stable level",
            Self::Rest => "letting the server come to rest",
            Self::Above => "looking for burst and failure",
            Self::Lift => "confirming a higher stable level",
            Self::Healthy => "profile of a healthy server",
            Self::Unhealthy => "profile of an unhealthy server",
            Self::Check => "the stable level once more",
        }
    }
}

/// A trial as stored in the file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Tried {
    /// The phase that it belonged to.
    pub phase: Phase,
    /// The rate in requests per second.
    pub rate: f64,
    /// The length in seconds, without the drain.
    pub seconds: f64,
    /// The length of the drain in seconds.
    pub drain_s: f64,
    /// The verdict about the stable goal.
    pub verdict: TrialVerdict,
    /// The reason for the verdict, in words.
    pub why: String,
    /// Mean response time in milliseconds, after the warm-up.
    pub mean_ms: Estimate,
    /// The 5th, 50th, 95th and 99th percentile of the response time in milliseconds.
    pub percentiles_ms: [f64; 4],
    /// The share that did not end as expected.
    pub not_ok_share: f64,
    /// The rise of the response time over the trial in milliseconds; 0 if it may be chance.
    pub growth_ms: f64,
    /// The share of the due requests by which answers fell behind; 0 if they kept up.
    #[serde(default)]
    pub behind: f64,
    /// Expected answers per second while sending.
    pub goodput: f64,
    /// The mean number of waiting requests.
    pub waiting: f64,
    /// The gap in Little's law, as a share.
    pub little_gap: f64,
    /// The 99th percentile of the send lag in milliseconds.
    pub lag_p99_ms: f64,
    /// The share of its cores that the generator used.
    pub generator_share: f64,
    /// The share of processor time that the host took.
    pub steal_share: f64,
    /// The speed of this machine, as a share of that at the start.
    pub spin_share: f64,
}
