//! The run file: what a run gave, for people and programs.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::engine::{Observed, StepFacts};
use crate::outcome::Outcomes;
use crate::record::{Counts, Seen, Times, encoded, latency};
use crate::stage::{Arrivals, Stage};

/// The form that this version writes.
pub const FORMAT: u32 = 1;

/// A run, as it stands in its file. Times are milliseconds unless a name says otherwise.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunFile {
    /// The form: [`FORMAT`].
    pub format: u32,
    /// What was known before it began; its members stand beside the others in the file.
    #[serde(flatten)]
    pub facts: Facts,
    /// What was asked for, in order.
    pub plan: Vec<Stage>,
    /// When it was interrupted, in seconds since it began; nothing if it was not. Its figures are of
    /// the part until then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interrupted_s: Option<f64>,
    /// All requests of all stages.
    pub requests: Requests,
    /// From the intended moment to the end of the answer.
    pub response_ms: Latency,
    /// From the moment it was sent to the end of the answer.
    pub service_ms: Latency,
    /// From the intended moment to the moment it was sent.
    pub send_lag_ms: Latency,
    /// The same of those for which a connection was free: how late the generator itself was.
    #[serde(default)]
    pub own_lag_ms: Latency,
    /// All requests by how they ended.
    pub outcomes: Outcomes,
    /// A row a stage that began.
    pub stages: Vec<StageResult>,
    /// A row a second.
    pub intervals: Vec<Interval>,
    /// A row a step of the scenario.
    pub steps: Vec<StepResult>,
    /// What was seen of the server's processes and exporters, by name.
    pub server: Vec<Watched>,
    /// What the generator itself used.
    pub generator: Generator,
    /// Histograms in microseconds (`HdrHistogram` V2, deflated, base64), by what they count:
    /// `response`, `service`, `send_lag`.
    pub histograms: BTreeMap<String, String>,
}

/// What is known of a run before it begins.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Facts {
    /// Version and commit of the generator.
    pub generator_version: String,
    /// The scenario's name.
    pub scenario: String,
    /// The target's origin.
    pub target: String,
    /// The command line that repeats it, without secrets.
    pub command: Vec<String>,
    /// When it began (RFC 3339, UTC).
    pub started: String,
    /// What random choices follow from.
    pub seed: u64,
    /// How it is sent.
    pub settings: Settings,
    /// Where the generator runs.
    pub machine: Machine,
}

impl RunFile {
    /// A run's figures from what the engine has seen. What was watched at the server is added by
    /// whoever watched it: `server`, each stage's `server`, and the generator's memory and steal.
    pub fn new(facts: Facts, plan: &[Stage], steps: &[StepFacts], observed: &Observed) -> Self {
        let share = &observed.share;
        let mut all = Seen::default();
        for stage in &share.stages {
            all.merge(stage);
        }
        let interrupted_s = observed.stopped_at.map(|at| at.as_secs_f64());
        let mut start = 0.0;
        let mut stages = vec![];
        for (stage, seen) in plan.iter().zip(&share.stages) {
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
            own_lag_ms: latency(&share.own_lag),
            outcomes: all.counts.outcomes(),
            stages,
            intervals: observed.intervals.clone(),
            steps: steps
                .iter()
                .zip(&share.steps)
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

    /// For how many seconds was sent.
    pub fn seconds(&self) -> f64 {
        self.stages.iter().map(|stage| stage.seconds).sum()
    }

    /// Answers a second while was sent.
    pub fn answered_per_s(&self) -> f64 {
        self.mean(|stage| stage.answered_per_s)
    }

    /// Answers as expected, a second, while was sent.
    pub fn goodput(&self) -> f64 {
        self.mean(|stage| stage.goodput)
    }

    /// The mean over the time of all stages.
    fn mean(&self, of: impl Fn(&StageResult) -> f64) -> f64 {
        let sum: f64 = self.stages.iter().map(|stage| of(stage) * stage.seconds).sum();
        sum / self.seconds().max(1e-9)
    }
}

fn per_second(count: u64, seconds: f64) -> f64 {
    count as f64 / seconds.max(1e-9)
}

fn stage_result(stage: Stage, (start_s, seconds): (f64, f64), seen: &Seen) -> StageResult {
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
    /// How arrivals lie.
    pub arrivals: Arrivals,
    /// At most so many connections, one a modelled client.
    pub connections: u32,
    /// Time-out of a request.
    pub timeout_ms: u64,
    /// How much later than due a request might be sent, so that several go at a time.
    #[serde(default)]
    pub slack_us: u64,
    /// Threads that send.
    pub threads: u32,
    /// `HTTP/1.1` or `HTTP/2`.
    pub protocol: String,
}

/// The machine of the generator.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Machine {
    /// Model of the processor.
    pub cpu: String,
    /// Cores.
    pub cores: u32,
    /// Memory in megabytes.
    pub memory_mb: u64,
    /// Operating system and kernel.
    pub system: String,
}

/// Requests by what became of them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Requests {
    /// All that were due.
    pub total: u64,
    /// Answered as the step expects, its checks passed.
    pub ok: u64,
    /// All others, but for those that an interruption cut off.
    pub failed: u64,
    /// Sent more than a millisecond after their moment as every connection was waiting; they count
    /// among the two above, too.
    pub late: u64,
}

