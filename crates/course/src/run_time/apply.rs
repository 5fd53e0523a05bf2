//! Applies a commit to the state of an activity.

use std::collections::BTreeMap;

use super::duration;
use super::state::ActivityState;
use crate::package::{Activity, Standard};

/// What a commit says about one activity, after its elements were checked.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Applied {
    /// The values that it sets.
    pub(crate) cmi: BTreeMap<String, String>,
    /// Whether content has ended the session.
    pub(crate) is_exit: bool,
    /// Whether a new attempt begins.
    pub(crate) is_new_attempt: bool,
}

/// Longest time that passes between two commits and counts as learning, where content does not say
/// its time, in hundredths of a second.
const SILENCE_MAX: u64 = 30 * 60 * 100;

/// Applies a commit of a launch to the state of an activity.
///
/// The session's time is added to the earlier ones when another launch begins; what the session has
/// not set stays as it was. The session time that is sent is that of the activity since the launch began,
/// also where content was opened again within it.
///
/// Source: SCORM 1.2 RTE §3.4.4 (`session_time`, `total_time`), SCORM 2004 RTE §4.2.
pub(crate) fn apply(state: &mut ActivityState, commit: Applied, launch: &str, now: i64) {
    if state.attempts == 0 || (commit.is_new_attempt && !state.cmi.is_empty()) {
        state.attempts = state.attempts.saturating_add(1);
    }
    if commit.is_new_attempt {
        state.begin_anew();
        state.earlier = 0;
        state.session = 0;
        state.is_told = false;
        state.begun = now;
        launch.clone_into(&mut state.launch);
    } else if state.launch != launch {
        state.earlier = state.earlier.saturating_add(state.session);
        state.session = 0;
        state.begun = now;
        launch.clone_into(&mut state.launch);
        // An exit belongs to its session.
        for name in ["cmi.core.exit", "cmi.exit", "cmi.core.session_time", "cmi.session_time"] {
            state.cmi.remove(name);
        }
    }
    for (name, value) in commit.cmi {
        if matches!(name.as_str(), "cmi.core.session_time" | "cmi.session_time")
            && let Some(time) = duration::read(&value)
        {
            state.session = time;
            state.is_told = true;
        }
        state.cmi.insert(name, value);
    }
    if !state.is_told {
        let elapsed = u64::try_from((now - state.begun).max(0)).unwrap_or(0) / 10_000;
        if elapsed.saturating_sub(state.session) <= SILENCE_MAX {
            state.session = state.session.max(elapsed);
        }
    }
    state.is_finished = commit.is_exit;
    if commit.is_exit {
        let exit = state.some("cmi.core.exit").or_else(|| state.some("cmi.exit"));
        state.exit = exit.unwrap_or_default().to_owned();
    }
}

/// Ends a session of which nothing was heard for a while, if content has not ended it: it counts as
/// suspended, whatever content has set, so that the learner can go on. Returns whether it was open.
pub(crate) fn time_out(state: &mut ActivityState) -> bool {
    if state.is_finished {
        return false;
    }
    state.is_finished = true;
    "suspend".clone_into(&mut state.exit);
    true
}

/// Applies the rules that the run-time keeps when content ends a session.
///
/// Source: SCORM 1.2 RTE §3.4.4 (`cmi.core.lesson_status`: the mastery score decides between passed and
/// failed where there is credit; content that has set no status has completed).
pub(crate) fn finish(state: &mut ActivityState, standard: Standard, activity: &Activity) {
    if standard != Standard::Scorm12 || !state.is_finished {
        return;
    }
    let status = state.some("cmi.core.lesson_status").unwrap_or("not attempted").to_owned();
    let is_suspended = state.exit == "suspend";
    let mastery = activity.mastery_score.as_deref().and_then(|score| score.parse::<f64>().ok());
    let raw = state.number("cmi.core.score.raw");
    let decided = match (mastery, raw) {
        (Some(mastery), Some(raw)) if !is_suspended || status != "incomplete" => {
            Some(if raw >= mastery { "passed" } else { "failed" })
        }
        _ if status == "not attempted" && !is_suspended => Some("completed"),
        _ => None,
    };
    if let Some(decided) = decided {
        state.cmi.insert("cmi.core.lesson_status".into(), decided.into());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::package::ActivityType;

    fn commit(values: &[(&str, &str)], is_exit: bool) -> Applied {
        let cmi = values.iter().map(|(n, v)| ((*n).to_owned(), (*v).to_owned())).collect();
        Applied { cmi, is_exit, is_new_attempt: false }
    }

    #[test]
    fn the_total_time_is_the_sum_of_the_last_time_of_each_session() {
        let mut state = ActivityState::default();
        for (launch, time) in [("a", "00:00:30"), ("a", "00:01:00"), ("b", "00:02:00")] {
            apply(&mut state, commit(&[("cmi.core.session_time", time)], false), launch, 1);
        }

        assert_eq!(state.time(), 18_000);
        assert_eq!(state.attempts, 1);
    }

    #[test]
    fn content_that_is_opened_again_within_a_launch_is_not_counted_twice() {
        let mut state = ActivityState::default();
        for (time, is_exit) in [("PT1M", true), ("PT1M30S", false), ("PT2M", true)] {
            apply(&mut state, commit(&[("cmi.session_time", time)], is_exit), "a", 1);
        }

        assert_eq!(state.time(), 12_000);
    }

    #[test]
    fn time_is_measured_where_content_does_not_tell_it() {
        let mut state = ActivityState::default();
        for now in [0, 20_000_000, 40_000_000] {
            apply(&mut state, commit(&[("cmi.location", "1")], false), "a", now);
        }

        assert_eq!(state.time(), 4_000);
    }

    #[test]
    fn scorm_12_decides_the_status_at_the_end_of_a_session() {
        let mut activity = Activity::new("a", "A", ActivityType::Sco);
        for (mastery, values, is_exit, status) in [
            (None, &[][..], true, "completed"),
            (None, &[("cmi.core.exit", "suspend")][..], true, "-"),
            (None, &[][..], false, "-"),
            (Some("80"), &[("cmi.core.score.raw", "79.5")][..], true, "failed"),
            (Some("80"), &[("cmi.core.score.raw", "80")][..], true, "passed"),
            (
                Some("80"),
                &[
                    ("cmi.core.score.raw", "90"),
                    ("cmi.core.exit", "suspend"),
                    ("cmi.core.lesson_status", "incomplete"),
                ][..],
                true,
                "incomplete",
            ),
            (Some("80"), &[("cmi.core.lesson_status", "completed")][..], true, "completed"),
        ] {
            activity.mastery_score = mastery.map(str::to_owned);
            let mut state = ActivityState::default();

            apply(&mut state, commit(values, is_exit), "l", 1);
            finish(&mut state, Standard::Scorm12, &activity);

            let found = state.get("cmi.core.lesson_status").unwrap_or("-");
            assert_eq!(found, status, "{values:?}");
        }
    }
}
