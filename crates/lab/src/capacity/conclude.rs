//! Turns the results of a search into the capacity file: levels, verdict, reasons.

use super::above::Above;
use super::driver::Driver;
use super::judge::TrialVerdict;
use super::levels::{AtLeast, Level, Levels};
use super::result::{Capacity, FORMAT, Phase, Tried, Verdict};
use super::search::{Search, same};
use super::stable::Stable;
use crate::statistics::{Estimate, Resampling, forecast, knee};

/// The number of draws for the forecast's band.
const DRAWS: u32 = 200;
/// A server whose goodput is below this share of the rate is saturated.
const SATURATED: f64 = 0.93;
/// The factor by which errors under little load must exceed the goal for a server to be failing.
const ERRS_ANYWAY: f64 = 2.0;
/// The ratio between knee and stable level from which it is reported.
const KNEE_FAR: f64 = 1.3;
/// The gap in Little's law above which a trial is suspect.
const LITTLE_GAP: f64 = 0.3;
/// The share of suspect trials from which the result mentions them.
const LITTLE_SHARE: f64 = 0.5;

/// Draws the conclusions.
pub fn conclude<D: Driver>(search: Search<'_, D>, above: &Above) -> Capacity {
    let by = search.constants;
    let mut reasons = vec![];
    if search.is_stopped {
        reasons.push("it was stopped before it had finished".into());
    }
    let mut levels = Levels::new(level(&search, above.stable), above.burst, above.failure);
    let stable = levels.stable();
    let verdict = if search.is_stopped {
        Verdict::Interrupted
    } else {
        verdict(&search, above, stable, &mut reasons)
    };
    if stable.found && (verdict.is_at_least() || verdict == Verdict::OutOfTime) {
        let stable = stable.at_least(AtLeast::Above);
        levels = Levels::new(stable, levels.burst(), levels.failure());
    }
    let knee = knee_of(&search.trials);
    if let Some(knee) = knee.filter(|knee| stable.found && far(*knee, stable.rate)) {
        reasons.push(format!(
            "the knee of the goodput lies at {knee:.0}/s, far from stable: look at the curve"
        ));
    }
    if little(&search.trials) {
        reasons.push(
            "Little's law does not hold in most steady trials: waiting requests and response \
             times do not fit together"
                .into(),
        );
    }
    reasons.extend(search.reasons);
    let how = Resampling { draws: DRAWS, confidence: by.confidence, seed: by.seed };
    Capacity {
        format: FORMAT,
        verdict,
        reasons,
        levels,
        stable_mean_ms: mean_at(&search.trials, stable.rate),
        generator_ceiling: search.ceiling,
        self_check: None,
        knee,
        usl: forecast(&concurrency(&search.trials), how),
        seconds: search.spent_s,
        phases: search.phases,
        trials: search.trials,
        constants: by.clone(),
    }
}

fn level<D: Driver>(search: &Search<'_, D>, stable: Stable) -> Level {
    let failed = |above: f64| search.lowest(above, |verdict| verdict == TrialVerdict::Failed);
    let (rate, found) = match stable {
        Stable::Nothing => return Level { high: failed(0.0), ..Level::default() },
        Stable::Confirmed(rate) => (rate, true),
        Stable::Unconfirmed => (search.highest_passed().unwrap_or(0.0), false),
    };
    // The interval also takes in trials that were outvoted: a failure at or below the level, and a
    // long pass above it.
    let by = search.constants;
    let trials = || search.trials.iter().filter(|tried| tried.phase != Phase::Rest);
    let low = trials()
        .filter(|tried| tried.verdict == TrialVerdict::Failed && tried.seconds >= by.narrow_s)
        .map(|tried| tried.rate)
        .fold(rate, f64::min);
    let passed = trials()
        .filter(|tried| tried.verdict == TrialVerdict::Passed && tried.seconds >= by.check_s)
        .map(|tried| tried.rate)
        .fold(rate, f64::max);
    let high = failed(passed).or_else(|| failed(rate).map(|high| high.max(passed)));
    let level = Level { rate, low, high, found, window_s: 0.0, at_least: None };
    if found { level } else { level.at_least(unconfirmed(search)) }
}

