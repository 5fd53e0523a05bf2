//! What content reads at the beginning of a session.

use std::collections::BTreeMap;

use super::duration;
use super::state::ActivityState;
use crate::package::{Activity, Standard};

/// How a launch is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Begin<'a> {
    /// The learner's id.
    pub(crate) learner: &'a str,
    /// The learner's name, as [`learner_name`] writes it.
    pub(crate) name: &'a str,
    /// `normal`, `browse` or `review`.
    pub(crate) mode: &'a str,
    /// `credit` or `no-credit`.
    pub(crate) credit: &'a str,
}

/// Returns a learner's name as SCORM has it: the last name first.
pub(crate) fn learner_name(first: &str, last: &str) -> String {
    match (first.trim(), last.trim()) {
        ("", last) => last.to_owned(),
        (first, "") => first.to_owned(),
        (first, last) => format!("{last}, {first}"),
    }
}

/// When the values of an activity begin again at the next launch, if content has ended its session.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Resets {
    /// Never: they go on.
    #[default]
    Never,
    /// When the exit is not `suspend`, whatever the learner has asked for.
    WhenNotSuspended,
    /// When an attempt begins: the exit is not `suspend`, and the learner has not suspended the course there.
    OnEachAttempt,
}

impl Resets {
    /// The words of the setting.
    pub(crate) const WORDS: &[&str] =
        &[Self::Never.word(), Self::WhenNotSuspended.word(), Self::OnEachAttempt.word()];

    /// Returns the word of the setting.
    pub(crate) const fn word(self) -> &'static str {
        match self {
            Self::Never => "never",
            Self::WhenNotSuspended => "when-exit-is-not-suspend",
            Self::OnEachAttempt => "on-each-new-sequencing-attempt",
        }
    }

    /// Reads the setting.
    pub(crate) fn of(word: &str) -> Self {
        let all = [Self::WhenNotSuspended, Self::OnEachAttempt];
        all.into_iter().find(|one| one.word() == word).unwrap_or_default()
    }
}

/// How a page enters an activity that other pages have played.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Entered {
    /// The attempt goes on.
    GoesOn,
    /// Another attempt begins with the values of the last one.
    Again,
    /// Another attempt begins with nothing.
    Anew,
}

/// Returns how a page enters an activity. `opened`: when the page was opened. `resumes`: whether the learner had
/// left the course at this activity, to go on there.
///
/// A session that content has not ended goes on: its window was closed. So does one that was ended after the page
/// was opened, since the page has begun with what was there before.
///
/// Source: SCORM 1.2 RTE §3.4.4 (`cmi.core.exit`, `cmi.core.entry`), SCORM 2004 RTE §2.1.1, §4.2.8, §4.2.9
/// (an attempt that was not suspended is followed by another one, with values of its own).
pub(crate) fn entered(
    standard: Standard,
    state: &ActivityState,
    (opened, resumes): (i64, bool),
    resets: Resets,
) -> Entered {
    // The ids of pages count milliseconds: within one, nothing is lost if the attempt goes on.
    let is_later = state.ended > 0 && state.ended / 1_000 >= opened / 1_000;
    if state.attempts == 0 || may_resume(state) || is_later {
        return Entered::GoesOn;
    }
    match resets {
        Resets::WhenNotSuspended => Entered::Anew,
        _ if resumes => Entered::GoesOn,
        Resets::OnEachAttempt => Entered::Anew,
        Resets::Never if is_done(standard, state) => Entered::Again,
        Resets::Never => Entered::GoesOn,
    }
}

/// Returns whether another attempt would begin where no more are allowed.
pub(crate) fn is_over(state: &ActivityState, how: Entered, limit: Option<f64>) -> bool {
    how != Entered::GoesOn && limit.is_some_and(|limit| f64::from(state.attempts) >= limit)
}

