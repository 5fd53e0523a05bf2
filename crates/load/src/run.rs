//! The run file: the results of a run, for people and programs.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::engine::{Observed, StepFacts};
pub use crate::figures::{Interval, Latency, Requests};
use crate::outcome::Outcomes;
use crate::record::{Counts, Measured, Times, encoded, latency};
use crate::stage::{Arrivals, Stage};

/// The format version that this version writes.
pub const FORMAT: u32 = 1;

/// A run, as in its file. Times are in milliseconds unless a name says otherwise.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunFile {
    /// The format version: [`FORMAT`].
    pub format: u32,
    /// What was known before the run began; in the file these members stand beside the others.
    #[serde(flatten)]
    pub facts: Facts,
    /// The requested stages, in order.
    pub plan: Vec<Stage>,
    /// When the run was interrupted, in seconds since it began; `None` if it was not. The figures
    /// cover the part until then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interrupted_s: Option<f64>,
    /// All requests of all stages.
    pub requests: Requests,
    /// The times from the due moment to the end of the answer.
    pub response_ms: Latency,
    /// The times from sending to the end of the answer.
    pub service_ms: Latency,
    /// The times from the due moment to sending.
    pub send_lag_ms: Latency,
    /// The same for requests for which a connection was free: the generator's own lag.
    #[serde(default)]
    pub own_lag_ms: Latency,
    /// All requests by how they ended.
    pub outcomes: Outcomes,
    /// One row per stage that began.
    pub stages: Vec<StageResult>,
    /// One row per second.
    pub intervals: Vec<Interval>,
    /// One row per step of the scenario.
    pub steps: Vec<StepResult>,
    /// Measurements of the server's processes and exporters, by name.
    pub server: Vec<Watched>,
    /// The resource use of the generator itself.
    pub generator: Generator,
    /// Histograms in microseconds (`HdrHistogram` V2, deflated, base64), by what they count:
    /// `response`, `service`, `send_lag`.
    pub histograms: BTreeMap<String, String>,
}

/// What is known of a run before it begins.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Facts {
    /// The version and commit of the generator.
    pub generator_version: String,
    /// The scenario's name.
    pub scenario: String,
    /// The target's origin.
    pub target: String,
    /// The command line that repeats the run, without secrets.
    pub command: Vec<String>,
    /// When the run began (RFC 3339, UTC).
    pub started: String,
    /// The seed of random choices.
    pub seed: u64,
    /// How requests are sent.
    pub settings: Settings,
    /// The machine of the generator.
    pub machine: Machine,
}

impl RunFile {
    /// Returns a run's figures from what the engine measured. The caller adds what was watched:
    /// `server`, each stage's `server`, and the generator's memory and steal.
    pub fn new(facts: Facts, plan: &[Stage], steps: &[StepFacts], observed: &Observed) -> Self {
        let recording = &observed.recording;
        let mut all = Measured::default();
        for stage in &recording.stages {
            all.merge(stage);
        }
        let interrupted_s = observed.stopped_at.map(|at| at.as_secs_f64());
        let mut start = 0.0;
        let mut stages = vec![];
        for (stage, seen) in plan.iter().zip(&recording.stages) {
            let planned = stage.duration.as_secs_f64();
            let sent = interrupted_s.map_or(planned, |end| (end - start).clamp(0.0, planned));
            if sent > 0.0 {
                stages.push(stage_result(*stage, (start, sent), seen));
            }
            start += planned;
        }
        let seconds = stages.iter().map(|stage| stage.seconds).sum();
        let cpu = observed.cpu.as_secs_f64();
        let requests = all.counts.requests;
        Self {
            format: FORMAT,
            facts,
            plan: plan.to_vec(),
            interrupted_s,
            requests,
            response_ms: latency(&all.response),
            service_ms: latency(&all.service),
            send_lag_ms: latency(&all.lag),
            own_lag_ms: latency(&recording.own_lag),
            outcomes: all.counts.outcomes(),
            stages,
            intervals: observed.intervals.clone(),
            steps: steps
                .iter()
                .zip(&recording.steps)
                .map(|(facts, seen)| step_result(facts, seen, seconds))
                .collect(),
            server: vec![],
            generator: Generator {
                cpu_s: cpu,
                requests_per_cpu_s: if cpu > 0.0 { requests.total as f64 / cpu } else { 0.0 },
                cpu_share_max: observed.busiest,
                ..Generator::default()
            },
            histograms: BTreeMap::from([
                ("response".into(), encoded(&all.response)),
                ("service".into(), encoded(&all.service)),
                ("send_lag".into(), encoded(&all.lag)),
            ]),
        }
    }

    /// Returns for how many seconds requests were sent.
    pub fn seconds(&self) -> f64 {
        self.stages.iter().map(|stage| stage.seconds).sum()
    }

    /// Returns the answers per second of sending.
    pub fn answered_per_s(&self) -> f64 {
        self.mean(|stage| stage.answered_per_s)
    }

    /// Returns the expected answers per second of sending.
    pub fn goodput(&self) -> f64 {
        self.mean(|stage| stage.goodput)
    }

