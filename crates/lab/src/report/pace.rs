//! Decides whether answers keep up with the load of a stage.

use homeroom_load::run::{RunFile, StageResult};
use homeroom_load::stage::Load;

use super::words;

/// The largest share of a stage's requests that may not be answered in time while the load is held.
pub const BEHIND_SHARE_MAX: f64 = 0.01;
/// The fewest seconds in which a growing queue can be told from requests that are always in flight.
pub const SECONDS_MIN: usize = 6;
/// How many standard deviations two numbers in flight may differ by chance.
const BY_CHANCE: f64 = 2.0;

/// Says why answers did not keep up with a stage's load; `None` if they did.
///
/// Answers kept up if all but one per cent of the requests were answered within the stage, or if
/// the rest was in flight all the time: some requests always are when a stage ends. If neither can
/// be shown, the stage was not held. Modelled clients never ask for more than is answered.
pub fn fell_behind(run: &RunFile, stage: &StageResult) -> Option<String> {
    let Load::Rate { .. } = stage.stage.load else { return None };
    let asked = stage.requests.total as f64;
    // Older versions wrote only the number of expected answers.
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
            "{} answered in time; a stage of less than {SECONDS_MIN} s does not show whether the \
                rest was only under way",
            words::percent(1.0 - lacking)
        )),
    }
}

/// Returns the share of the requests by which answers fell behind from the first third of a stage
/// to the last: the requests that wait at the end of a second, beyond those that waited at first
/// and what chance explains. Where the rate changes, the number that a steady server has in flight
/// is expected to change in proportion. [`None`] for a stage that is too short to tell.
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