/// Returns why no rate was confirmed.
fn unconfirmed<D: Driver>(search: &Search<'_, D>) -> AtLeast {
    let is_hold = |tried: &&Tried| matches!(tried.phase, Phase::Confirm | Phase::Lift);
    let is_void = search.trials.iter().filter(is_hold).any(|tried| tried.verdict.is_void());
    if is_void { AtLeast::Void } else { AtLeast::Short }
}

fn verdict<D: Driver>(
    search: &Search<'_, D>,
    above: &Above,
    stable: Level,
    reasons: &mut Vec<String>,
) -> Verdict {
    let by = search.constants;
    // If the rate was not confirmed, its own holds count as well as the rates above it.
    let from = if stable.found { stable.rate } else { stable.rate * 0.999 };
    let void = |kind| search.lowest(from, move |verdict| verdict == kind);
    let nearest = search
        .lowest(stable.rate, |verdict| verdict == TrialVerdict::Failed)
        .unwrap_or(f64::INFINITY);
    let host = void(TrialVerdict::VoidHost).filter(|rate| *rate < nearest);
    let generator = void(TrialVerdict::VoidGenerator).filter(|rate| *rate < nearest);
    let wide =
        !stable.found || stable.high.is_none_or(|high| high > stable.low * (1.0 + by.clean_width));
    if let Some(rate) = host.filter(|host| wide && generator.is_none_or(|other| *host <= other)) {
        reasons.push(format!("at {rate:.0}/s {}", last_words(search, rate)));
        reasons.push(format!("so the server holds at least {:.0}/s", stable.rate));
        return Verdict::HostNoisy;
    }
    if let Some(rate) = generator.filter(|_| wide) {
        reasons.push(format!("at {rate:.0}/s {}", last_words(search, rate)));
        reasons.push(format!("so the server holds at least {:.0}/s", stable.rate));
        return Verdict::GeneratorLimited;
    }
    if above.stable == Stable::Nothing {
        let least = search.known.iter().map(|known| known.rate).fold(f64::INFINITY, f64::min);
        if least > by.rate_min * 1.001 {
            reasons.push("time ran out before any rate kept the goal".into());
            return Verdict::OutOfTime;
        }
        let why = search.trials.last().map_or("nothing was tried", |tried| tried.why.as_str());
        reasons.push(format!("no rate keeps the goal; the last trial: {why}"));
        return Verdict::TargetFailing;
    }
    if let Some(share) = errs_anyway(search, stable) {
        reasons.push(format!("{:.2} % of requests fail even under a light load", share * 100.0));
        return Verdict::TargetFailing;
    }
    let against = contradictions(search, above, stable);
    if !against.is_empty() {
        reasons.extend(against);
        return Verdict::TargetUnsteady;
    }
    if stable.high.is_none() && stable.rate >= search.top * 0.999 {
        return if search.top_is_generator {
            reasons.push(format!(
                "{:.0}/s passes, which is all that the generator is trusted to send: {:.0} % of \
                    the \
                 {:.0}/s that it can send",
                stable.rate,
                by.generator_share_of_ceiling * 100.0,
                search.ceiling.unwrap_or_default(),
            ));
            Verdict::GeneratorLimited
        } else {
            reasons.push(format!("{:.0}/s passes, and no higher rate was allowed", stable.rate));
            Verdict::LimitOfSearch
        };
    }
    if !stable.found {
        reasons.push(match stable.high {
            Some(high) => format!(
                "time ran out before a rate was confirmed: stable lies between {:.0} and \
                 {high:.0}/s",
                stable.low
            ),
            None => format!("time ran out: stable is at least {:.0}/s", stable.low),
        });
        return Verdict::OutOfTime;
    }
    if wide {
        let high = stable.high.unwrap_or(f64::INFINITY);
        let narrowed = nearest <= stable.rate * (1.0 + by.clean_width);
        reasons.push(if narrowed {
            format!(
                "between {:.0} and {high:.0}/s the same rate passed once and failed once",
                stable.low
            )
        } else {
            format!("time ran out: stable lies between {:.0} and {high:.0}/s", stable.low)
        });
        return if narrowed { Verdict::TargetUnsteady } else { Verdict::OutOfTime };
    }
    Verdict::Clean
}

