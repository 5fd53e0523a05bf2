//! A trial: a constant load for some seconds, recorded in enough detail to be judged.

use homeroom_load::engine::Observed;
use homeroom_load::outcome::Outcome;
use homeroom_load::record::{Bin, Bins, Measured, times};

/// The parameters of a trial.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TrialPlan {
    /// The rate in requests per second.
    pub rate: f64,
    /// The length in seconds.
    pub seconds: f64,
}

/// The results of a trial.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Trial {
    /// The requested rate.
    pub rate: f64,
    /// How long it sent, in seconds.
    pub seconds: f64,
    /// The bins of the whole trial, in order of time.
    pub bins: Vec<Bin>,
    /// The 99th percentile of the send lag in milliseconds, among requests for which a connection
    /// was free: the generator's own lag.
    pub lag_p99_ms: f64,
    /// The share of the due requests that were sent.
    pub sent_share: f64,
    /// The share of the due requests for which this machine had no socket, port or address.
    pub no_room_share: f64,
    /// The generator's processor time, as a share of the cores it may use.
    pub generator_share: f64,
    /// The processor time that the host took from this machine, as a share.
    pub steal_share: f64,
    /// The score of a fixed piece of work before and after, as a share of the reference score.
    pub spin_share: f64,
    /// Whether all answers came before the drain's limit.
    pub drained: bool,
    /// The time in seconds from the end of sending until the last answer or the drain's limit, plus
    /// whatever else the trial needed, so that the sum of all times keeps to a budget.
    pub drain_s: f64,
    /// The 5th, 50th, 95th and 99th percentile of the response time in milliseconds, for reports.
    pub percentiles_ms: [f64; 4],
    /// The 99th percentile of the response time in each [`WINDOW_SECONDS`](homeroom_load::record::WINDOW_SECONDS) of the trial, by the
    /// moment a request was due, in milliseconds; a shorter remainder belongs to the last window.
    pub windows_p99_ms: Vec<f64>,
}

/// What the host did during a trial.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Host {
    /// See [`Trial::steal_share`].
    pub steal_share: f64,
    /// See [`Trial::spin_share`].
    pub spin_share: f64,
}

impl Trial {
    /// Returns a trial from the measurements of an engine that keeps bins.
    pub fn new(plan: TrialPlan, observed: &Observed, host: Host) -> Self {
        let recording = &observed.recording;
        let mut all = Measured::default();
        recording.stages.iter().for_each(|stage| all.merge(stage));
        let total = all.counts.requests.total;
        let outcomes = all.counts.outcomes();
        let share_of = |outcome: Outcome| {
            let count = outcomes.get(&outcome.name()).copied().unwrap_or(0);
            count as f64 / total.max(1) as f64
        };
        let ms = |share: f64| all.response.value_at_quantile(share) as f64 / 1e3;
        let own_lag = if recording.own_lag.is_empty() { &times() } else { &recording.own_lag };
        Self {
            rate: plan.rate,
            seconds: plan.seconds,
            bins: recording.bins.as_ref().map(Bins::finish).unwrap_or_default(),
            lag_p99_ms: own_lag.value_at_quantile(0.99) as f64 / 1e3,
            sent_share: if total == 0 { 0.0 } else { 1.0 - share_of(Outcome::Unsent) },
            no_room_share: share_of(Outcome::NoRoom),
            generator_share: observed.busiest,
            steal_share: host.steal_share,
            spin_share: host.spin_share,
            drained: recording.abandoned == 0,
            drain_s: (observed.wall.as_secs_f64() - plan.seconds).max(0.0),
            percentiles_ms: [ms(0.05), ms(0.5), ms(0.95), ms(0.99)],
            windows_p99_ms: recording
                .bins
                .as_ref()
                .map(|bins| bins.windows_p99_ms(plan.seconds))
                .unwrap_or_default(),
        }
    }
}
