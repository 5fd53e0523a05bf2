//! Reports: what has come of a registration, in the words of the API.

use std::collections::BTreeMap;

use homeroom_http::Timestamp;
use serde_json::{Map, Value, json};

use crate::learner::Learner;
use crate::package::{Activity, Standard};
use crate::registration::{EndedAttempt, Registration};
use crate::run_time::{
    ActivityState, Completion, Interaction, Outcome, entries, global_objectives, is_said_again,
    is_suspended, iso, objective_status, outcome, outcomes, passing_measure, scaled, scorm12,
};
use crate::version::Version;

/// How much a report tells.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Detail {
    /// The activities below the course.
    pub(crate) children: bool,
    /// Interactions and objectives.
    pub(crate) interactions: bool,
    /// What the run-time has saved.
    pub(crate) runtime: bool,
}

/// What a report is about: the attempts at the activities.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Attempts<'a> {
    /// The last one of each activity.
    pub(crate) states: &'a BTreeMap<String, ActivityState>,
    /// Those before, where they are asked for.
    pub(crate) ended: &'a BTreeMap<String, Vec<EndedAttempt>>,
}

/// Returns a moment as the API writes it.
pub(crate) fn moment(micros: i64) -> String {
    Timestamp(micros).to_string()
}

/// Returns a score as the API writes it: in percent.
pub(crate) fn percent(score: f64) -> Value {
    let rounded = (score * 100.0 * 10_000.0).round() / 10_000.0;
    json!(rounded)
}

/// Returns the time of all activities, in seconds.
pub(crate) fn seconds(states: &BTreeMap<String, ActivityState>) -> f64 {
    states.values().map(ActivityState::time_of_all).sum::<u64>() as f64 / 100.0
}

/// Returns a report.
pub(crate) fn report(
    registration: &Registration,
    version: &Version,
    learner: Option<&Learner>,
    attempts: Attempts<'_>,
    detail: Detail,
) -> Value {
    let states = attempts.states;
    let found = outcomes(version.standard, &version.tree, states);
    let whole = found.get(&version.tree.id).copied().unwrap_or(Outcome::UNKNOWN);
    let whole = registration.progress.told(whole);
    let mut all = Map::new();
    let mut put = |name: &str, value: Value| {
        if !value.is_null() {
            all.insert(name.to_owned(), value);
        }
    };
    put("id", registration.id.as_str().into());
    put("instance", registration.instance.into());
    put("updated", moment(registration.updated).into());
    put("registrationCompletion", whole.completion.name().into());
    put("registrationCompletionAmount", json!(whole.amount.unwrap_or(0.0)));
    put("registrationSuccess", whole.success.name().into());
    put("score", score(whole));
    put("totalSecondsTracked", json!(seconds(states)));
    put("firstAccessDate", registration.first_access.map(moment).into());
    put("lastAccessDate", registration.last_access.map(moment).into());
    let is_completed = whole.completion == Completion::Completed;
    put("completedDate", registration.completed.filter(|_| is_completed).map(moment).into());
    put("createdDate", moment(registration.created).into());
    put(
        "course",
        json!({ "id": version.course, "title": version.title, "version": version.version }),
    );
    put("learner", learner_of(registration, learner));
    let xapi = Some(registration.xapi.as_str()).filter(|id| !id.is_empty());
    put("xapiRegistrationId", xapi.into());
    put("tags", json!(registration.tags));
    if detail.interactions {
        let objectives = global_objectives(version.standard, &version.tree, states);
        let shown = objectives.iter().map(|(id, found)| global(id, *found));
        put("globalObjectives", shown.collect());
    }
    let shared = registration.progress.shared_data.iter();
    put("sharedData", shared.map(|(id, value)| json!({ "id": id, "value": value })).collect());
    put("suspendedActivityId", registration.progress.suspended.clone().into());
    let mut details = activity(&version.tree, version.standard, attempts, &found, detail);
    let launchable = version.tree.launchable();
    if let ([only], Some(members)) = (&launchable[..], details.as_object_mut())
        && (detail.runtime || detail.interactions)
        && let Some(state) = states.get(&only.id)
    {
        members.insert("runtime".into(), runtime(version.standard, state, &[], detail));
    }
    put("activityDetails", details);
    Value::Object(all)
}

fn score(of: Outcome) -> Value {
    of.score.map_or(Value::Null, |score| json!({ "scaled": percent(score) }))
}

fn learner_of(registration: &Registration, learner: Option<&Learner>) -> Value {
    match learner {
        None => json!({ "id": registration.learner }),
        Some(learner) => json!({
            "id": learner.id,
            "firstName": learner.first_name,
            "lastName": learner.last_name,
            "email": learner.email,
        }),
    }
}

