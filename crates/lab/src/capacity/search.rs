//! The state that all phases share: trials within a budget, repetition of void ones, and what is
//! known so far.

use std::collections::BTreeMap;

use super::constants::Constants;
use super::driver::{Driver, Event};
use super::judge::{Figures, TrialVerdict, figures, judge};
use super::result::{Ceiling, Phase, Tried};
use crate::statistics::binomial_cdf;
use crate::trial::{Trial, TrialPlan};

/// A search in progress.
pub struct Search<'a, D> {
    pub constants: &'a Constants,
    driver: &'a mut D,
    /// The highest rate to try.
    pub top: f64,
    /// Whether the generator sets that limit.
    pub top_is_generator: bool,
    pub ceiling: Option<f64>,
    pub spent_s: f64,
    pub phases: BTreeMap<Phase, f64>,
    pub trials: Vec<Tried>,
    /// The rates that were decided, in order.
    pub known: Vec<Decided>,
    pub reasons: Vec<String>,
    /// Whether the holds of some rate have passed.
    pub is_confirmed: bool,
    /// Whether the driver was told to stop.
    pub is_stopped: bool,
}

/// The verdict about a rate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Decided {
    pub rate: f64,
    pub verdict: TrialVerdict,
    pub phase: Phase,
}

impl<'a, D: Driver> Search<'a, D> {
    pub fn new(constants: &'a Constants, ceiling: Ceiling, driver: &'a mut D) -> Self {
        let by_generator =
            ceiling.rate.map_or(f64::INFINITY, |rate| rate * constants.generator_share_of_ceiling);
        let by_request = constants.rate_max.unwrap_or(f64::INFINITY);
        Self {
            constants,
            driver,
            top: by_generator.min(by_request),
            top_is_generator: by_generator < by_request,
            ceiling: ceiling.rate,
            spent_s: ceiling.seconds,
            phases: BTreeMap::from([(Phase::SelfCheck, ceiling.seconds)]),
            trials: vec![],
            known: vec![],
            reasons: vec![],
            is_confirmed: false,
            is_stopped: false,
        }
    }

    /// Returns the seconds that a phase may still take.
    pub fn left_s(&self, phase: Phase) -> f64 {
        if self.is_stopped {
            return 0.0;
        }
        let by = self.constants;
        let profiles = 2.0 * by.profile_s / 3.0 + by.check_s + 2.0 * by.drain_s;
        let kept = match phase {
            Phase::SelfCheck | Phase::Bracket => by.reserve_s + 3.0 * by.hold_s,
            Phase::Narrow => by.reserve_s + 2.0 * by.hold_s,
            Phase::Confirm if self.is_confirmed => by.reserve_s,
            Phase::Confirm => by.reserve_least_s,
            Phase::Above | Phase::Lift => profiles + by.drain_s,
            Phase::Healthy => profiles - by.profile_s / 3.0,
            Phase::Unhealthy => by.check_s + 2.0 * by.drain_s,
            Phase::Check | Phase::Rest => 4.0,
        };
        by.budget_s - kept * by.reserve_share - self.spent_s
    }

    /// Makes a trial and judges it by the goal of stable. Returns `None` if there is no time left
    /// for it.
    pub fn once(
        &mut self,
        phase: Phase,
        rate: f64,
        seconds: f64,
    ) -> Result<Option<(Tried, Figures)>, D::Error> {
        if seconds > self.left_s(phase) {
            return Ok(None);
        }
        let Some((tried, figures)) = self.make(phase, rate, seconds)? else { return Ok(None) };
        if tried.drain_s >= self.constants.rest_after_drain_s {
            self.rest(rate)?;
        }
        Ok(Some((tried, figures)))
    }

    /// Sends almost no load until the server answers as quickly as an idle one.
    fn rest(&mut self, after: f64) -> Result<(), D::Error> {
        let by = self.constants;
        let calm_ms = by.goals.stable.limit_ms() / 4.0;
        for _ in 0..by.rests {
            if by.rest_s > self.left_s(Phase::Rest) {
                break;
            }
            let rate = (after * by.rest).max(by.rate_min);
            let Some((tried, _)) = self.make(Phase::Rest, rate, by.rest_s)? else { break };
            if tried.percentiles_ms[3] < calm_ms {
                return Ok(());
            }
        }
        if !self.is_stopped {
            self.reasons.push(format!("after {after:.0}/s the server did not come to rest"));
        }
        Ok(())
    }

