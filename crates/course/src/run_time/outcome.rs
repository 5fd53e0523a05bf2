//! What has come of an activity and of a course: completion, success, score.

use std::collections::BTreeMap;

use super::begin::passing_measure;
use super::state::ActivityState;
use super::status::{Completion, Outcome, Success};
use crate::package::{Activity, ActivityType, Standard};
use crate::sequencing::{
    Course, Globals, Status, Tracking, declared, settle, up_3_terminate_descendent_attempts,
    up_5_check_activity,
};

/// Returns what has come of an activity that can be launched.
pub(crate) fn outcome(
    standard: Standard,
    activity: &Activity,
    state: Option<&ActivityState>,
) -> Outcome {
    let Some(state) = state.filter(|state| state.attempts > 0) else { return Outcome::UNKNOWN };
    match (standard, activity.kind) {
        (_, ActivityType::Asset | ActivityType::Link) => opened(state),
        (Standard::Scorm12, _) => of_12(state),
        _ => of_2004(activity, state),
    }
}

/// An asset and a link are done when they have been opened: they cannot say anything. A medium says
/// more, in the words of SCORM 2004.
fn opened(state: &ActivityState) -> Outcome {
    let said = state.some("cmi.completion_status").or(state.some("cmi.core.lesson_status"));
    let completion = match said {
        Some("incomplete") => Completion::Incomplete,
        _ => Completion::Completed,
    };
    let amount = match completion {
        Completion::Completed => Some(1.0),
        _ => state.number("cmi.progress_measure").map(|measure| measure.clamp(0.0, 1.0)),
    };
    Outcome { completion, amount, ..Outcome::UNKNOWN }
}

/// Returns whether an attempt goes on later. What has no content that could end it, such as an asset or a
/// film, has ended when it is completed.
pub(crate) fn is_suspended(activity: &Activity, state: &ActivityState, found: Outcome) -> bool {
    if state.is_finished {
        return state.exit == "suspend";
    }
    let can_end = matches!(activity.kind, ActivityType::Sco | ActivityType::Aggregation);
    can_end || found.completion != Completion::Completed
}

/// The status of SCORM 1.2 says two things at once: passed and failed activities are also completed.
fn of_12(state: &ActivityState) -> Outcome {
    let (completion, success) = match state.get("cmi.core.lesson_status").unwrap_or_default() {
        "passed" => (Completion::Completed, Success::Passed),
        "failed" => (Completion::Completed, Success::Failed),
        "completed" | "browsed" => (Completion::Completed, Success::Unknown),
        _ => (Completion::Incomplete, Success::Unknown),
    };
    let score = scaled(state, "cmi.core.score");
    let amount = Some(if completion == Completion::Completed { 1.0 } else { 0.0 });
    Outcome { completion, success, score, amount }
}

/// Source: SCORM 2004 RTE §4.2.4.1 (`cmi.completion_status`), §4.2.22.1 (`cmi.success_status`).
fn of_2004(activity: &Activity, state: &ActivityState) -> Outcome {
    let measure = state.number("cmi.progress_measure");
    let threshold = activity.completion_threshold.as_ref().filter(|t| t.completed_by_measure);
    let completion = match (threshold, measure) {
        (Some(threshold), Some(measure)) if measure >= threshold.min_progress_measure => {
            Completion::Completed
        }
        (Some(_), Some(_)) => Completion::Incomplete,
        _ => match state.get("cmi.completion_status").unwrap_or_default() {
            "completed" => Completion::Completed,
            "incomplete" | "not attempted" => Completion::Incomplete,
            _ => Completion::Unknown,
        },
    };
    let score = state.number("cmi.score.scaled").map(|score| score.clamp(-1.0, 1.0));
    let success = match (passing_measure(activity), score) {
        (Some(least), Some(score)) if score >= least => Success::Passed,
        (Some(_), Some(_)) => Success::Failed,
        _ => match state.get("cmi.success_status").unwrap_or_default() {
            "passed" => Success::Passed,
            "failed" => Success::Failed,
            _ => Success::Unknown,
        },
    };
    let amount = match completion {
        Completion::Completed => Some(1.0),
        _ => measure.map(|measure| measure.clamp(0.0, 1.0)),
    };
    let score = score.or_else(|| scaled(state, "cmi.score"));
    Outcome { completion, success, score, amount }
}

