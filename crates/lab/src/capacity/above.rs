//! Searches above stable: burst, failure, the profiles of the report, and a second check of stable.

use super::driver::Driver;
use super::judge::TrialVerdict;
use super::levels::{AtLeast, Level};
use super::result::Phase;
use super::search::Search;
use super::stable::{self, Stable};

/// The results of the search above stable.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Above {
    pub stable: Stable,
    pub burst: Level,
    pub failure: Level,
    /// Whether stable was also kept at the end; `None` if that could not be decided.
    pub kept: Option<bool>,
}

/// The rates between which the levels lie, as far as the windows have shown.
struct Between {
    /// The highest rate with hardly an error, and the lowest with more.
    burst: (f64, Option<f64>),
    /// The highest rate that did not break the server, and the lowest that did.
    failure: (f64, Option<f64>),
}

/// Searches above the stable level, then checks that level once more.
pub fn find<D: Driver>(search: &mut Search<'_, D>, found: Stable) -> Result<Above, D::Error> {
    let window_s = search.constants.window_s;
    let nothing = Level { window_s, ..Level::default() };
    let before = match found {
        Stable::Confirmed(rate) => Some(rate),
        // Not the last rate that was tried: no hold confirmed it.
        Stable::Unconfirmed => search.highest_passed(),
        Stable::Nothing => None,
    };
    let Some(before) = before else {
        return Ok(Above { stable: found, burst: nothing, failure: nothing, kept: None });
    };
    let (rate, between) = windows(search, before)?;
    let is_lifted = rate > before;
    let stable = match found {
        Stable::Unconfirmed if !is_lifted => found,
        _ => Stable::Confirmed(rate),
    };
    let is_void = search.trials.iter().any(|of| of.phase == Phase::Above && of.verdict.is_void());
    let not_found = if is_void { AtLeast::Void } else { AtLeast::Above };
    let level = |rate: f64, (low, high): (f64, Option<f64>)| {
        let level = Level { rate, low, high, found: high.is_some(), window_s, at_least: None };
        if level.found { level } else { level.at_least(not_found) }
    };
    let (low, high) = between.burst;
    let mut burst = level(low, (low, high));
    if burst.found && !search.was_kept(low, window_s, search.constants.goals.burst_not_ok) {
        burst = burst.at_least(AtLeast::Short);
    }
    let (low, high) = between.failure;
    let failure = level(high.unwrap_or(low), (low, high));
    profiles(search, rate)?;
    let kept = check(search, rate)?;
    Ok(Above { stable, burst, failure, kept })
}

/// Tries windows upwards from stable; stable is raised if a window keeps its goal.
fn windows<D: Driver>(
    search: &mut Search<'_, D>,
    mut stable: f64,
) -> Result<(f64, Between), D::Error> {
    let factor = search.constants.window_factor;
    let mut between = Between { burst: (stable, None), failure: (stable, None) };
    let mut rate = stable * factor;
    let mut step = factor;
    loop {
        let end = search.top.min(stable * search.constants.window_reach);
        rate = rate.min(end);
        if rate <= between.failure.0 * 1.001 || between.failure.1.is_some() {
            break;
        }
        let Some(passed) = window(search, rate, &mut between)? else { break };
        // If the first window above stable keeps its goal, stable was found too low.
        let near = rate <= stable * factor * 1.001;
        if passed && near && stable::holds_too(search, rate)? {
            stable = rate;
            search.found(&format!("stable after all at {rate:.0}/s"));
            rate = stable * factor;
            step = factor;
            continue;
        }
        if between.burst.1.is_none() {
            step *= if rate > stable * factor * 1.001 { step } else { 1.0 };
            rate *= step;
        } else {
            rate *= factor;
        }
    }
    refine(search, &mut between)?;
    Ok((stable, between))
}