    fn make(
        &mut self,
        phase: Phase,
        rate: f64,
        seconds: f64,
    ) -> Result<Option<(Tried, Figures)>, D::Error> {
        let plan = TrialPlan { rate, seconds };
        self.driver.tell(&Event::Trying { phase, plan, spent_s: self.spent_s });
        let Some(trial) = self.driver.trial(phase, plan)? else {
            self.is_stopped = true;
            return Ok(None);
        };
        let took = trial.seconds + trial.drain_s;
        self.spent_s += took;
        *self.phases.entry(phase).or_default() += took;
        let (figures, settled) = figures(&trial, self.constants);
        let goal = &self.constants.goals.stable;
        let (verdict, why) = judge(&trial, goal, self.constants, (&figures, settled));
        let tried = tried(phase, rate, &trial, &figures, (verdict, why));
        self.driver.tell(&Event::Tried(&tried));
        self.trials.push(tried.clone());
        Ok(Some((tried, figures)))
    }

    /// Makes a trial, and repeats it while it is void and tries are left. Returns `None` if there
    /// is no time left.
    pub fn valid(
        &mut self,
        phase: Phase,
        rate: f64,
        seconds: f64,
    ) -> Result<Option<(Tried, Figures)>, D::Error> {
        let by = self.constants;
        let long = seconds >= by.window_s.min(by.hold_s);
        let tries = if long { by.voiding.tries_long } else { by.voiding.tries };
        let mut last = None;
        for _ in 0..tries.max(1) {
            let Some(found) = self.once(phase, rate, seconds)? else { break };
            let void = found.0.verdict.is_void();
            last = Some(found);
            if !void {
                break;
            }
        }
        Ok(last)
    }

    /// Decides whether a rate keeps the goal. One pass is enough; after a failure, two of three
    /// trials decide. Returns `None` if there was no time for any trial.
    pub fn settle(
        &mut self,
        phase: Phase,
        rate: f64,
        seconds: f64,
    ) -> Result<Option<TrialVerdict>, D::Error> {
        let mut all: Vec<(Tried, Figures)> = vec![];
        let count = |all: &[(Tried, Figures)], verdict| {
            all.iter().filter(|(tried, _)| tried.verdict == verdict).count()
        };
        let mut length = seconds;
        for turn in 0..3 {
            let Some(found) = self.valid(phase, rate, length)? else { break };
            let (verdict, hopeless) = (found.0.verdict, self.is_hopeless(&found.1));
            all.push(found);
            let decided = verdict.is_void()
                || (turn == 0 && verdict == TrialVerdict::Passed)
                || (turn == 0 && verdict == TrialVerdict::Failed && hopeless);
            if decided {
                self.learn(rate, verdict, phase);
                return Ok(Some(verdict));
            }
            if count(&all, TrialVerdict::Passed) == 2 || count(&all, TrialVerdict::Failed) == 2 {
                break;
            }
            // A failure is repeated at the same length; an undecided or contradictory result at a
            // longer one.
            if turn > 0 || verdict == TrialVerdict::Undecided {
                length = (length * 2.0).min(self.constants.narrow_s_max.max(seconds));
            }
        }
        if all.is_empty() {
            return Ok(None);
        }
        let verdict =
            match count(&all, TrialVerdict::Passed).cmp(&count(&all, TrialVerdict::Failed)) {
                std::cmp::Ordering::Greater => TrialVerdict::Passed,
                std::cmp::Ordering::Less => TrialVerdict::Failed,
                std::cmp::Ordering::Equal => self.by_all(&all),
            };
        self.learn(rate, verdict, phase);
        Ok(Some(verdict))
    }

    pub fn learn(&mut self, rate: f64, verdict: TrialVerdict, phase: Phase) {
        self.known.push(Decided { rate, verdict, phase });
    }