/// Returns a raw score as a part of its range, which is 0 to 100 where nothing else is said.
pub(crate) fn scaled(state: &ActivityState, name: &str) -> Option<f64> {
    let of = |part: &str| state.number(&format!("{name}.{part}"));
    let raw = of("raw")?;
    let (least, most) = (of("min").unwrap_or(0.0), of("max").unwrap_or(100.0));
    if most <= least {
        return Some((raw / 100.0).clamp(-1.0, 1.0));
    }
    Some(((raw - least) / (most - least)).clamp(-1.0, 1.0))
}

/// Returns what has come of a course, and of each activity in it: by the standard's processes for SCORM
/// 2004, by rules of our own for the rest.
pub(crate) fn outcomes(
    standard: Standard,
    tree: &Activity,
    states: &BTreeMap<String, ActivityState>,
) -> BTreeMap<String, Outcome> {
    let mut all = BTreeMap::new();
    if standard.is_2004() {
        of_course_2004(standard, tree, states, &mut all);
    } else {
        tree.each(&mut |activity| {
            all.insert(activity.id.clone(), roll_up(standard, activity, states));
        });
    }
    all
}

/// Returns what has come of a whole course.
pub(crate) fn whole(
    standard: Standard,
    tree: &Activity,
    states: &BTreeMap<String, ActivityState>,
) -> Outcome {
    if !standard.is_2004() {
        return roll_up(standard, tree, states);
    }
    outcomes(standard, tree, states).get(&tree.id).copied().unwrap_or(Outcome::UNKNOWN)
}

/// Returns the activities of a course of SCORM 2004 that may not be entered: a rule disables them, or a
/// limit of attempts is reached.
pub(crate) fn unavailable(
    standard: Standard,
    tree: &Activity,
    states: &BTreeMap<String, ActivityState>,
) -> Vec<String> {
    if !standard.is_2004() {
        return vec![];
    }
    let (course, _) = recorded(standard, tree, states);
    let all = (0..course.nodes.len()).filter(|at| up_5_check_activity(&course, *at));
    all.map(|at| course.nodes[at].id.clone()).collect()
}

/// Returns how many attempts may begin in a SCORM 2004 course of one activity, if they are limited; `None` for any
/// other course.
///
/// Source: SCORM 2004 4th edition, Sequencing and Navigation §3.7 (`limitConditions`).
pub(crate) fn attempt_limit(standard: Standard, tree: &Activity) -> Option<f64> {
    if !standard.is_2004() {
        return None;
    }
    let [only] = &tree.launchable()[..] else { return None };
    let course = Course::of(tree);
    let mut next = course.nodes.iter().position(|node| node.id == only.id);
    let mut least: Option<f64> = None;
    while let Some(at) = next {
        let node = &course.nodes[at];
        let limit = node.definition.attempt_limit.filter(|_| node.definition.is_tracked);
        least = least.into_iter().chain(limit).reduce(f64::min);
        next = node.parent;
    }
    least
}

/// Returns what has come of the global objectives of a course of SCORM 2004: all that its manifest
/// names, as its activities have written them.
pub(crate) fn global_objectives(
    standard: Standard,
    tree: &Activity,
    states: &BTreeMap<String, ActivityState>,
) -> BTreeMap<String, Outcome> {
    if !standard.is_2004() {
        return BTreeMap::new();
    }
    let (course, globals) = recorded(standard, tree, states);
    let of = |id: &str| shown(globals.get(id).copied().unwrap_or_default(), 0);
    declared(&course).map(|id| (id.to_owned(), of(id))).collect()
}