/// Returns the findings that contradict the stable level.
fn contradictions<D: Driver>(search: &Search<'_, D>, above: &Above, stable: Level) -> Vec<String> {
    let by = search.constants;
    let mut against = vec![];
    if above.kept == Some(false) {
        against.push(format!(
            "at the end {:.0}/s was too much, though {:.0}/s had held before",
            stable.rate / (1.0 + by.width),
            stable.rate
        ));
    }
    let early = most(&search.trials, |phase| phase <= Phase::Confirm);
    let late = most(&search.trials, |phase| phase > Phase::Confirm);
    if early > 0.0 && late > early * (1.0 + by.grown) {
        against.push(format!(
            "under more load than it holds it answered {early:.0}/s at first and {late:.0}/s later"
        ));
    }
    against
}

/// Returns the highest goodput of an overloaded server in some phases; 0 if it was never
/// overloaded.
fn most(trials: &[Tried], of: impl Fn(Phase) -> bool) -> f64 {
    trials
        .iter()
        .filter(|tried| of(tried.phase) && !tried.verdict.is_void())
        .filter(|tried| tried.goodput < SATURATED * tried.rate)
        .map(|tried| tried.goodput)
        .fold(0.0, f64::max)
}

/// Returns the share that is not ok under little load, if that alone misses the goal.
fn errs_anyway<D: Driver>(search: &Search<'_, D>, stable: Level) -> Option<f64> {
    let goal = &search.constants.goals.stable;
    let least = search.trials.iter().map(|tried| tried.rate).fold(f64::INFINITY, f64::min);
    let little = if stable.rate > 0.0 { stable.rate } else { least };
    let quick = search.trials.iter().filter(|tried| {
        tried.rate <= little * 1.001 && tried.percentiles_ms[3] < goal.limit_ms() / 10.0
    });
    let (due, not_ok) = quick.fold((0.0, 0.0), |(due, not_ok), tried| {
        let count = tried.rate * tried.seconds;
        (due + count, not_ok + count * tried.not_ok_share)
    });
    (not_ok > ERRS_ANYWAY * goal.not_ok * due).then(|| not_ok / due)
}

/// Returns why the last trial at a rate was void.
fn last_words<D: Driver>(search: &Search<'_, D>, rate: f64) -> String {
    let last = search.trials.iter().rev().find(|tried| same(tried.rate, rate));
    last.map_or_else(String::new, |tried| tried.why.clone())
}

fn far(a: f64, b: f64) -> bool {
    a.max(b) > a.min(b) * KNEE_FAR
}

fn knee_of(trials: &[Tried]) -> Option<f64> {
    let mut points: Vec<(f64, f64)> = trials
        .iter()
        .filter(|tried| !tried.verdict.is_void())
        .map(|tried| (tried.rate, tried.goodput))
        .collect();
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    knee(&points)
}

/// Returns concurrency and throughput of the trials that passed: below and at saturation.
fn concurrency(trials: &[Tried]) -> Vec<(f64, f64)> {
    trials
        .iter()
        .filter(|tried| tried.verdict == TrialVerdict::Passed)
        .map(|tried| (tried.goodput * tried.mean_ms.value / 1e3, tried.goodput))
        .collect()
}

fn mean_at(trials: &[Tried], rate: f64) -> Estimate {
    trials
        .iter()
        .filter(|tried| same(tried.rate, rate) && tried.verdict == TrialVerdict::Passed)
        .max_by(|a, b| a.seconds.total_cmp(&b.seconds))
        .map_or_else(Estimate::default, |tried| tried.mean_ms)
}

fn little(trials: &[Tried]) -> bool {
    let steady: Vec<&Tried> = trials
        .iter()
        .filter(|tried| tried.verdict == TrialVerdict::Passed && tried.waiting >= 2.0)
        .collect();
    let gaps = steady.iter().filter(|tried| tried.little_gap > LITTLE_GAP).count();
    steady.len() >= 3 && gaps as f64 > LITTLE_SHARE * steady.len() as f64
}
