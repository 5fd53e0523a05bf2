//! Every number that the search goes by; they stand in the file that it writes.

use serde::{Deserialize, Serialize};

/// The budget that the phases are made for.
const BUDGET_S: f64 = 600.0;

/// What the search goes by. Seconds and shares unless a name says otherwise.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Constants {
    /// All trials with their drains, and the self-check, end within this.
    pub budget_s: f64,
    /// The first rate that is tried, requests a second.
    pub start_rate: f64,
    /// The least rate that is tried.
    pub rate_min: f64,
    /// No rate above is tried; `None` asks for whatever there is.
    pub rate_max: Option<f64>,
    /// No rate above this share of what the generator can do is tried.
    pub generator_share_of_ceiling: f64,
    /// Bracket: length of a trial.
    pub bracket_s: f64,
    /// Bracket: from a rate that passed to the next.
    pub bracket_factor: f64,
    /// Narrow: length of a trial; repeats are twice as long, up to `narrow_s_max`.
    pub narrow_s: f64,
    /// Narrow: the longest trial.
    pub narrow_s_max: f64,
    /// Narrow: it is narrow enough when the rates differ by this share; also the step down and up
    /// while confirming.
    pub width: f64,
    /// Confirm: length of a hold.
    pub hold_s: f64,
    /// Confirm: at most so many holds of a rate; two must pass.
    pub holds: u32,
    /// Above stable: length of a window. Burst and failure belong to it.
    pub window_s: f64,
    /// Above stable: the first and least step between windows.
    pub window_factor: f64,
    /// Above stable: no window beyond this many times stable.
    pub window_reach: f64,
    /// Profiles: length of each; shorter, down to a third, if the budget asks for it.
    pub profile_s: f64,
    /// Profiles: rate of the healthy one, as a share of stable.
    pub healthy: f64,
    /// Profiles: rate of the unhealthy one, as a share of stable.
    pub unhealthy: f64,
    /// Check at the end: its length.
    pub check_s: f64,
    /// Rest: after a drain at least this long the server may still work on what its clients have
    /// given up.
    pub rest_after_drain_s: f64,
    /// Rest: length of a trial with next to no load.
    pub rest_s: f64,
    /// Rest: at most so many trials.
    pub rests: u32,
    /// Rest: rate, as a share of the one before.
    pub rest: f64,
    /// After a trial its answers are waited for at most so long, or as long as a request may take,
    /// if that is shorter.
    pub drain_s: f64,
    /// Kept for windows, profiles and check while the stable level is looked for …
    pub reserve_s: f64,
    /// … and while no rate is confirmed yet.
    pub reserve_least_s: f64,
    /// Of these, and of what later phases need, only this share is kept: 1, or less where the
    /// budget has no room for all of it.
    pub reserve_share: f64,
    /// A failed trial with more not-ok answers, or more requests left waiting, than this share of
    /// those due is not repeated to be sure …
    pub hopeless_share: f64,
    /// … nor one with so many times the not-ok answers allowed in each third of it.
    pub hopeless_throughout: f64,
    /// Of all intervals.
    pub confidence: f64,
    /// Batches of a trial for the interval of its mean, and points of the growth test.
    pub batches: usize,
    /// More not-ok answers than the goal allows must be this unlikely by chance to be a failure.
    pub not_ok_p: f64,
    /// Growth must be this unlikely by chance.
    pub growth_p: f64,
    /// An overloaded server that answers more by this share later than at first has grown.
    pub grown: f64,
    /// A stable interval wider than this share is no clean result.
    pub clean_width: f64,
    /// What drawing for the forecast follows from.
    pub seed: u64,
    /// What makes a trial say nothing about the server.
    pub voiding: Voiding,
    /// What the levels mean.
    pub goals: Goals,
}

/// When a trial says nothing about the server. A pass is void only where less was sent than asked:
/// a server that keeps its goal in spite of a late generator keeps it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Voiding {
    /// 99th percentile of the send lag in milliseconds, if it is more than the next, too.
    pub lag_ms: f64,
    /// The same as a share of the measured mean: a late generator explains no tenfold response time.
    pub lag_share_of_mean: f64,
    /// Least share of the due requests that must be sent.
    pub sent_share: f64,
    /// Share of the due requests that may find no socket, port or address on this machine.
    pub no_room_share: f64,
    /// Share of the generator's cores that it may use.
    pub generator_share: f64,
    /// Share of processor time that the host may take.
    pub steal_share: f64,
    /// Least score of the fixed piece of work, as a share of the reference's.
    pub spin_share: f64,
    /// A rate is tried so often until its trials are void for good …
    pub tries: u32,
    /// … and so often in holds and windows, which take long.
    pub tries_long: u32,
}

