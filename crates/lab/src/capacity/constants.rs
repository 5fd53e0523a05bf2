//! All constants of the search; they are written to its file.

use serde::{Deserialize, Serialize};

/// The budget in seconds that the phases are designed for.
const BUDGET_S: f64 = 600.0;

/// The constants of a search, in seconds and shares unless a name says otherwise.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Constants {
    /// The budget for all trials with their drains, and the self-check.
    pub budget_s: f64,
    /// The first rate to try, in requests per second.
    pub start_rate: f64,
    /// The lowest rate to try.
    pub rate_min: f64,
    /// The highest rate to try; `None` for no limit.
    pub rate_max: Option<f64>,
    /// The highest rate to try, as a share of the generator's limit.
    pub generator_share_of_ceiling: f64,
    /// Bracket: length of a trial.
    pub bracket_s: f64,
    /// Bracket: factor from a rate that passed to the next.
    pub bracket_factor: f64,
    /// Narrow: length of a trial; repeats are twice as long, up to `narrow_s_max`.
    pub narrow_s: f64,
    /// Narrow: the longest trial.
    pub narrow_s_max: f64,
    /// Narrow: the search is narrow enough when the rates differ by this share. It is also the step
    /// down and up while confirming.
    pub width: f64,
    /// Confirm: length of a hold.
    pub hold_s: f64,
    /// Confirm: the most holds of a rate; two must pass.
    pub holds: u32,
    /// Above stable: length of a window. Burst and failure refer to it.
    pub window_s: f64,
    /// Above stable: the first and smallest step between windows.
    pub window_factor: f64,
    /// Above stable: the highest window, as a multiple of stable.
    pub window_reach: f64,
    /// Profiles: length of each; down to a third of it if the budget is short.
    pub profile_s: f64,
    /// Profiles: rate of the healthy one, as a share of stable.
    pub healthy: f64,
    /// Profiles: rate of the unhealthy one, as a share of stable.
    pub unhealthy: f64,
    /// Check at the end: length.
    pub check_s: f64,
    /// Rest: after a drain of at least this length the server may still work on requests whose
    /// clients have given up.
    pub rest_after_drain_s: f64,
    /// Rest: length of a trial with almost no load.
    pub rest_s: f64,
    /// Rest: the most such trials.
    pub rests: u32,
    /// Rest: the rate, as a share of the one before.
    pub rest: f64,
    /// The longest wait for a trial's answers; the request time-out if that is shorter.
    pub drain_s: f64,
    /// The time kept for windows, profiles and check while the search looks for the stable level.
    pub reserve_s: f64,
    /// The time kept for them while the search holds rates and none is confirmed yet.
    pub reserve_least_s: f64,
    /// The share of these reserves, and of what later phases need, that is kept: 1, or less where
    /// the budget is too small for all of it.
    pub reserve_share: f64,
    /// A failed trial is not repeated if more than this share of its due requests got no expected
    /// answer or was left waiting.
    pub hopeless_share: f64,
    /// Nor is it repeated if the share that is not ok in each third is this multiple of what the goal
    /// allows.
    pub hopeless_throughout: f64,
    /// The confidence of all intervals.
    pub confidence: f64,
    /// The number of batches of a trial, for the interval of its mean and for the growth test.
    pub batches: usize,
    /// A trial fails for its not-ok answers if chance explains them with a probability below this.
    pub not_ok_p: f64,
    /// Growth counts if chance explains it with a probability below this.
    pub growth_p: f64,
    /// An overloaded server has grown if it later answers more than at first by this share.
    pub grown: f64,
    /// The widest stable interval of a clean result, as a share.
    pub clean_width: f64,
    /// The seed of the forecast's draws.
    pub seed: u64,
    /// When a trial is void.
    pub voiding: Voiding,
    /// The definitions of the levels.
    pub goals: Goals,
}

/// When a trial is void, that is, says nothing about the server. A pass is void only where less was
/// sent than asked: a server that keeps its goal in spite of a late generator keeps it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Voiding {
    /// The 99th percentile of the send lag in milliseconds; it must also exceed the next limit.
    pub lag_ms: f64,
    /// The same as a share of the measured mean: a late generator does not explain a tenfold
    /// response time.
    pub lag_share_of_mean: f64,
    /// The least share of the due requests that must be sent.
    pub sent_share: f64,
    /// The largest share of the due requests that may find no socket, port or address on this
    /// machine.
    pub no_room_share: f64,
    /// The largest share of its cores that the generator may use.
    pub generator_share: f64,
    /// The largest share of processor time that the host may take.
    pub steal_share: f64,
    /// The least score of the fixed piece of work, as a share of the reference score.
    pub spin_share: f64,
    /// The most attempts at a short trial before it is left as void.
    pub tries: u32,
    /// The most attempts at a hold or a window, which take longer.
    pub tries_long: u32,
}

/// The definitions of the levels.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Goals {
    /// Stable: the load that holds indefinitely.
    pub stable: StableGoal,
    /// Burst: the largest share of a window that may be not ok.
    pub burst_not_ok: f64,
    /// Failure: the share of a window that must be exceeded by requests that are not ok.
    pub failure_not_ok: f64,
    /// Failure: the share of the highest goodput seen below which goodput must fall instead.
    pub failure_goodput: f64,
}

/// What a rate must keep to be stable.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct StableGoal {
    /// The limit in milliseconds for the mean response time and the upper end of its interval.
    pub mean_ms: Option<f64>,
    /// The limit in milliseconds for the median of the windows' 99th percentiles.
    pub p99_ms: Option<f64>,
    /// The limit in milliseconds for the worst window's 99th percentile.
    pub worst_p99_ms: Option<f64>,
    /// The largest share that may be not ok.
    pub not_ok: f64,
    /// The largest rise of response times within a trial, as a share of the limit.
    pub growth: f64,
    /// The largest share of the due requests by which answers may fall behind.
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
    /// Returns constants for a first look within a minute: short trials, and so coarse levels.
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

    /// Returns the same constants for another budget, in seconds; a smaller one keeps less for
    /// later.
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
            stable: StableGoal::default(),
            burst_not_ok: 0.01,
            failure_not_ok: 0.05,
            failure_goodput: 0.7,
        }
    }
}

impl Default for StableGoal {
    /// The published goal: a mean response time below one second.
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

impl StableGoal {
    /// Returns a goal for interactive use: the 99th percentile of each window. The median window
    /// must keep the limit, the worst window twice the limit.
    pub fn p99(limit_ms: f64) -> Self {
        Self {
            mean_ms: None,
            p99_ms: Some(limit_ms),
            worst_p99_ms: Some(limit_ms * 2.0),
            ..Self::default()
        }
    }

    /// Returns the time limit that growth is measured against, in milliseconds.
    pub fn limit_ms(&self) -> f64 {
        self.mean_ms.or(self.p99_ms).or(self.worst_p99_ms).unwrap_or(1_000.0)
    }
}