fn global(id: &str, found: Outcome) -> Value {
    let mut shown = json!({
        "id": id, "primary": false,
        "objectiveCompletion": found.completion.name(),
        "objectiveSuccess": found.success.name(),
    });
    if let score @ Value::Object(_) = score(found) {
        shown["score"] = score;
    }
    shown
}

fn activity(
    of: &Activity,
    standard: Standard,
    of_all: Attempts<'_>,
    outcomes: &BTreeMap<String, Outcome>,
    detail: Detail,
) -> Value {
    let found = outcomes.get(&of.id).copied().unwrap_or(Outcome::UNKNOWN);
    let states = of_all.states;
    let state = states.get(&of.id);
    let mut all = Map::new();
    all.insert("id".into(), of.id.as_str().into());
    all.insert("title".into(), of.title.as_str().into());
    all.insert("attempts".into(), attempts(of, states).into());
    all.insert("activityCompletion".into(), found.completion.name().into());
    all.insert("activitySuccess".into(), found.success.name().into());
    if let score @ Value::Object(_) = score(found) {
        all.insert("score".into(), score);
    }
    all.insert("timeTracked".into(), scorm12(time(of, states)).into());
    all.insert("completionAmount".into(), json!({ "scaled": found.amount.unwrap_or(0.0) }));
    let goes_on = state.is_some_and(|state| is_suspended(of, state, found));
    all.insert("suspended".into(), goes_on.into());
    all.insert("staticProperties".into(), fixed(of));
    if let Some(state) = state {
        if detail.interactions {
            all.insert("objectives".into(), activity_objectives(of, state, found));
        }
        if detail.runtime || detail.interactions {
            all.insert("runtime".into(), runtime(standard, state, &[], detail));
            let ended = of_all.ended.get(&of.id).map(Vec::as_slice).unwrap_or_default();
            if !ended.is_empty() {
                let shown = ended.iter().enumerate().map(|(at, one)| {
                    let later = ended[at + 1..].iter().map(|later| &later.state);
                    let later: Vec<_> = later.chain([state]).collect();
                    earlier_attempt(of, standard, one, &later, detail)
                });
                all.insert("earlierAttempts".into(), shown.collect());
            }
        }
    }
    if detail.children {
        let children = of.children.iter();
        let children = children.map(|child| activity(child, standard, of_all, outcomes, detail));
        all.insert("children".into(), children.collect());
    }
    Value::Object(all)
}

/// Returns what an attempt held when a new one began, with what its sessions have said since.
fn earlier_attempt(
    of: &Activity,
    standard: Standard,
    attempt: &EndedAttempt,
    later: &[&ActivityState],
    detail: Detail,
) -> Value {
    let found = outcome(standard, of, Some(&attempt.state));
    let mut all = json!({
        "attempt": attempt.number,
        "ended": moment(attempt.ended),
        "activityCompletion": found.completion.name(),
        "activitySuccess": found.success.name(),
        "timeTracked": scorm12(attempt.state.time()),
        "runtime": runtime(standard, &attempt.state, later, detail),
    });
    if let score @ Value::Object(_) = score(found) {
        all["score"] = score;
    }
    all
}

/// Returns how many attempts at an activity have begun: at a group, as many as at one of its activities.
fn attempts(of: &Activity, states: &BTreeMap<String, ActivityState>) -> u32 {
    let own = states.get(&of.id).map_or(0, |state| state.attempts);
    of.children.iter().map(|child| attempts(child, states)).fold(own, u32::max)
}

fn time(of: &Activity, states: &BTreeMap<String, ActivityState>) -> u64 {
    let own = states.get(&of.id).map_or(0, ActivityState::time_of_all);
    own + of.children.iter().map(|child| time(child, states)).sum::<u64>()
}

fn fixed(of: &Activity) -> Value {
    let passing = scaled_passing_score(of);
    json!({
        "completionThreshold": of.completion_threshold.as_ref().map(|t| t.min_progress_measure.to_string()),
        "launchData": of.launch_data.clone().unwrap_or_default(),
        "maxTimeAllowed": of.max_time_allowed.clone().unwrap_or_default(),
        "scaledPassingScore": passing,
        "scaledPassingScoreUsed": passing.is_some(),
        "timeLimitAction": of.time_limit_action.clone().unwrap_or_default(),
    })
}

/// Returns the score at which an activity is passed, from -1 to 1: the least measure of its primary
/// objective, else the mastery score of SCORM 1.2, which is a percentage.
pub(crate) fn scaled_passing_score(of: &Activity) -> Option<f64> {
    let mastery = || of.mastery_score.as_deref()?.parse::<f64>().ok();
    passing_measure(of).or_else(|| Some(mastery()? / 100.0))
}

