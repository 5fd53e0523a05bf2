//! What a search gives: the capacity file.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::Ceiling;
use super::constants::Constants;
use super::judge::Verdict as TrialVerdict;
use super::levels::Levels;
use crate::statistics::{Estimate, Forecast};

/// The form that this version writes.
pub const FORMAT: u32 = 1;

/// How much a server holds, as it stands in the capacity file. Rates are requests a second.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Capacity {
    /// The form: [`FORMAT`].
    pub format: u32,
    /// Whether the levels are the server's own.
    pub verdict: Verdict,
    /// Why, in plain words; also what else a reader should know.
    pub reasons: Vec<String>,
    /// Stable, burst and failure.
    #[serde(flatten)]
    pub levels: Levels,
    /// The mean response time that the stable level was confirmed with.
    pub stable_mean_ms: Estimate,
    /// What the generator can send at most, as the self-check found.
    pub generator_ceiling: Option<f64>,
    /// The self-check itself, where there was one.
    #[serde(default)]
    pub self_check: Option<SelfCheck>,
    /// The knee of goodput over rate, a cross-check of the stable level.
    pub knee: Option<f64>,
    /// What more clients at a time would give, by the universal scalability law.
    pub usl: Option<Forecast>,
    /// Seconds spent, drains and self-check included.
    pub seconds: f64,
    /// Seconds by phase.
    pub phases: BTreeMap<Phase, f64>,
    /// All trials, in order.
    pub trials: Vec<Tried>,
    /// What the search went by.
    pub constants: Constants,
}

/// What the self-check found of the generator alone.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct SelfCheck {
    /// Requests a second against a server that does nothing.
    pub ceiling: f64,
    /// 99th percentile of the send lag at a rate that is easy to keep, in milliseconds.
    pub lag_p99_ms: f64,
    /// Score of the fixed piece of work, undisturbed: rounds in a microsecond.
    pub spin_reference: f64,
    /// How long it took.
    pub seconds: f64,
}

impl SelfCheck {
    /// As the search wants it.
    pub fn ceiling(&self) -> Ceiling {
        Ceiling { rate: Some(self.ceiling), seconds: self.seconds }
    }
}

/// What the levels are worth.
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
    /// The server did not do the same twice: it grew, shrank or had pauses of its own.
    #[serde(rename = "TARGET-UNSTEADY")]
    TargetUnsteady,
    /// No rate was found that keeps the goal.
    #[serde(rename = "TARGET-FAILING")]
    TargetFailing,
    /// The highest rate that was asked for passes: the server holds at least this.
    #[serde(rename = "LIMIT-OF-SEARCH")]
    LimitOfSearch,
    /// The time was over before the interval was narrow.
    #[serde(rename = "OUT-OF-TIME")]
    OutOfTime,
    /// It was told to stop: the levels are what was known by then.
    #[serde(rename = "INTERRUPTED")]
    Interrupted,
}

impl Verdict {
    /// As it stands in files and reports.
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

    /// What it means, in a sentence.
    pub fn meaning(self) -> &'static str {
        match self {
            Self::Clean => "The levels are the server's own.",
            Self::GeneratorLimited => "The generator was the limit: the server may hold more.",
            Self::HostNoisy => "The host was noisy: the server may hold more.",
            Self::TargetUnsteady => "The server did not do the same twice.",
            Self::TargetFailing => "No rate kept the goal.",
            Self::LimitOfSearch => "The highest rate that was asked for was held.",
            Self::OutOfTime => "The time was over before the answer was sharp.",
            Self::Interrupted => "It was told to stop before the answer was sharp.",
        }
    }

    /// Whether the levels are only what the server holds at least.
    pub fn is_at_least(self) -> bool {
        matches!(self, Self::GeneratorLimited | Self::HostNoisy | Self::LimitOfSearch)
    }
}

/// A part of the search.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// What the generator can do; before the search.
    SelfCheck,
    /// A rate that passes and one that fails.
    Bracket,
    /// Closer together.
    Narrow,
    /// Long holds of the stable level.
    Confirm,
    /// Next to no load, so that a server that did not drain comes to rest.
    Rest,
    /// Windows above it: burst and failure.
    Above,
    /// Long holds of a rate whose window kept the goal of stable.
    Lift,
    /// Well below stable, for the report's picture of a healthy server.
    Healthy,
    /// Well above stable, for the report's picture of an unhealthy one.
    Unhealthy,
    /// The stable level once more, at the end.
    Check,
}

impl Phase {
    /// What is done, in words.
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

/// A trial as it stands in the file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Tried {
    /// What it was for.
    pub phase: Phase,
    /// Requests a second.
    pub rate: f64,
    /// How long it was, without its drain.
    pub seconds: f64,
    /// How long the drain was.
    pub drain_s: f64,
    /// What it says about the stable goal.
    pub verdict: TrialVerdict,
    /// Why, in words.
    pub why: String,
    /// Mean response time in milliseconds, after the warm-up.
    pub mean_ms: Estimate,
    /// 5th, 50th, 95th, 99th percentile of the response time in milliseconds.
    pub percentiles_ms: [f64; 4],
    /// Share that did not end as expected.
    pub not_ok_share: f64,
    /// Rise of the response time over the trial in milliseconds; 0 if it may be chance.
    pub growth_ms: f64,
    /// The share of what was due by which answers fell behind; 0 if they kept up.
    #[serde(default)]
    pub behind: f64,
    /// Answers as expected, a second, while sending.
    pub goodput: f64,
    /// Mean number of requests waiting.
    pub waiting: f64,
    /// How far Little's law is from holding, as a share.
    pub little_gap: f64,
    /// 99th percentile of the send lag in milliseconds.
    pub lag_p99_ms: f64,
    /// Share of the generator's cores that it used.
    pub generator_share: f64,
    /// Share of processor time that the host took.
    pub steal_share: f64,
    /// Speed of this machine, as a share of that at the start.
    pub spin_share: f64,
}
