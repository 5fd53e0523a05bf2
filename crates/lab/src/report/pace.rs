//! Whether answers keep up with what a stage asks for.

use crate::run::{RunFile, StageResult};
use crate::stage::Load;

use super::words;

/// The share of what a stage asks for that may not be answered in time while its load is held.
pub const BEHIND_SHARE_MAX: f64 = 0.01;
/// Fewest seconds by which requests that are always under way are told from a queue that grows.
pub const SECONDS_MIN: usize = 6;
/// Standard deviations that two numbers under way may differ by.
const BY_CHANCE: f64 = 2.0;

/// Why answers did not keep up with what a stage asked for, in words; nothing if they did.
///
/// They did where all but one per cent of what was asked for was answered within the stage, or where
/// what was not was under way all the time: some requests always are when a stage ends. A stage in
/// which neither was seen was not held. Modelled clients ask for no more than is answered.
pub fn fell_behind(run: &RunFile, stage: &StageResult) -> Option<String> {
    let Load::Rate { .. } = stage.stage.load else { return None };
    let asked = stage.requests.total as f64;
    // Files of older versions say only how many answers were as expected.
    let answered = stage.answered_per_s.max(stage.goodput) * stage.seconds;
    let lacking = (asked - answered) / asked.max(1.0);
    if lacking <= BEHIND_SHARE_MAX {
        return None;
    }
    match behind(run, stage) {
        Some(behind) if behind <= BEHIND_SHARE_MAX => None,
        Some(behind) => {
            Some(format!("answers fell behind by {} of what was asked", words::percent(behind)))
        }
        None => Some(format!(
            "{} answered in time; whether the rest was under way as ever is seen from \
             {SECONDS_MIN} s on",
            words::percent(1.0 - lacking)
        )),
    }
}

/// The share of what was asked for by which answers fell behind from the first third of a stage to
/// the last: what waits at the end of a second, beyond what waited at first and what may be chance.
/// Where the rate changes, a steady server has as many more under way as there are more asked for.
/// [`None`] for a stage that is too short to tell.
fn behind(run: &RunFile, stage: &StageResult) -> Option<f64> {
    let end = stage.start_s + stage.seconds;
    let mut waiting = 0.0;
    let mut seconds: Vec<(f64, f64)> = vec![];
    for interval in &run.intervals {
        waiting += interval.due as f64 - interval.answered as f64;
        if interval.at_s >= stage.start_s && interval.at_s + 1.0 <= end + 0.01 {
            seconds.push((interval.due as f64, waiting));
        }
    }
    if seconds.len() < SECONDS_MIN {
        return None;
    }
    let third = seconds.len() / 3;
    let (first, last) = (&seconds[..third], &seconds[seconds.len() - third..]);
    let mean = |part: &[(f64, f64)], of: fn(&(f64, f64)) -> f64| {
        part.iter().map(of).sum::<f64>() / part.len() as f64
    };
    let more_asked = mean(last, |second| second.0) / mean(first, |second| second.0).max(1.0);
    let (before, after) = (mean(first, |second| second.1), mean(last, |second| second.1));
    let expected = before.max(0.0) * more_asked;
    let chance = BY_CHANCE * (expected + after.max(0.0)).sqrt();
    let between = mean(&seconds[..], |second| second.0) * (seconds.len() - third) as f64;
    Some((after - expected - chance).max(0.0) / between.max(1.0))
}