/// Returns what the run-time has saved of an attempt; `later` are those after it.
fn runtime(
    standard: Standard,
    state: &ActivityState,
    later: &[&ActivityState],
    detail: Detail,
) -> Value {
    let is_12 = standard == Standard::Scorm12;
    let (core, preference) = if is_12 {
        ("cmi.core.", "cmi.student_preference.")
    } else {
        ("cmi.", "cmi.learner_preference.")
    };
    let text = |name: String| state.get(&name).unwrap_or_default().to_owned();
    let (completion, success) = statuses(is_12, state);
    let location = if is_12 { "lesson_location" } else { "location" };
    let (audio, speed, captions) = if is_12 {
        ("audio", "speed", "text")
    } else {
        ("audio_level", "delivery_speed", "audio_captioning")
    };
    let number = |name: &str| state.number(&format!("{preference}{name}"));
    let mut all = json!({
        "completionStatus": completion,
        "credit": "credit",
        "entry": if state.is_finished && state.exit != "suspend" { "" } else { "resume" },
        "exit": text(format!("{core}exit")),
        "learnerPreference": {
            "audioLevel": number(audio).unwrap_or(1.0),
            "language": text(format!("{preference}language")),
            "deliverySpeed": number(speed).unwrap_or(1.0),
            "audioCaptioning": number(captions).unwrap_or(0.0),
        },
        "location": text(format!("{core}{location}")),
        "mode": "normal",
        "progressMeasure": text("cmi.progress_measure".into()),
        "scoreScaled": text(format!("{core}score.scaled")),
        "scoreRaw": text(format!("{core}score.raw")),
        "scoreMin": text(format!("{core}score.min")),
        "scoreMax": text(format!("{core}score.max")),
        "totalTime": if is_12 { scorm12(state.time()) } else { iso(state.time()) },
        "timeTracked": scorm12(state.time_of_all()),
        "runtimeSuccessStatus": success,
        "suspendData": text("cmi.suspend_data".into()),
        "learnerComments": comments(is_12, state),
        "lmsComments": [],
    });
    if detail.interactions {
        all["runtimeInteractions"] = interactions(state, later);
        all["runtimeObjectives"] = objectives(is_12, state);
    }
    all
}

fn statuses(is_12: bool, state: &ActivityState) -> (String, &'static str) {
    if is_12 {
        let status = state.get("cmi.core.lesson_status").unwrap_or("not attempted");
        return match status {
            "passed" => ("completed".into(), "PASSED"),
            "failed" => ("completed".into(), "FAILED"),
            other => (other.to_owned(), "UNKNOWN"),
        };
    }
    let success = match state.get("cmi.success_status") {
        Some("passed") => "PASSED",
        Some("failed") => "FAILED",
        _ => "UNKNOWN",
    };
    (state.get("cmi.completion_status").unwrap_or("unknown").to_owned(), success)
}

fn comments(is_12: bool, state: &ActivityState) -> Value {
    if is_12 {
        let own = state.some("cmi.comments");
        return own.into_iter().map(|text| json!({ "value": text })).collect();
    }
    entries(&state.cmi, "cmi.comments_from_learner")
        .values()
        .map(|entry| {
            let of = |name: &str| entry.get(name).copied().unwrap_or_default();
            json!({ "value": of("comment"), "location": of("location"), "dateTime": of("timestamp") })
        })
        .collect()
}

/// Returns the interactions of an attempt. What its sessions said after the next attempt began is kept with that
/// next attempt.
fn interactions(state: &ActivityState, later: &[&ActivityState]) -> Value {
    let own = entries(&state.cmi, "cmi.interactions");
    // Interactions whose places were taken come last; those that were only said again are left out.
    let beside = state.beside.iter().filter(|(session, _)| !state.is_past(**session));
    let late = later.iter().flat_map(|later| {
        let is_of_it = |session: u32| later.is_past(session) && state.has_session(session);
        later.beside.iter().filter(move |(session, _)| is_of_it(**session))
    });
    let mut beside: Vec<_> =
        beside.chain(late).map(|(_, values)| entries(values, "cmi.interactions")).collect();
    for entries in &mut beside {
        entries.retain(|number, entry| !is_said_again(entry, own.get(number)));
    }
    std::iter::once(own)
        .chain(beside)
        .flat_map(BTreeMap::into_values)
        .map(|entry| {
            let of = Interaction::of(&entry);
            json!({
                "id": of.id.unwrap_or_default(),
                "type": interaction_type(of.kind.unwrap_or_default()),
                "objectives": of.objectives,
                "timestamp": of.timestamp.unwrap_or_default(),
                "correctResponses": of.patterns,
                "weighting": of.weighting.unwrap_or_default(),
                "learnerResponse": of.response.unwrap_or_default(),
                "result": of.result.unwrap_or_default(),
                "latency": of.latency.unwrap_or_default(),
                "description": of.description.unwrap_or_default(),
            })
        })
        .collect()
}