/// The levels.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Goals {
    /// What holds indefinitely.
    pub stable: Goal,
    /// Burst: at most this share of a window is not ok.
    pub burst_not_ok: f64,
    /// Failure: more than this share of a window is not ok …
    pub failure_not_ok: f64,
    /// … or fewer answers a second are ok than this share of the most that were.
    pub failure_goodput: f64,
}

/// What a rate must keep to be stable.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Goal {
    /// The mean response time in milliseconds stays below, with the upper end of its interval.
    pub mean_ms: Option<f64>,
    /// The median of the windows' 99th percentiles in milliseconds stays at or below.
    pub p99_ms: Option<f64>,
    /// The worst window's 99th percentile in milliseconds stays at or below.
    pub worst_p99_ms: Option<f64>,
    /// At most this share is not ok.
    pub not_ok: f64,
    /// Response times do not rise within a trial by more than this share of the limit.
    pub growth: f64,
    /// Answers fall behind by at most this share of what is due.
    pub behind: f64,
}

impl Default for Constants {
    fn default() -> Self {
        Self {
            budget_s: BUDGET_S,
            start_rate: 50.0,
            rate_min: 1.0,
            rate_max: None,
            generator_share_of_ceiling: 0.5,
            bracket_s: 5.0,
            bracket_factor: 2.0,
            narrow_s: 10.0,
            narrow_s_max: 40.0,
            width: 0.04,
            hold_s: 45.0,
            holds: 3,
            window_s: 30.0,
            window_factor: 1.08,
            window_reach: 8.0,
            profile_s: 60.0,
            healthy: 0.7,
            unhealthy: 1.3,
            check_s: 25.0,
            rest_after_drain_s: 5.0,
            rest_s: 5.0,
            rests: 4,
            rest: 0.02,
            drain_s: 10.0,
            reserve_s: 210.0,
            reserve_least_s: 140.0,
            reserve_share: 1.0,
            hopeless_share: 0.25,
            hopeless_throughout: 3.0,
            confidence: 0.95,
            batches: 20,
            not_ok_p: 0.005,
            growth_p: 0.01,
            grown: 0.08,
            clean_width: 0.08,
            seed: 1,
            voiding: Voiding::default(),
            goals: Goals::default(),
        }
    }
}

impl Constants {
    /// For a first look of a minute: short trials, and so a coarse level.
    pub fn quick() -> Self {
        let constants = Self {
            bracket_s: 2.0,
            narrow_s: 4.0,
            narrow_s_max: 8.0,
            width: 0.1,
            hold_s: 6.0,
            window_s: 4.0,
            profile_s: 4.0,
            check_s: 4.0,
            rest_after_drain_s: 1.0,
            rest_s: 1.0,
            reserve_s: 20.0,
            reserve_least_s: 10.0,
            clean_width: 0.2,
            ..Self::default()
        };
        constants.within(60.0)
    }

    /// The same for another budget, in seconds; of a smaller one less is kept for later.
    #[must_use]
    pub fn within(self, budget_s: f64) -> Self {
        Self { budget_s, reserve_share: (budget_s / BUDGET_S).min(1.0), ..self }
    }
}

impl Default for Voiding {
    fn default() -> Self {
        Self {
            lag_ms: 5.0,
            lag_share_of_mean: 0.1,
            sent_share: 0.99,
            no_room_share: 0.001,
            generator_share: 0.8,
            steal_share: 0.05,
            spin_share: 0.9,
            tries: 3,
            tries_long: 2,
        }
    }
}

impl Default for Goals {
    fn default() -> Self {
        Self {
            stable: Goal::default(),
            burst_not_ok: 0.01,
            failure_not_ok: 0.05,
            failure_goodput: 0.7,
        }
    }
}

impl Default for Goal {
    /// The published one: a mean response time below a second.
    fn default() -> Self {
        Self {
            mean_ms: Some(1_000.0),
            p99_ms: None,
            worst_p99_ms: None,
            not_ok: 0.001,
            growth: 0.25,
            behind: 0.01,
        }
    }
}

impl Goal {
    /// The goal of people who wait: the 99th percentile, window by window. The median window keeps
    /// the limit, the worst twice the limit.
    pub fn p99(limit_ms: f64) -> Self {
        Self {
            mean_ms: None,
            p99_ms: Some(limit_ms),
            worst_p99_ms: Some(limit_ms * 2.0),
            ..Self::default()
        }
    }

    /// The time that growth is measured against.
    pub fn limit_ms(&self) -> f64 {
        self.mean_ms.or(self.p99_ms).or(self.worst_p99_ms).unwrap_or(1_000.0)
    }
}