/// Records what content has said, ends the attempts that have ended, and rolls up.
fn recorded(
    standard: Standard,
    tree: &Activity,
    states: &BTreeMap<String, ActivityState>,
) -> (Course, Globals) {
    let mut course = Course::of(tree);
    let mut at = 0;
    // Both visit the activities in the same order.
    tree.each(&mut |activity| {
        let state = states.get(&activity.id).filter(|state| state.attempts > 0);
        if let Some(state) = state.filter(|_| activity.children.is_empty()) {
            let found = outcome(standard, activity, Some(state));
            let mut tracking = tracked(found, state);
            if let Some(primary) = &course.nodes[at].definition.primary
                && let Some(said) = tracking.objectives.get(primary)
            {
                let (satisfied, measure) = (said.satisfied, said.measure);
                tracking.own = tracking.own.or(Status { satisfied, measure, ..Status::default() });
            }
            course.nodes[at].tracking = tracking;
            if state.is_finished {
                up_3_terminate_descendent_attempts(&mut course, at, 0);
            }
        }
        at += 1;
    });
    let globals = settle(&mut course);
    (course, globals)
}

fn of_course_2004(
    standard: Standard,
    tree: &Activity,
    states: &BTreeMap<String, ActivityState>,
    all: &mut BTreeMap<String, Outcome>,
) {
    for node in recorded(standard, tree, states).0.nodes {
        all.insert(node.id, shown(node.tracking.own, node.tracking.attempts));
    }
}

fn shown(status: Status, attempts: u32) -> Outcome {
    let completion = match status.completed {
        Some(true) => Completion::Completed,
        Some(false) => Completion::Incomplete,
        None if attempts > 0 => Completion::Incomplete,
        None => Completion::Unknown,
    };
    let success = match status.satisfied {
        Some(true) => Success::Passed,
        Some(false) => Success::Failed,
        None => Success::Unknown,
    };
    let done = (completion == Completion::Completed).then_some(1.0);
    Outcome { completion, success, score: status.measure, amount: done.or(status.progress) }
}

fn tracked(found: Outcome, state: &ActivityState) -> Tracking {
    Tracking {
        attempts: state.attempts,
        is_active: !state.is_finished,
        is_suspended: !state.is_finished || state.exit == "suspend",
        begun: state.latest_begun(),
        own: Status {
            completed: match found.completion {
                Completion::Completed => Some(true),
                Completion::Incomplete => Some(false),
                Completion::Unknown => None,
            },
            progress: found.amount,
            satisfied: match found.success {
                Success::Passed => Some(true),
                Success::Failed => Some(false),
                Success::Unknown => None,
            },
            measure: found.score,
        },
        objectives: said(&state.cmi).collect(),
        earlier: earlier(state),
        is_withheld: state.is_withheld,
    }
}

/// Returns what content has said about its objectives, by their ids.
fn said(cmi: &BTreeMap<String, String>) -> impl Iterator<Item = (String, Status)> {
    (0..).map_while(move |number| {
        let of = |name: &str| format!("cmi.objectives.{number}.{name}");
        let id = cmi.get(&of("id"))?.clone();
        Some((id, status_of(cmi, &format!("cmi.objectives.{number}."))))
    })
}

fn status_of(cmi: &BTreeMap<String, String>, prefix: &str) -> Status {
    let text = |name: &str| cmi.get(&format!("{prefix}{name}")).map(String::as_str);
    let number = |name: &str| text(name)?.trim().parse().ok().filter(|n: &f64| n.is_finite());
    Status {
        satisfied: match text("success_status") {
            Some("passed") => Some(true),
            Some("failed") => Some(false),
            _ => None,
        },
        measure: number("score.scaled"),
        completed: match text("completion_status") {
            Some("completed") => Some(true),
            Some("incomplete" | "not attempted") => Some(false),
            _ => None,
        },
        progress: number("progress_measure"),
    }
}