/// Returns the values that content reads when it begins: what was saved, and what the run-time sets.
///
/// Source: SCORM 1.2 RTE §3.4.4, SCORM 2004 RTE §4.2.
pub(crate) fn begin(
    standard: Standard,
    activity: &Activity,
    state: Option<&ActivityState>,
    how: Begin<'_>,
) -> BTreeMap<String, String> {
    let mut cmi = state.map(|state| state.cmi.clone()).unwrap_or_default();
    let time = state.map_or(0, ActivityState::time);
    let is_12 = standard == Standard::Scorm12;
    for own in ["cmi.core.session_time", "cmi.core.exit", "cmi.session_time", "cmi.exit"] {
        cmi.remove(own);
    }
    let core = |name: &str| format!("cmi.{}{name}", if is_12 { "core." } else { "" });
    let mut put = |name: String, value: String| {
        cmi.insert(name, value);
    };
    put(core("entry"), entry(standard, state).to_owned());
    put(core("credit"), how.credit.to_owned());
    put(core("total_time"), if is_12 { duration::scorm12(time) } else { duration::iso(time) });
    let given = |value: &Option<String>| value.clone().filter(|value| !value.is_empty());
    put("cmi.launch_data".into(), activity.launch_data.clone().unwrap_or_default());
    if is_12 {
        put("cmi.core.student_id".into(), how.learner.to_owned());
        put("cmi.core.student_name".into(), how.name.to_owned());
        put("cmi.core.lesson_mode".into(), how.mode.to_owned());
        for (name, value) in [
            ("mastery_score", &activity.mastery_score),
            ("max_time_allowed", &activity.max_time_allowed),
            ("time_limit_action", &activity.time_limit_action),
        ] {
            if let Some(value) = given(value) {
                put(format!("cmi.student_data.{name}"), value);
            }
        }
        cmi.entry("cmi.core.lesson_status".into()).or_insert_with(|| "not attempted".into());
    } else {
        put("cmi.learner_id".into(), how.learner.to_owned());
        put("cmi.learner_name".into(), how.name.to_owned());
        put("cmi.mode".into(), how.mode.to_owned());
        for (name, value) in [
            ("cmi.max_time_allowed", &activity.max_time_allowed),
            ("cmi.time_limit_action", &activity.time_limit_action),
        ] {
            if let Some(value) = given(value) {
                put(name.into(), value);
            }
        }
        if let Some(threshold) = &activity.completion_threshold
            && threshold.completed_by_measure
        {
            put("cmi.completion_threshold".into(), threshold.min_progress_measure.to_string());
        }
        if let Some(least) = passing_measure(activity) {
            put("cmi.scaled_passing_score".into(), least.to_string());
        }
    }
    cmi
}

/// Returns the scaled score at which an activity of SCORM 2004 is passed.
pub(crate) fn passing_measure(activity: &Activity) -> Option<f64> {
    let objectives = activity.sequencing.as_ref()?.get("objectives")?.as_array()?;
    let primary = objectives.iter().find(|objective| objective["primary"] == true)?;
    if primary["satisfiedByMeasure"] != true {
        return None;
    }
    Some(primary["minNormalizedMeasure"].as_f64().unwrap_or(1.0))
}

/// Returns how content enters: for the first time, with what it has left, or again.
///
/// A session that content has not ended resumes: its window was closed. In SCORM 2004 so does one that it has
/// ended without a word about how, while the activity is not done.
///
/// Source: SCORM 1.2 RTE §3.4.4 (`cmi.core.entry`: `resume` after the exit `suspend`).
fn entry(standard: Standard, state: Option<&ActivityState>) -> &'static str {
    let Some(state) = state.filter(|state| state.attempts > 0) else { return "ab-initio" };
    if standard == Standard::Scorm12 && state.is_finished && state.exit != "suspend" {
        return "";
    }
    if may_resume(state) || !is_done(standard, state) { "resume" } else { "" }
}

/// Returns whether content has not ended its last session, or has ended it to go on later.
fn may_resume(state: &ActivityState) -> bool {
    !state.is_finished || matches!(state.exit.as_str(), "suspend" | "logout")
}

fn is_done(standard: Standard, state: &ActivityState) -> bool {
    match standard {
        Standard::Scorm12 => matches!(
            state.get("cmi.core.lesson_status"),
            Some("passed" | "completed" | "failed" | "browsed")
        ),
        _ => state.get("cmi.completion_status") == Some("completed"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::package::ActivityType;

    const HOW: Begin<'_> =
        Begin { learner: "l", name: "Last, First", mode: "normal", credit: "credit" };

    #[test]
    fn the_last_name_comes_first() {
        assert_eq!(learner_name("Ann", "Lee"), "Lee, Ann");
        assert_eq!(learner_name("", "Lee"), "Lee");
        assert_eq!(learner_name("Ann", ""), "Ann");
    }

    #[test]
    fn content_enters_first_then_resumes_with_what_it_has_left() {
        let activity = Activity::new("a", "A", ActivityType::Sco);
        for (standard, prefix) in
            [(Standard::Scorm12, "cmi.core."), (Standard::Scorm2004Fourth, "cmi.")]
        {
            let entry = format!("{prefix}entry");
            let first = begin(standard, &activity, None, HOW);
            assert_eq!(first[&entry], "ab-initio");

            let mut state = ActivityState { attempts: 1, earlier: 100, ..ActivityState::default() };
            state.cmi.insert("cmi.suspend_data".into(), "page=3".into());
            let second = begin(standard, &activity, Some(&state), HOW);
            assert_eq!(second[&entry], "resume");
            assert_eq!(second["cmi.suspend_data"], "page=3");
            let total = &second[&format!("{prefix}total_time")];
            assert_eq!(duration::read(total), Some(100));

            state.is_finished = true;
            for exit in ["", "time-out", "logout", "suspend"] {
                state.exit = exit.into();
                let next = begin(standard, &activity, Some(&state), HOW);
                let is_resumed = exit == "suspend" || standard != Standard::Scorm12;
                assert_eq!(next[&entry], if is_resumed { "resume" } else { "" }, "{exit}");
                assert_eq!(next["cmi.suspend_data"], "page=3");
            }
        }
    }
}