/// Tries windows between the rates of a level that lie far apart, while there is time.
fn refine<D: Driver>(search: &mut Search<'_, D>, between: &mut Between) -> Result<(), D::Error> {
    let near = search.constants.window_factor * 1.01;
    loop {
        let wide = [between.burst, between.failure]
            .into_iter()
            .filter_map(|(low, high)| Some((high? / low, (low * high?).sqrt())))
            .filter(|(ratio, _)| *ratio > near)
            .max_by(|a, b| a.0.total_cmp(&b.0));
        let Some((_, rate)) = wide else { return Ok(()) };
        if window(search, rate, between)?.is_none() {
            return Ok(());
        }
    }
}

/// Tries one window and returns whether it keeps the goal of stable. `None` if there is no time
/// left or the window is void.
fn window<D: Driver>(
    search: &mut Search<'_, D>,
    rate: f64,
    between: &mut Between,
) -> Result<Option<bool>, D::Error> {
    let by = search.constants;
    let Some((tried, figures)) = search.valid(Phase::Above, rate, by.window_s)? else {
        return Ok(None);
    };
    if tried.verdict.is_void() {
        search.learn(rate, tried.verdict, Phase::Above);
        return Ok(None);
    }
    if tried.verdict != TrialVerdict::Undecided {
        search.learn(rate, tried.verdict, Phase::Above);
    }
    let peak = search.trials.iter().map(|tried| tried.goodput).fold(0.0, f64::max);
    let share = figures.not_ok_share();
    let goals = &by.goals;
    let broke = share > goals.failure_not_ok || figures.goodput < goals.failure_goodput * peak;
    put(&mut between.burst, rate, share <= goals.burst_not_ok && !broke);
    put(&mut between.failure, rate, !broke);
    Ok(Some(tried.verdict == TrialVerdict::Passed))
}

/// Records whether a rate is below or above a level; the lowest rate above outweighs higher ones
/// below.
fn put((low, high): &mut (f64, Option<f64>), rate: f64, below: bool) {
    if !below {
        *high = Some(high.map_or(rate, |high| high.min(rate)));
    } else if high.is_none_or(|high| rate < high) {
        *low = low.max(rate);
    }
}

/// Makes the two runs that the report shows second by second.
fn profiles<D: Driver>(search: &mut Search<'_, D>, stable: f64) -> Result<(), D::Error> {
    let by = search.constants;
    let length = |left: f64| by.profile_s.min(left);
    // Both share the remaining time equally.
    let both = search.left_s(Phase::Unhealthy);
    let healthy = length(both / 2.0);
    let mut made = 0;
    if healthy >= by.profile_s / 3.0 {
        let rate = stable * by.healthy;
        if let Some((tried, _)) = search.once(Phase::Healthy, rate, healthy)? {
            made += 1;
            if tried.verdict == TrialVerdict::Passed {
                search.learn(rate, TrialVerdict::Passed, Phase::Healthy);
            }
        }
        let unhealthy = length(search.left_s(Phase::Unhealthy));
        let rate = (stable * by.unhealthy).min(search.top);
        if unhealthy >= by.profile_s / 3.0 {
            made += u32::from(search.once(Phase::Unhealthy, rate, unhealthy)?.is_some());
        }
    }
    if made < 2 && !search.is_stopped {
        search.reasons.push("there was no time for both profiles".into());
    }
    Ok(())
}

/// Checks stable once more, one step below it. Returns whether it still holds.
fn check<D: Driver>(search: &mut Search<'_, D>, stable: f64) -> Result<Option<bool>, D::Error> {
    let by = search.constants;
    let rate = stable / (1.0 + by.width);
    let mut kept = None;
    for _ in 0..2 {
        let length = by.check_s.min(search.left_s(Phase::Check));
        if length < by.check_s / 2.0 {
            break;
        }
        let Some((tried, _)) = search.once(Phase::Check, rate, length)? else { break };
        match tried.verdict {
            TrialVerdict::Failed => kept = Some(false),
            TrialVerdict::Passed => {
                search.learn(rate, TrialVerdict::Passed, Phase::Check);
                return Ok(Some(true));
            }
            TrialVerdict::Undecided => return Ok(Some(true)),
            TrialVerdict::VoidGenerator | TrialVerdict::VoidHost => {}
        }
    }
    Ok(kept)
}