/// Returns what earlier attempts of an activity have come to.
fn earlier(state: &ActivityState) -> BTreeMap<String, Status> {
    let mut all: BTreeMap<String, Status> = BTreeMap::new();
    if state.former.is_empty() {
        return all;
    }
    all.insert(String::new(), status_of(&state.former, "cmi."));
    all.extend(said(&state.former));
    all
}

/// Returns what has come of an activity with all below it, by the rules of SCORM 1.2 courses and media,
/// for which the standard has none: a course is completed when all its activities are, passed when one
/// is and none has failed, failed when one has; its score is the mean of those that have one.
pub(crate) fn roll_up(
    standard: Standard,
    activity: &Activity,
    states: &BTreeMap<String, ActivityState>,
) -> Outcome {
    if activity.children.is_empty() {
        return outcome(standard, activity, states.get(&activity.id));
    }
    let counts = |child: &&Activity| child.href.is_some() || !child.children.is_empty();
    let all: Vec<Outcome> = activity
        .children
        .iter()
        .filter(counts)
        .map(|child| roll_up(standard, child, states))
        .collect();
    let is_all = |completion: Completion| all.iter().all(|one| one.completion == completion);
    let completion = if all.is_empty() || is_all(Completion::Unknown) {
        Completion::Unknown
    } else if is_all(Completion::Completed) {
        Completion::Completed
    } else {
        Completion::Incomplete
    };
    let has = |success: Success| all.iter().any(|one| one.success == success);
    let success = if has(Success::Failed) {
        Success::Failed
    } else if has(Success::Passed) && completion == Completion::Completed {
        Success::Passed
    } else {
        Success::Unknown
    };
    let scores: Vec<f64> = all.iter().filter_map(|one| one.score).collect();
    let score = (!scores.is_empty()).then(|| scores.iter().sum::<f64>() / scores.len() as f64);
    let amount = (!all.is_empty())
        .then(|| all.iter().map(|one| one.amount.unwrap_or(0.0)).sum::<f64>() / all.len() as f64);
    Outcome { completion, success, score, amount }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(values: &[(&str, &str)]) -> ActivityState {
        let cmi = values.iter().map(|(n, v)| ((*n).to_owned(), (*v).to_owned())).collect();
        ActivityState { attempts: 1, cmi, ..ActivityState::default() }
    }

    #[test]
    fn an_asset_is_done_and_has_ended_when_it_was_opened() {
        let asset = Activity::new("a", "A", ActivityType::Asset);
        for (said, amount) in [("completed", Some(1.0)), ("incomplete", None)] {
            let state = state(&[("cmi.core.lesson_status", said)]);

            let found = outcome(Standard::Scorm12, &asset, Some(&state));

            assert_eq!(found.amount, amount);
            assert_eq!(is_suspended(&asset, &state, found), amount.is_none());
        }
    }

    #[test]
    fn a_status_of_scorm_12_says_completion_and_success() {
        let activity = Activity::new("a", "A", ActivityType::Sco);
        for (status, completion, success) in [
            ("passed", Completion::Completed, Success::Passed),
            ("failed", Completion::Completed, Success::Failed),
            ("completed", Completion::Completed, Success::Unknown),
            ("incomplete", Completion::Incomplete, Success::Unknown),
        ] {
            let state = state(&[("cmi.core.lesson_status", status), ("cmi.core.score.raw", "87")]);

            let found = outcome(Standard::Scorm12, &activity, Some(&state));

            assert_eq!((found.completion, found.success), (completion, success), "{status}");
            assert_eq!(found.score, Some(0.87));
        }
    }

    #[test]
    fn a_score_is_a_part_of_its_range() {
        let of = |min: &str, max: &str| {
            let state = state(&[
                ("cmi.core.score.raw", "15"),
                ("cmi.core.score.min", min),
                ("cmi.core.score.max", max),
            ]);
            scaled(&state, "cmi.core.score")
        };

        assert_eq!(of("10", "20"), Some(0.5));
        assert_eq!(of("", "20"), Some(0.75));
        assert_eq!(of("20", "20"), Some(0.15));
    }

    #[test]
    fn a_course_is_completed_when_all_its_activities_are() {
        let mut root = Activity::new("c", "C", ActivityType::Aggregation);
        for id in ["a", "b"] {
            let mut child = Activity::new(id, id, ActivityType::Sco);
            child.href = Some("x.html".into());
            root.children.push(child);
        }
        let passed = state(&[("cmi.core.lesson_status", "passed"), ("cmi.core.score.raw", "80")]);
        let done = state(&[("cmi.core.lesson_status", "completed"), ("cmi.core.score.raw", "60")]);
        let mut states = BTreeMap::from([("a".to_owned(), passed)]);
        let half = roll_up(Standard::Scorm12, &root, &states);
        states.insert("b".into(), done);

        let whole = roll_up(Standard::Scorm12, &root, &states);

        assert_eq!((half.completion, half.success), (Completion::Incomplete, Success::Unknown));
        assert_eq!((whole.completion, whole.success), (Completion::Completed, Success::Passed));
        assert_eq!(whole.score, Some(0.7));
        assert_eq!(half.amount, Some(0.5));
    }

    #[test]
    fn a_course_of_scorm_2004_is_what_its_activities_roll_up_to() {
        let standard = Standard::Scorm2004Third;
        let mut root = Activity::new("c", "C", ActivityType::Aggregation);
        let mut child = Activity::new("a", "A", ActivityType::Sco);
        child.href = Some("x.html".into());
        root.children.push(child);
        for (values, is_finished, completion, success, score) in [
            (&[][..], false, Completion::Incomplete, Success::Unknown, None),
            // What content leaves open when it ends is done and passed (UP.4).
            (&[][..], true, Completion::Completed, Success::Passed, None),
            (
                &[("cmi.completion_status", "completed"), ("cmi.success_status", "failed")][..],
                false,
                Completion::Completed,
                Success::Failed,
                None,
            ),
            (
                &[("cmi.score.scaled", "0.87")][..],
                false,
                Completion::Incomplete,
                Success::Unknown,
                Some(0.87),
            ),
            (
                &[("cmi.score.raw", "87")][..],
                false,
                Completion::Incomplete,
                Success::Unknown,
                Some(0.87),
            ),
        ] {
            let state = ActivityState { is_finished, ..state(values) };
            let states = BTreeMap::from([("a".to_owned(), state)]);

            let found = whole(standard, &root, &states);

            assert_eq!((found.completion, found.success), (completion, success), "{values:?}");
            assert_eq!(found.score, score, "{values:?}");
        }
    }
    #[test]
    fn of_two_activities_the_later_one_has_the_last_word_about_a_global_objective() {
        use super::super::state::Spell;
        let mut root = Activity::new("c", "C", ActivityType::Aggregation);
        for id in ["a", "b"] {
            let mut child = Activity::new(id, id, ActivityType::Sco);
            let map = serde_json::json!({ "target": "g", "writeSatisfiedStatus": true });
            child.sequencing = Some(serde_json::json!({
                "objectives": [{ "id": "p", "primary": true, "maps": [map] }]
            }));
            root.children.push(child);
        }
        let said = |status: &str, latest: u32, begun: i64| {
            let mut state = state(&[("cmi.success_status", status)]);
            state.latest = latest;
            state.sessions.insert(latest, Spell { begun, ..Spell::default() });
            state
        };
        for (a, b, success) in [
            (said("passed", 1, 5), said("failed", 1, 9), Success::Failed),
            (said("passed", 1, 9), said("failed", 1, 5), Success::Passed),
            (said("passed", 2, 5), said("failed", 1, 9), Success::Passed),
        ] {
            let states = BTreeMap::from([("a".to_owned(), a), ("b".to_owned(), b)]);

            let found = global_objectives(Standard::Scorm2004Fourth, &root, &states);

            assert_eq!(found["g"].success, success);
        }
    }
}