fn interaction_type(word: &str) -> &'static str {
    match word {
        "true-false" => "TrueFalse",
        "choice" => "Choice",
        "fill-in" => "FillIn",
        "long-fill-in" => "LongFillIn",
        "likert" => "Likert",
        "matching" => "Matching",
        "performance" => "Performance",
        "sequencing" => "Sequencing",
        "numeric" => "Numeric",
        _ => "Other",
    }
}

fn objectives(is_12: bool, state: &ActivityState) -> Value {
    entries(&state.cmi, "cmi.objectives")
        .values()
        .map(|entry| {
            let of = |name: &str| entry.get(name).copied().unwrap_or_default();
            let (success, completion) = objective_status(is_12, entry);
            json!({
                "id": of("id"),
                "scoreScaled": of("score.scaled"),
                "scoreMin": of("score.min"),
                "scoreMax": of("score.max"),
                "scoreRaw": of("score.raw"),
                "runtimeObjectiveSuccessStatus": success,
                "runtimeObjectiveCompletionStatus": completion,
                "progressMeasure": of("progress_measure"),
                "description": of("description"),
            })
        })
        .collect()
}

/// Returns the objectives of an activity as its content has written them; of the primary one, which is the
/// activity's own, what has come of the activity.
fn activity_objectives(of: &Activity, state: &ActivityState, found: Outcome) -> Value {
    let primary = of.sequencing.as_ref().and_then(|all| all["objectives"].as_array());
    let primary = primary.and_then(|all| all.iter().find(|one| one["primary"] == true));
    let primary = primary.and_then(|one| one["id"].as_str()).filter(|id| !id.is_empty());
    let is_12 = state.cmi.keys().any(|name| name.starts_with("cmi.core."));
    entries(&state.cmi, "cmi.objectives")
        .iter()
        .map(|(at, entry)| {
            let id = entry.get("id").copied().unwrap_or_default();
            let is_primary = primary == Some(id);
            let (success, completion) = if is_primary {
                (found.success.name(), found.completion.name())
            } else {
                objective_status(is_12, entry)
            };
            let completion = if matches!(completion, "COMPLETED" | "UNKNOWN") {
                completion
            } else {
                "INCOMPLETE"
            };
            let number = |name: &str| entry.get(name).and_then(|text| text.parse::<f64>().ok());
            let mut shown = json!({
                "id": id,
                "primary": is_primary,
                "objectiveCompletion": completion,
                "objectiveSuccess": success,
            });
            let own = number("score.scaled")
                .or_else(|| scaled(state, &format!("cmi.objectives.{at}.score")));
            if let Some(score) = if is_primary { found.score } else { own } {
                shown["score"] = json!({ "scaled": percent(score) });
            }
            for (name, member) in
                [("score.raw", "scoreRaw"), ("score.min", "scoreMin"), ("score.max", "scoreMax")]
            {
                if let Some(score) = number(name) {
                    shown[member] = json!(score);
                }
            }
            shown
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_passing_score_is_the_least_measure_of_2004_or_the_mastery_score_of_12() {
        let objective = |by_measure: bool| {
            json!([
                { "id": "other", "satisfiedByMeasure": true, "minNormalizedMeasure": 0.1 },
                { "primary": true, "satisfiedByMeasure": by_measure, "minNormalizedMeasure": 0.65 },
            ])
        };
        for (of_standard, passing) in [
            (json!({}), None),
            (json!({ "masteryScore": "80" }), Some(0.8)),
            (json!({ "sequencing": { "objectives": objective(true) } }), Some(0.65)),
            (json!({ "sequencing": { "objectives": objective(false) } }), None),
        ] {
            let mut activity = json!({
                "id": "a", "title": "A", "visible": true, "type": "sco", "href": "a.html",
                "children": [],
            });
            let members = activity.as_object_mut().unwrap();
            members.extend(of_standard.as_object().unwrap().clone());

            let shown = fixed(&serde_json::from_value(activity).unwrap());

            assert_eq!(shown["scaledPassingScore"].as_f64(), passing, "{of_standard}");
            assert_eq!(shown["scaledPassingScoreUsed"], passing.is_some());
        }
    }
}
