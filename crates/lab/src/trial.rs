//! A trial: a constant load for some seconds, seen closely enough to judge it.

use crate::engine::Observed;
use crate::outcome::Outcome;
use crate::record::{Bins, Seen, times};

/// What is asked of a trial.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ask {
    /// Requests a second.
    pub rate: f64,
    /// For how many seconds.
    pub seconds: f64,
}

/// The length of a [`Bin`] in seconds.
pub const BIN_SECONDS: f64 = 0.1;

/// The length of the windows of [`Trial::windows_p99_ms`] in seconds.
pub const WINDOW_SECONDS: f64 = 10.0;

/// What happened to the requests that were due within a tenth of a second.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Bin {
    /// How many were due.
    pub due: u64,
    /// How many of them did not end as expected.
    pub not_ok: u64,
    /// Sum of their response times, from the intended moment, in milliseconds. One that got no
    /// answer counts with the time after which it was given up.
    pub sum_ms: f64,
    /// Requests waiting for an answer, or for a connection, at its end.
    pub waiting: u64,
}

/// What a trial gave.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Trial {
    /// What was asked.
    pub rate: f64,
    /// How long it took to send, in seconds.
    pub seconds: f64,
    /// Bins in order of time, over the whole trial.
    pub bins: Vec<Bin>,
    /// 99th percentile of the send lag in milliseconds, of requests for which a connection was
    /// free: the generator's own lateness.
    pub lag_p99_ms: f64,
    /// Share of the due requests that were sent at all.
    pub sent_share: f64,
    /// Share of the due requests for which this machine had no socket, port or address.
    pub no_room_share: f64,
    /// Processor time of the generator, as a share of the cores it may use.
    pub generator_share: f64,
    /// Processor time that the host took from this machine, as a share.
    pub steal_share: f64,
    /// Score of a fixed piece of work, before and after, as a share of the reference's.
    pub spin_share: f64,
    /// Whether all answers came before the drain's limit.
    pub drained: bool,
    /// From the end of sending until the last answer came, or until the drain's limit, in seconds;
    /// with whatever else the trial needed, so that sums of times keep to a budget.
    pub drain_s: f64,
    /// 5th, 50th, 95th, 99th percentile of the response time in milliseconds, for reports.
    pub percentiles_ms: [f64; 4],
    /// 99th percentile of the response time in each [`WINDOW_SECONDS`] of the trial, by the moment
    /// a request was due, in milliseconds; a shorter rest belongs to the last one.
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
    /// A trial from what the engine has seen, which keeps bins for it.
    pub fn new(ask: Ask, observed: &Observed, host: Host) -> Self {
        let share = &observed.share;
        let mut all = Seen::default();
        share.stages.iter().for_each(|stage| all.merge(stage));
        let total = all.counts.requests.total;
        let outcomes = all.counts.outcomes();
        let share_of = |outcome: Outcome| {
            let count = outcomes.get(&outcome.name()).copied().unwrap_or(0);
            count as f64 / total.max(1) as f64
        };
        let ms = |share: f64| all.response.value_at_quantile(share) as f64 / 1e3;
        let own_lag = if share.own_lag.is_empty() { &times() } else { &share.own_lag };
        Self {
            rate: ask.rate,
            seconds: ask.seconds,
            bins: share.bins.as_ref().map(Bins::finish).unwrap_or_default(),
            lag_p99_ms: own_lag.value_at_quantile(0.99) as f64 / 1e3,
            sent_share: if total == 0 { 0.0 } else { 1.0 - share_of(Outcome::Unsent) },
            no_room_share: share_of(Outcome::NoRoom),
            generator_share: observed.busiest,
            steal_share: host.steal_share,
            spin_share: host.spin_share,
            drained: share.abandoned == 0,
            drain_s: (observed.wall.as_secs_f64() - ask.seconds).max(0.0),
            percentiles_ms: [ms(0.05), ms(0.5), ms(0.95), ms(0.99)],
            windows_p99_ms: share
                .bins
                .as_ref()
                .map(|bins| bins.windows_p99_ms(ask.seconds))
                .unwrap_or_default(),
        }
    }
}