    pub fn found(&mut self, words: &str) {
        self.driver.tell(&Event::Found(words));
    }

    /// Returns the lowest rate above this one whose last verdict is not a pass.
    pub fn lowest_not_passed(&self, above: f64) -> Option<f64> {
        self.lowest(above, |verdict| verdict != TrialVerdict::Passed)
    }

    /// Returns the lowest rate above this one whose last verdict satisfies `such`.
    pub fn lowest(&self, above: f64, such: impl Fn(TrialVerdict) -> bool) -> Option<f64> {
        self.known
            .iter()
            .enumerate()
            .filter(|(place, known)| {
                known.rate > above * 1.000_1
                    && such(known.verdict)
                    && !self.known[place + 1..].iter().any(|later| same(later.rate, known.rate))
            })
            .map(|(_, known)| known.rate)
            .min_by(f64::total_cmp)
    }

    /// Returns the highest rate that passed a valid trial and lies below every rate that failed.
    pub fn highest_passed(&self) -> Option<f64> {
        let least =
            self.lowest(0.0, |verdict| verdict == TrialVerdict::Failed).unwrap_or(f64::INFINITY);
        self.known
            .iter()
            .filter(|known| known.verdict == TrialVerdict::Passed && known.rate < least)
            .map(|known| known.rate)
            // A rate that passed only by undecided trials taken together does not
            // count.
            .filter(|rate| {
                let passed = |tried: &Tried| tried.verdict == TrialVerdict::Passed;
                self.trials.iter().any(|tried| same(tried.rate, *rate) && passed(tried))
            })
            .max_by(f64::total_cmp)
    }

    /// Returns whether a valid trial of at least this length had at most this share not ok.
    pub fn was_kept(&self, rate: f64, seconds: f64, not_ok: f64) -> bool {
        self.trials.iter().any(|tried| {
            same(tried.rate, rate)
                && tried.seconds >= seconds
                && !tried.verdict.is_void()
                && tried.not_ok_share <= not_ok
        })
    }

    fn is_hopeless(&self, figures: &Figures) -> bool {
        let by = self.constants;
        figures.not_ok_share().max(figures.left_share) > by.hopeless_share
            || figures.not_ok_throughout > by.hopeless_throughout * by.goals.stable.not_ok
    }

    /// Decides by all trials together where votes are equal: by the mean of their means, and by
    /// whether more was not ok than chance explains.
    pub fn by_all(&self, all: &[(Tried, Figures)]) -> TrialVerdict {
        let goal = &self.constants.goals.stable;
        let (due, not_ok) =
            all.iter().fold((0, 0), |(due, not_ok), (_, of)| (due + of.due, not_ok + of.not_ok));
        let means: Vec<f64> = all.iter().map(|(_, figures)| figures.mean_ms.value).collect();
        let slow = goal.mean_ms.is_some_and(|limit| crate::statistics::mean(&means) >= limit);
        let errs = not_ok > 0
            && 1.0 - binomial_cdf(not_ok - 1, due, goal.not_ok) < self.constants.not_ok_p;
        if slow || errs { TrialVerdict::Failed } else { TrialVerdict::Passed }
    }
}

/// Returns whether two rates are equal up to rounding.
pub fn same(a: f64, b: f64) -> bool {
    (a / b - 1.0).abs() < 1e-4
}

fn tried(
    phase: Phase,
    rate: f64,
    trial: &Trial,
    figures: &Figures,
    (verdict, why): (TrialVerdict, String),
) -> Tried {
    Tried {
        phase,
        rate,
        seconds: trial.seconds,
        drain_s: trial.drain_s,
        verdict,
        why,
        mean_ms: figures.mean_ms,
        percentiles_ms: trial.percentiles_ms,
        not_ok_share: figures.not_ok_share(),
        growth_ms: figures.growth_ms,
        behind: figures.behind,
        goodput: figures.goodput,
        waiting: figures.waiting,
        little_gap: figures.little_gap,
        lag_p99_ms: trial.lag_p99_ms,
        generator_share: trial.generator_share,
        steal_share: trial.steal_share,
        spin_share: trial.spin_share,
    }
}
