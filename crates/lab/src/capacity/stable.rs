//! Searches for the stable level: bracket, narrow, confirm.

use super::driver::Driver;
use super::judge::TrialVerdict;
use super::result::Phase;
use super::search::{Search, same};

/// The factor between rates on the way down, while none has passed.
const DOWN: f64 = 4.0;
/// The largest factor by which one failed hold sends the search down.
const DOWN_MAX: f64 = 1.2;

/// The result of the search for stable.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Stable {
    /// Holds passed at this rate.
    Confirmed(f64),
    /// Short trials passed, but holds failed, were void, or had no time.
    Unconfirmed,
    /// No rate passed.
    Nothing,
}

/// Finds the stable level.
pub fn find<D: Driver>(search: &mut Search<'_, D>) -> Result<Stable, D::Error> {
    let (passed, failed) = bracket(search)?;
    let Some(passed) = passed else { return Ok(Stable::Nothing) };
    let passed = narrow(search, passed, failed)?;
    confirm(search, passed)
}

/// Returns the highest rate that passed and the lowest above it that did not.
fn bracket<D: Driver>(search: &mut Search<'_, D>) -> Result<(Option<f64>, Option<f64>), D::Error> {
    let by = search.constants;
    let (mut passed, mut failed) = (None, None);
    let mut rate = by.start_rate.min(search.top);
    while let Some(verdict) = search.settle(Phase::Bracket, rate, by.bracket_s)? {
        if verdict == TrialVerdict::Passed {
            passed = Some(rate);
            if failed.is_some() || rate >= search.top {
                break;
            }
            rate = (rate * by.bracket_factor).min(search.top);
        } else {
            failed = Some(rate);
            if passed.is_some() || rate <= by.rate_min {
                break;
            }
            rate = (rate / DOWN).max(by.rate_min);
        }
    }
    Ok((passed, failed))
}

/// Brings both rates together and returns the highest that passed.
fn narrow<D: Driver>(
    search: &mut Search<'_, D>,
    mut passed: f64,
    failed: Option<f64>,
) -> Result<f64, D::Error> {
    let by = search.constants;
    let Some(mut failed) = failed else { return Ok(passed) };
    // The goodput of an overloaded server is likely its capacity, so the search tries both sides of
    // it.
    let guess = search
        .trials
        .iter()
        .filter(|tried| tried.verdict == TrialVerdict::Failed && same(tried.rate, failed))
        .map(|tried| tried.goodput)
        .fold(0.0, f64::max);
    let width = 1.0 + by.width;
    let mut rate = guess * (1.0 - by.width / 2.0);
    let mut step = width;
    let mut upwards = None;
    while failed / passed > width {
        // Not so close to either end that little would be learnt.
        let room = width.sqrt().min((failed / passed).sqrt());
        rate = rate.clamp(passed * room, failed / room);
        let Some(verdict) = search.settle(Phase::Narrow, rate, by.narrow_s)? else { break };
        let up = verdict == TrialVerdict::Passed;
        if up {
            passed = rate;
        } else {
            failed = rate;
        }
        // The steps grow in one direction; after the first turn the search bisects.
        let middle = (passed * failed).sqrt();
        rate = match (up, upwards.replace(up) == Some(!up)) {
            (_, true) => middle,
            (true, false) => (rate * step).min(middle),
            (false, false) => (rate / step).max(middle),
        };
        step *= step;
    }
    Ok(passed)
}

/// The result of the holds of one rate.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Held {
    Yes,
    /// A hold failed, with this goodput.
    No(f64),
    /// The time ran out; whether the holds so far passed.
    Unknown(bool),
}

/// Holds a rate: two of three must pass, and the first must not fail. One pass and some undecided
/// holds are also enough, if all together keep the goal.
fn hold<D: Driver>(
    search: &mut Search<'_, D>,
    phase: Phase,
    rate: f64,
    before: u32,
) -> Result<Held, D::Error> {
    let by = search.constants;
    let mut all = vec![];
    let (mut passes, mut fails) = (before, 0);
    let mut goodput = rate;
    for _ in 0..by.holds {
        let Some(found) = search.valid(phase, rate, by.hold_s)? else {
            let well = passes > 0 && fails == 0;
            if well {
                search.learn(rate, TrialVerdict::Passed, phase);
            }
            return Ok(Held::Unknown(well));
        };
        match found.0.verdict {
            TrialVerdict::Passed => passes += 1,
            TrialVerdict::Undecided => {}
            verdict => {
                fails += 1;
                goodput = found.1.goodput;
                if verdict.is_void() || passes == 0 {
                    search.learn(rate, verdict, phase);
                    return Ok(Held::No(goodput));
                }
            }
        }
        all.push(found);
        let together = search.by_all(&all) == TrialVerdict::Passed;
        if passes >= 2 || (passes == 1 && fails == 0 && all.len() > 1 && together) {
            search.learn(rate, TrialVerdict::Passed, phase);
            search.is_confirmed = true;
            return Ok(Held::Yes);
        }
        if passes == 0 && !together {
            break;
        }
    }
    search.learn(rate, TrialVerdict::Failed, phase);
    Ok(Held::No(goodput))
}

/// Holds the rate that passed, steps down until a rate holds, and tries higher rates again.
fn confirm<D: Driver>(search: &mut Search<'_, D>, passed: f64) -> Result<Stable, D::Error> {
    let by = search.constants;
    let mut rate = passed;
    let mut step = 1.0 + by.width;
    let mut downs = 0;
    loop {
        match hold(search, Phase::Confirm, rate, 0)? {
            Held::Yes => break,
            Held::Unknown(_) => return Ok(Stable::Unconfirmed),
            Held::No(goodput) => {
                let next = (goodput * 0.995).clamp(rate / DOWN_MAX, rate / step);
                if next < by.rate_min {
                    return Ok(Stable::Unconfirmed);
                }
                rate = next;
                downs += 1;
                if downs > 2 {
                    step = (step * (1.0 + by.width)).min(DOWN_MAX);
                }
            }
        }
    }
    if downs > 0 {
        rate = lift(search, rate)?;
    }
    search.found(&format!("stable at {rate:.0}/s"));
    Ok(Stable::Confirmed(rate))
}

/// Tries higher rates from a confirmed one; rates that failed before get one more chance each.
fn lift<D: Driver>(search: &mut Search<'_, D>, from: f64) -> Result<f64, D::Error> {
    let width = 1.0 + search.constants.width;
    let mut stable = from;
    let mut failed = None;
    loop {
        let above = failed.or_else(|| search.lowest_not_passed(stable));
        let above = above.unwrap_or(f64::INFINITY).min(search.top);
        if failed.is_some_and(|failed: f64| failed / stable <= width * 1.001)
            || above <= stable * 1.000_1
        {
            return Ok(stable);
        }
        let next = if above / stable > width * width {
            (stable * above).sqrt().min(stable * width * width)
        } else {
            above.min(stable * width)
        };
        let new = !search.known.iter().any(|known| same(known.rate, next));
        match hold(search, Phase::Confirm, next, 0)? {
            Held::Yes => stable = next,
            Held::No(_) => failed = Some(next),
            Held::Unknown(passed) => return Ok(if passed && new { next } else { stable }),
        }
    }
}

/// Holds a rate at which a window has already passed.
pub fn holds_too<D: Driver>(search: &mut Search<'_, D>, rate: f64) -> Result<bool, D::Error> {
    Ok(hold(search, Phase::Lift, rate, 1)? == Held::Yes)
}