    /// Returns the mean over the stages, weighted by their time.
    fn mean(&self, of: impl Fn(&StageResult) -> f64) -> f64 {
        let sum: f64 = self.stages.iter().map(|stage| of(stage) * stage.seconds).sum();
        sum / self.seconds().max(1e-9)
    }
}

fn per_second(count: u64, seconds: f64) -> f64 {
    count as f64 / seconds.max(1e-9)
}

fn stage_result(stage: Stage, (start_s, seconds): (f64, f64), seen: &Measured) -> StageResult {
    StageResult {
        stage,
        start_s,
        seconds,
        requests: seen.counts.requests,
        outcomes: seen.counts.outcomes(),
        answered_per_s: per_second(seen.counts.answered_within, seconds),
        goodput: per_second(seen.counts.ok_within, seconds),
        response_ms: latency(&seen.response),
        service_ms: latency(&seen.service),
        send_lag_ms: latency(&seen.lag),
        server: BTreeMap::new(),
    }
}

fn step_result(
    facts: &StepFacts,
    (counts, response): &(Counts, Times),
    seconds: f64,
) -> StepResult {
    StepResult {
        name: facts.name.clone(),
        group: facts.group.clone(),
        method: facts.method.clone(),
        requests: counts.requests,
        outcomes: counts.outcomes(),
        answered_per_s: per_second(counts.answered_within, seconds),
        response_ms: latency(response),
        skipped: 0,
        untaken: 0,
        is_used_up: false,
    }
}

/// How requests were sent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Settings {
    /// The distribution of arrivals.
    pub arrivals: Arrivals,
    /// The most connections; one per modelled client.
    pub connections: u32,
    /// The time-out of a request.
    pub timeout_ms: u64,
    /// How much later than due a request might be sent, so that several could be sent together.
    #[serde(default)]
    pub slack_us: u64,
    /// The number of sending threads.
    pub threads: u32,
    /// `HTTP/1.1` or `HTTP/2`.
    pub protocol: String,
}

/// The machine of the generator.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Machine {
    /// The model of the processor.
    pub cpu: String,
    /// The number of cores.
    pub cores: u32,
    /// Memory in megabytes.
    pub memory_mb: u64,
    /// Operating system and kernel.
    pub system: String,
}

/// The results of a stage.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StageResult {
    /// The requested stage.
    pub stage: Stage,
    /// When it began, in seconds since the run began.
    pub start_s: f64,
    /// How long it took without draining, in seconds; less than requested if it was interrupted.
    pub seconds: f64,
    /// The requests that were due in it, whenever they ended.
    pub requests: Requests,
    /// These requests by how they ended.
    pub outcomes: Outcomes,
    /// Answers per second that came during the stage, whenever their requests were due.
    #[serde(default)]
    pub answered_per_s: f64,
    /// Expected answers per second that came during the stage.
    pub goodput: f64,
    /// The times from the due moment to the end of the answer.
    pub response_ms: Latency,
    /// The times from sending to the end of the answer.
    pub service_ms: Latency,
    /// The times from the due moment to sending.
    pub send_lag_ms: Latency,
    /// The means of the watched series, by name.
    pub server: BTreeMap<String, f64>,
}

/// The results of one step of the scenario.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StepResult {
    /// Its name.
    pub name: String,
    /// What it belongs to in the report, such as a resource; empty for nothing.
    pub group: String,
    /// Its HTTP method.
    pub method: String,
    /// Its requests.
    pub requests: Requests,
    /// These requests by how they ended.
    pub outcomes: Outcomes,
    /// The answers per second of sending.
    #[serde(default)]
    pub answered_per_s: f64,
    /// The times from the due moment to the end of the answer.
    pub response_ms: Latency,
    /// How often the step was due but could not be done, because a value, an entry of a pool or a
    /// further combination was missing.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub skipped: u64,
    /// Expected answers that lacked a value to take or keep.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub untaken: u64,
    /// Whether it ran out of combinations before the end; from then on it was not done, and the
    /// mixture of steps was different.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_used_up: bool,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes it so")]
fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// A watched process or exporter.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Watched {
    /// Its name: `web`, `database`, or the name from the command line.
    pub name: String,
    /// Its series.
    pub series: Vec<Series>,
    /// What could not be read, in words; empty if everything could.
    pub trouble: String,
    /// The name of the watched process that it is part of; empty if it is separate.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub within: String,
}

impl Watched {
    /// Returns an empty one of this name.
    pub fn called(name: &str) -> Self {
        Self { name: name.into(), ..Self::default() }
    }
}

/// One value over time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Series {
    /// Its name: `cpu_percent` (of one core), `memory_mb`, `threads`, `disk_write_mb_s`, …
    pub name: String,
    /// The points: seconds since the run began, and values.
    pub points: Vec<(f64, f64)>,
}

/// The generator's resource use.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Generator {
    /// Its processor time, user and system, in seconds.
    pub cpu_s: f64,
    /// The requests per second of this processor time.
    pub requests_per_cpu_s: f64,
    /// The share of a core that its busiest sending thread used.
    pub cpu_share_max: f64,
    /// The share of processor time that the host took from this machine.
    pub steal_share: f64,
    /// The greatest resident memory, in megabytes.
    pub memory_mb: f64,
}
