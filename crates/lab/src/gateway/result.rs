//! What was measured in each cell, and the file with all of them.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use homeroom_load::engine::Observed;
use homeroom_load::outcome::Outcomes;
use homeroom_load::record::{Measured, latency};
use homeroom_load::run::{Latency, Machine, Requests};

use super::baseline::{Baseline, Compared};
use super::cell::{CellPlan, Timing};

/// The format version that this version writes.
pub const FORMAT: u32 = 1;

/// The share of a core above which the busiest sending thread may have been the limit.
const GENERATOR_SHARE_MAX: f64 = 0.8;

/// The matrix, as in its file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GatewayFile {
    /// The format version: [`FORMAT`].
    pub format: u32,
    /// The version and commit of the generator.
    pub generator_version: String,
    /// The gateway's origin.
    pub target: String,
    /// The command line that repeats the test, without secrets.
    pub command: Vec<String>,
    /// When it began (RFC 3339, UTC).
    pub started: String,
    /// How it was run.
    pub settings: GatewaySettings,
    /// The machine of the generator.
    pub machine: Machine,
    /// Whether it was interrupted; the cells until then are there.
    #[serde(default)]
    pub interrupted: bool,
    /// The cells, in the order in which they ran.
    pub cells: Vec<CellResult>,
    /// The comparison with an earlier run, if one was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub baseline: Option<Baseline>,
}

/// How the matrix was run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own in the file")]
pub struct GatewaySettings {
    /// How long the parts of a cell took.
    pub timing: Timing,
    /// Whether these are the published durations.
    pub published: bool,
    /// Whether connections used TLS.
    pub tls: bool,
    /// `HTTP/1.1` or `HTTP/2`.
    pub protocol: String,
    /// How many different tokens were drawn from.
    pub tokens: u64,
    /// The number of sending threads.
    pub threads: u32,
    /// Whether the gateway was started afresh before each cell.
    pub fresh: bool,
    /// Whether the back end ran in the generator's process.
    pub own_back_end: bool,
}

/// What was measured in a cell.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CellResult {
    /// The cell.
    #[serde(flatten)]
    pub plan: CellPlan,
    /// The gateway's limit on memory, or that it had none.
    pub memory_limit: String,
    /// Its requests.
    pub requests: Requests,
    /// These requests by how they ended.
    pub outcomes: Outcomes,
    /// Failed requests in per cent.
    pub error_percent: f64,
    /// Answers per second.
    pub throughput: f64,
    /// Response times in milliseconds.
    pub response_ms: Latency,
    /// `none` for a gateway without garbage collection; what is known otherwise.
    pub gc: String,
    /// The gateway's resident memory without load, in megabytes.
    pub footprint_mb: Option<f64>,
    /// The load averages of this machine at the end, over 1, 5 and 15 minutes.
    pub load_average: Option<[f64; 3]>,
    /// The gateway's processor time for each request, in microseconds.
    pub cpu_us_per_request: Option<f64>,
    /// How long was measured, in seconds.
    pub seconds: f64,
    /// The share of a core that the busiest sending thread used.
    pub generator_share: f64,
    /// The share of processor time that the host took from this machine.
    pub steal_share: f64,
    /// The score of a fixed piece of work just before the cell, in rounds per microsecond: this
    /// machine's own speed, which drifts.
    pub spin: f64,
    /// What a reader must know to judge the cell; empty if there is nothing.
    pub remark: String,
}

impl CellResult {
    /// Returns what the engine measured in a cell's measured part. The caller adds what it knows of
    /// the gateway.
    pub fn new(plan: CellPlan, measured: Duration, observed: &Observed) -> Self {
        let empty = Measured::default();
        let seen = observed.recording.stages.first().unwrap_or(&empty);
        let requests = seen.counts.requests;
        let seconds = observed.stopped_at.unwrap_or(measured).as_secs_f64();
        let is_limit = observed.busiest > GENERATOR_SHARE_MAX;
        Self {
            plan,
            memory_limit: String::new(),
            requests,
            outcomes: seen.counts.outcomes(),
            error_percent: 100.0 * requests.failed as f64 / requests.total.max(1) as f64,
            throughput: seen.counts.answered_within as f64 / seconds.max(1e-9),
            response_ms: latency(&seen.response),
            gc: String::new(),
            footprint_mb: None,
            load_average: None,
            cpu_us_per_request: None,
            seconds,
            generator_share: observed.busiest,
            steal_share: 0.0,
            spin: 0.0,
            remark: if is_limit {
                "the generator may have been the limit: a sending thread was busy all the time"
                    .into()
            } else {
                String::new()
            },
        }
    }

    /// Adds a remark.
    pub fn note(&mut self, remark: &str) {
        if !self.remark.is_empty() {
            self.remark += "; ";
        }
        self.remark += remark;
    }
}

impl GatewayFile {
    /// Adds the comparison with an earlier run. A cell that lost more than this share of the requests for
    /// the same processor time counts as worse, or of its throughput where that is not known.
    pub fn compare(&mut self, earlier: &Self, tolerance: f64) {
        let of = (earlier.started.clone(), earlier.generator_version.clone());
        self.baseline = Some(Baseline::of(of, &earlier.compared(), &self.compared(), tolerance));
    }

    fn compared(&self) -> Vec<Compared> {
        let each = self.cells.iter().map(|cell| Compared {
            plan: cell.plan,
            throughput: cell.throughput,
            p99_ms: cell.response_ms.p99,
            error_percent: cell.error_percent,
            cpu_us: cell.cpu_us_per_request,
            spin: cell.spin,
        });
        each.collect()
    }
}