/// A distribution of times, in milliseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Latency {
    /// Mean.
    pub mean: f64,
    /// Standard deviation.
    pub sd: f64,
    /// Least.
    pub min: f64,
    /// Median.
    pub p50: f64,
    /// 75th percentile.
    pub p75: f64,
    /// 90th percentile.
    pub p90: f64,
    /// 95th percentile.
    pub p95: f64,
    /// 98th percentile.
    pub p98: f64,
    /// 99th percentile.
    pub p99: f64,
    /// 99.9th percentile.
    pub p99_9: f64,
    /// Greatest.
    pub max: f64,
}

/// What a stage gave.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StageResult {
    /// What was asked for.
    pub stage: Stage,
    /// When it began, seconds since the run began.
    pub start_s: f64,
    /// How long it took, draining not counted; less than was asked for if it was interrupted.
    pub seconds: f64,
    /// The requests that were due in it, whenever they ended.
    pub requests: Requests,
    /// By how they ended.
    pub outcomes: Outcomes,
    /// Answers that came in it, a second, whenever their requests were due.
    #[serde(default)]
    pub answered_per_s: f64,
    /// Those of them that were as expected.
    pub goodput: f64,
    /// From the intended moment.
    pub response_ms: Latency,
    /// From the moment it was sent.
    pub service_ms: Latency,
    /// Between both.
    pub send_lag_ms: Latency,
    /// Means of what was watched at the server, by series name.
    pub server: BTreeMap<String, f64>,
}

/// What was seen in one second of a run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    /// Its beginning, seconds since the run began.
    pub at_s: f64,
    /// Requests that were due in it.
    pub due: u64,
    /// Requests whose answer (or failure) came in it.
    pub answered: u64,
    /// Of those, as expected.
    pub ok: u64,
    /// Of those, by how they ended.
    pub outcomes: Outcomes,
    /// Mean of the response times of those.
    pub mean_ms: f64,
    /// Median of those.
    pub p50_ms: f64,
    /// 99th percentile of those.
    pub p99_ms: f64,
    /// Greatest of those.
    pub max_ms: f64,
    /// Requests sent and not answered at its end.
    pub in_flight: u64,
}

/// What one step of the scenario gave.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StepResult {
    /// Its name.
    pub name: String,
    /// What it belongs to in the report: a resource, for instance; empty for nothing.
    pub group: String,
    /// Its method.
    pub method: String,
    /// Its requests.
    pub requests: Requests,
    /// By how they ended.
    pub outcomes: Outcomes,
    /// Answers a second while was sent.
    #[serde(default)]
    pub answered_per_s: f64,
    /// From the intended moment.
    pub response_ms: Latency,
    /// How often it was its turn and it could not be done, as a value, an entry of a pool or a
    /// further combination was missing.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub skipped: u64,
    /// Right answers in which a value to be taken or kept was missing.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub untaken: u64,
    /// Whether it had no further combination before the end: then it was not done any more, and the
    /// mixture was another.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_used_up: bool,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes it so")]
fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// A process or an exporter that was watched.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Watched {
    /// What it is called: `web`, `database`, or what the command line named it.
    pub name: String,
    /// Its series.
    pub series: Vec<Series>,
    /// What could not be read, in words; empty if all could.
    pub trouble: String,
    /// The name of what it is in the process of; empty where it is by itself.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub within: String,
}

impl Watched {
    /// One of this name, of which nothing was seen.
    pub fn called(name: &str) -> Self {
        Self { name: name.into(), ..Self::default() }
    }
}

/// One value over time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Series {
    /// What it is: `cpu_percent` (of one core), `memory_mb`, `threads`, `disk_write_mb_s`, …
    pub name: String,
    /// Moments, seconds since the run began, and values.
    pub points: Vec<(f64, f64)>,
}

/// What the generator used.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Generator {
    /// Its processor time, user and system.
    pub cpu_s: f64,
    /// Requests for each second of that.
    pub requests_per_cpu_s: f64,
    /// Share of a core that its busiest sending thread used.
    pub cpu_share_max: f64,
    /// Share of processor time that the host took from this machine.
    pub steal_share: f64,
    /// Greatest resident memory.
    pub memory_mb: f64,
}
