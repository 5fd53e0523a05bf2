//! Applies a commit to the state of an activity.

use std::collections::BTreeMap;

use super::begin::{Entered, entered, is_over};
use super::duration;
use super::fold::fold;
use super::interactions::{ID, drop_restated, entry_of, is_taken, keep_beside, make_room};
use super::room::Used;
use super::session::Own;
use super::state::{ActivityState, Held, Spell};

/// What a commit says about one activity, after its elements were checked.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Applied {
    /// The values that it sets.
    pub(crate) cmi: BTreeMap<String, String>,
    /// Whether content has ended the session.
    pub(crate) is_exit: bool,
    /// The attempt that the commit says it is of.
    pub(crate) attempt: Attempt,
}

/// What a commit says about its attempt.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Attempt {
    /// Nothing: the server knows.
    #[default]
    Known,
    /// Another one begins, if the page has begun none.
    New,
    /// It is the attempt of this number, which begins if it has not.
    Number(u32),
}

/// What applying a commit to an activity has come to.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Change {
    /// The session's time on the activity before, in hundredths of a second.
    pub(crate) time_before: u64,
    /// The session's time on the activity afterwards, in hundredths of a second.
    pub(crate) time_after: u64,
    /// The elements whose values were saved, also those that were kept since before.
    pub(crate) saved: Vec<String>,
    /// The elements that stay as a later session has set them.
    pub(crate) superseded: Vec<String>,
    /// Values of interactions that are left out, since too many are kept beside the others.
    pub(crate) left_out: usize,
    /// The elements for whose values there is no room.
    pub(crate) refused: Vec<String>,
    /// The attempt that has ended because a new one began.
    pub(crate) ended: Option<ActivityState>,
    /// The time of a launch that an older Homeroom has kept with the activity: it counts as the launch's own.
    pub(crate) settled: Option<(String, u64)>,
    /// Whether the commit was of an attempt that no limit allows: it has changed nothing.
    pub(crate) is_over: bool,
    /// What is kept of the commit, which has changed nothing, until content sets something.
    pub(crate) held: Option<Held>,
}

/// Most bytes of the objectives' ids of an activity whose content has set nothing.
const HELD_BYTES_MAX: usize = 16 << 10;
/// What belongs to a session and not to the attempt.
const OF_SESSION: [&str; 4] =
    ["cmi.core.exit", "cmi.exit", "cmi.core.session_time", "cmi.session_time"];

/// Applies a commit of a session to the state of an activity.
///
/// Each session has a time of its own, which content tells as that of the activity since the page was
/// opened; the time of the attempt is their sum. What a session does not set stays as it was. What a later
/// session has set stays, too: the state is as if the sessions had said everything in the order in which
/// their pages were opened.
///
/// A page that enters the activity after content has ended its last session begins another attempt, as
/// [`entered`] says, once its content has set something: a page that is opened and closed changes nothing.
///
/// Source: SCORM 1.2 RTE §3.4.4 (`session_time`, `total_time`), SCORM 2004 RTE §4.2, §2.1.1 (attempts).
pub(crate) fn apply(
    state: &mut ActivityState,
    mut commit: Applied,
    own: Own<'_>,
    now: i64,
) -> Change {
    let mut change = Change { settled: fold(state, own), ..Change::default() };
    let is_first = state.attempts == 0;
    let is_before = own.is_before(state.latest);
    let is_before_attempt = own.is_before(state.begun_by);
    let known = state.sessions.get(&own.number).copied();
    change.time_before = known.map_or(0, |spell| spell.time);
    let has_ended = state.is_finished && state.ended > 0 && state.latest == own.number;
    let how = match known {
        None if !is_before => {
            entered(own.standard, state, (own.opened(), own.resumes()), own.resets)
        }
        _ => Entered::GoesOn,
    };
    let has_begun = known.is_some_and(|spell| spell.has_begun);
    let is_asked = match commit.attempt {
        Attempt::Known => false,
        Attempt::New => !has_begun,
        Attempt::Number(number) => number > state.attempts,
    };
    let wanted = if is_asked { Entered::Anew } else { how };
    if !is_before && is_over(state, wanted, own.limit) {
        change.is_over = true;
        return change;
    }
    let says_nothing = !commit.cmi.keys().any(|name| !is_id_of_objective(name))
        && (!commit.is_exit || how != Entered::GoesOn);
    if says_nothing && !is_first && known.is_none() && !is_before && !is_asked {
        change.held = Some(hold(commit.cmi, own, now));
        return change;
    }
    let held = own.held().filter(|_| known.is_none());
    for (name, value) in held.into_iter().flat_map(|held| &held.cmi) {
        commit.cmi.entry(name.clone()).or_insert_with(|| value.clone());
    }
    let begins = is_asked || how == Entered::Anew;
    if is_asked && is_before {
        change.superseded.push("attempt".into());
    } else if is_first {
        state.attempts = 1;
        (state.begun_by, state.origin) = (own.number, own.number);
    } else if begins {
        change.ended = Some(state.clone());
        begin_attempt(state, own);
        change.time_before = 0;
    } else if how == Entered::Again {
        state.attempts = state.attempts.saturating_add(1);
    }
    let is_known = state.sessions.contains_key(&own.number);
    let begun = held.map_or(now, |held| held.begun);
    let fresh = Spell { begun, measured: begun, is_past: is_before_attempt, ..Spell::default() };
    let mut spell = state.sessions.get(&own.number).copied().unwrap_or(fresh);
    spell.has_begun = has_begun || (begins && !is_before);
    if !is_known {
        drop_restated(state);
    }
    if !is_before {
        take_over(state, own, is_known);
    }
    let lateness = Lateness { is_before, is_before_attempt };
    set_values(state, commit.cmi, own, lateness, &mut spell, &mut change);
    if !spell.is_told && !own.is_left {
        spell.measure(now);
    }
    change.time_after = spell.time;
    state.sessions.insert(own.number, spell);
    if !is_before {
        note_end(state, commit.is_exit, has_ended, now);
    }
    change
}

/// Whether what a session says comes before what others have said.
#[derive(Debug, Clone, Copy)]
struct Lateness {
    /// Whether a later session has entered the activity.
    is_before: bool,
    /// Whether a later session has begun another attempt.
    is_before_attempt: bool,
}

/// Makes a session the latest one of the activity. A new session begins without the values of another one.
fn take_over(state: &mut ActivityState, own: Own<'_>, is_known: bool) {
    state.latest = own.number;
    own.launch().clone_into(&mut state.launch);
    if !is_known {
        for name in OF_SESSION {
            state.cmi.remove(name);
            state.set_by.remove(name);
        }
    }
}

/// Sets the values of a commit, as far as no later session has set them and there is room.
fn set_values(
    state: &mut ActivityState,
    values: BTreeMap<String, String>,
    own: Own<'_>,
    Lateness { is_before, is_before_attempt }: Lateness,
    spell: &mut Spell,
    change: &mut Change,
) {
    if !is_before_attempt {
        let ids = values.keys().filter_map(|name| Some((name, entry_of(name)?)));
        for (name, entry) in ids.filter(|(name, entry)| name.strip_prefix(entry) == Some(ID)) {
            if !is_taken(state, name, own) {
                change.left_out += make_room(state, entry, own.number);
            }
        }
    }
    let mut used = Used::of(state);
    for (name, value) in values {
        let is_time = matches!(name.as_str(), "cmi.core.session_time" | "cmi.session_time");
        if is_time && let Some(time) = duration::read(&value) {
            spell.time = time;
            spell.is_told = true;
        }
        if is_before && OF_SESSION.contains(&name.as_str()) {
            if is_time {
                change.saved.push(name);
            }
            continue;
        }
        if is_before_attempt || is_taken(state, &name, own) {
            if entry_of(&name).is_none() {
                change.superseded.push(name);
            } else if keep_beside(state, own.number, name.clone(), value) {
                change.saved.push(name);
            } else {
                change.left_out += 1;
            }
            continue;
        }
        let old = state.cmi.get(&name).map(String::len);
        if used.take(&name, old, value.len(), own.room) {
            change.saved.push(name.clone());
            set(state, name, value, own.number);
        } else {
            change.refused.push(name);
        }
    }
}

/// Notes whether content has ended the session, and how.
fn note_end(state: &mut ActivityState, is_exit: bool, has_ended: bool, now: i64) {
    if !is_exit {
        state.ended = 0;
    } else if !has_ended {
        state.ended = now;
    }
    state.is_finished = is_exit;
    if is_exit {
        let exit = state.some("cmi.core.exit").or_else(|| state.some("cmi.exit"));
        state.exit = exit.unwrap_or_default().to_owned();
    }
}

/// Returns whether an element is the id of an objective, which content gets from the manifest.
fn is_id_of_objective(name: &str) -> bool {
    let rest = name.strip_prefix("cmi.objectives.").and_then(|rest| rest.strip_suffix(".id"));
    rest.is_some_and(|number| number.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Returns what is kept of a commit that sets nothing, with what was kept before.
fn hold(ids: BTreeMap<String, String>, own: Own<'_>, now: i64) -> Held {
    let mut held = own.held().cloned().unwrap_or(Held { begun: now, ..Held::default() });
    let mut bytes: usize = held.cmi.iter().map(|(name, value)| name.len() + value.len()).sum();
    for (name, value) in ids {
        bytes += name.len() + value.len();
        if bytes <= HELD_BYTES_MAX {
            held.cmi.insert(name, value);
        }
    }
    held
}

/// What global objectives are made of.
const SHARED: [&str; 5] = [
    "cmi.success_status",
    "cmi.score.",
    "cmi.completion_status",
    "cmi.progress_measure",
    "cmi.objectives.",
];

/// Sets a value and notes which session has set it.
fn set(state: &mut ActivityState, name: String, value: String, number: u32) {
    if state.is_withheld && SHARED.iter().any(|shared| name.starts_with(shared)) {
        state.is_withheld = false;
    }
    if number == state.origin {
        state.set_by.remove(&name);
    } else {
        state.set_by.insert(name.clone(), number);
    }
    state.cmi.insert(name, value);
}

/// Begins a new attempt: its values and its time begin again, and those of the former attempt count there.
fn begin_attempt(state: &mut ActivityState, own: Own<'_>) {
    state.attempts = state.attempts.saturating_add(1);
    state.past = state.past.saturating_add(state.earlier).saturating_add(state.session);
    (state.earlier, state.session, state.is_told, state.begun) = (0, 0, false, 0);
    // The time that content tells from here on is that of the new attempt.
    if let Some(spell) = state.sessions.remove(&own.number) {
        state.past = state.past.saturating_add(spell.time);
    }
    for spell in state.sessions.values_mut() {
        spell.is_past = true;
    }
    state.begin_anew();
    state.set_by.clear();
    state.beside.clear();
    (state.begun_by, state.origin) = (own.number, own.number);
    state.is_finished = false;
    state.ended = 0;
    state.exit.clear();
}

#[cfg(test)]
mod tests {
    use super::super::begin::Resets;
    use super::super::state::Session;
    use super::*;
    use crate::package::Standard;

    /// Sessions by number, each with its launch and the moment at which its page was opened.
    fn sessions(all: &[(u32, &str, i64)]) -> BTreeMap<u32, Session> {
        let session = |launch: &str, opened| Session {
            launch: launch.to_owned(),
            opened,
            ..Session::default()
        };
        all.iter().map(|(number, launch, opened)| (*number, session(launch, *opened))).collect()
    }

    fn own(sessions: &BTreeMap<u32, Session>, number: u32) -> Own<'_> {
        Own {
            number,
            sessions,
            is_left: false,
            is_closing: false,
            activity: "a",
            standard: Standard::Scorm12,
            resets: Resets::Never,
            limit: None,
            room: usize::MAX,
        }
    }

    fn commit(values: &[(&str, &str)], is_exit: bool) -> Applied {
        let cmi = values.iter().map(|(n, v)| ((*n).to_owned(), (*v).to_owned())).collect();
        Applied { cmi, is_exit, attempt: Attempt::Known }
    }

    #[test]
    fn the_total_time_is_the_sum_of_the_last_time_of_each_session() {
        let mut state = ActivityState::default();
        let all = sessions(&[(1, "a", 1), (2, "b", 2)]);
        for (number, time) in [(1, "00:00:30"), (1, "00:01:00"), (2, "00:02:00")] {
            let commit = commit(&[("cmi.core.session_time", time)], false);
            apply(&mut state, commit, own(&all, number), 1);
        }

        assert_eq!(state.time(), 18_000);
        assert_eq!(state.attempts, 1);
    }

    #[test]
    fn content_that_is_opened_again_within_a_launch_is_not_counted_twice() {
        let mut state = ActivityState::default();
        let all = sessions(&[(1, "a", 1)]);
        for (time, is_exit) in [("PT1M", true), ("PT1M30S", false), ("PT2M", true)] {
            let commit = commit(&[("cmi.session_time", time)], is_exit);
            apply(&mut state, commit, own(&all, 1), 1);
        }

        assert_eq!(state.time(), 12_000);
    }

    #[test]
    fn time_is_measured_where_content_does_not_tell_it() {
        let mut state = ActivityState::default();
        let all = sessions(&[(1, "a", 1)]);
        for now in [0, 20_000_000, 40_000_000] {
            apply(&mut state, commit(&[("cmi.location", "1")], false), own(&all, 1), now);
        }

        assert_eq!(state.time(), 4_000);
    }

    #[test]
    fn a_long_pause_is_not_learning_and_what_follows_is() {
        let mut state = ActivityState::default();
        let all = sessions(&[(1, "a", 1)]);
        let minute = 60_000_000;
        for now in [0, 10, 45, 55, 65].map(|at| at * minute) {
            apply(&mut state, commit(&[("cmi.location", "1")], false), own(&all, 1), now + 1);
        }

        assert_eq!(state.time(), 30 * 6_000);
    }

    #[test]
    fn a_value_without_room_is_left_out_and_the_others_are_kept() {
        let all = sessions(&[(1, "a", 1)]);
        let mut state = ActivityState::default();
        let long = "x".repeat(600 << 10);
        let entries = ["cmi.objectives.0.description", "cmi.objectives.1.description"];
        let values =
            [(entries[0], long.as_str()), (entries[1], &long), ("cmi.suspend_data", &long)];

        let change = apply(&mut state, commit(&values, false), own(&all, 1), 1);

        assert_eq!(change.refused, [entries[1]], "collections leave room for the rest");
        assert_eq!(state.get("cmi.suspend_data"), Some(long.as_str()));
        let small = Own { room: 1_300 << 10, ..own(&all, 1) };
        let values = [("cmi.comments", long.as_str()), ("cmi.suspend_data", "x")];
        let change = apply(&mut state, commit(&values, false), small, 2);
        assert_eq!(change.refused, ["cmi.comments"], "and activities for each other");
        assert_eq!(state.get("cmi.suspend_data"), Some("x"));
    }

    #[test]
    fn two_pages_that_take_turns_are_counted_once_each() {
        for launches in [["a", "a"], ["a", "b"]] {
            let all = sessions(&[(1, launches[0], 1), (2, launches[1], 2)]);
            let mut state = ActivityState::default();
            for minute in 1..=20 {
                for number in [1, 2] {
                    let time = format!("00:{minute:02}:00");
                    let commit = commit(&[("cmi.core.session_time", &time)], false);
                    apply(&mut state, commit, own(&all, number), minute);
                }
            }

            assert_eq!(state.time(), 2 * 20 * 60 * 100);
        }
    }

    #[test]
    fn what_an_earlier_launch_says_late_changes_nothing_that_a_later_one_has_set() {
        let all = sessions(&[(1, "a", 10), (2, "b", 20)]);
        let mut state = ActivityState::default();
        let first = [("cmi.location", "p1"), ("cmi.completion_status", "incomplete")];
        apply(&mut state, commit(&first, false), own(&all, 1), 1);
        let later = [
            ("cmi.location", "p9"),
            ("cmi.completion_status", "completed"),
            ("cmi.interactions.0.id", "q9"),
            ("cmi.exit", "normal"),
        ];
        apply(&mut state, commit(&later, true), own(&all, 2), 2);
        let late = [
            ("cmi.location", "p2"),
            ("cmi.completion_status", "incomplete"),
            ("cmi.interactions.0.id", "q1"),
            ("cmi.interactions.1.id", "q2"),
            ("cmi.score.raw", "40"),
            ("cmi.session_time", "PT5M"),
            ("cmi.exit", "suspend"),
        ];

        let change = apply(&mut state, commit(&late, false), own(&all, 1), 3);

        assert_eq!(change.superseded, ["cmi.completion_status", "cmi.location"]);
        let saved =
            ["cmi.interactions.0.id", "cmi.interactions.1.id", "cmi.score.raw", "cmi.session_time"];
        assert_eq!(change.saved, saved, "not the exit either");
        assert_eq!(state.get("cmi.location"), Some("p9"));
        assert_eq!(state.get("cmi.completion_status"), Some("completed"));
        assert_eq!(state.get("cmi.exit"), Some("normal"));
        assert!(state.is_finished);
        assert_eq!(state.launch, "b");
        assert_eq!(state.get("cmi.score.raw"), Some("40"), "nobody has set it later");
        assert_eq!(state.get("cmi.interactions.0.id"), Some("q9"));
        assert_eq!(state.get("cmi.interactions.1.id"), Some("q2"));
        assert_eq!(state.beside[&1]["cmi.interactions.0.id"], "q1");
        assert_eq!(state.time(), 30_000);
        // The later one goes on.
        apply(&mut state, commit(&[("cmi.score.raw", "90")], false), own(&all, 2), 4);
        let change = apply(&mut state, commit(&[("cmi.score.raw", "41")], false), own(&all, 1), 5);
        assert_eq!(change.superseded, ["cmi.score.raw"]);
        assert_eq!(state.get("cmi.score.raw"), Some("90"));
    }

    #[test]
    fn pages_of_one_launch_that_are_both_open_set_what_they_like() {
        let all = sessions(&[(1, "a", 10), (2, "a", 20)]);
        let mut state = ActivityState::default();
        for (number, place) in [(1, "p1"), (2, "p2"), (1, "p3"), (2, "p4")] {
            apply(&mut state, commit(&[("cmi.location", place)], false), own(&all, number), 1);
            assert_eq!(state.get("cmi.location"), Some(place));
        }

        // What a page has left is not said by an open page.
        let left = Own { is_left: true, ..own(&all, 1) };
        let change = apply(&mut state, commit(&[("cmi.location", "p5")], false), left, 1);

        assert_eq!(state.get("cmi.location"), Some("p4"));
        assert_eq!(change.superseded, ["cmi.location"]);
    }

    #[test]
    fn a_new_attempt_begins_with_nothing_and_the_former_one_is_handed_over() {
        let all = sessions(&[(1, "a", 10), (2, "b", 20)]);
        let mut state = ActivityState::default();
        let first = [
            ("cmi.core.score.raw", "40"),
            ("cmi.core.session_time", "00:10:00"),
            ("cmi.interactions.0.id", "q1"),
        ];
        apply(&mut state, commit(&first, true), own(&all, 1), 1);
        let second = Applied {
            attempt: Attempt::New,
            ..commit(&[("cmi.core.session_time", "00:01:00")], false)
        };

        let change = apply(&mut state, second, own(&all, 2), 2);

        let ended = change.ended.unwrap();
        assert_eq!((ended.attempts, ended.get("cmi.core.score.raw")), (1, Some("40")));
        assert_eq!(state.attempts, 2);
        assert_eq!(state.get("cmi.core.score.raw"), None);
        assert_eq!((state.time(), state.time_of_all()), (6_000, 66_000));
        // What the first says late belongs to the former attempt: only its time and interactions count.
        let late = [
            ("cmi.core.score.raw", "99"),
            ("cmi.core.session_time", "00:11:00"),
            ("cmi.interactions.1.id", "q2"),
        ];
        let change = apply(&mut state, commit(&late, true), own(&all, 1), 3);
        assert_eq!(change.superseded, ["cmi.core.score.raw"]);
        assert_eq!((change.time_before, change.time_after), (60_000, 66_000));
        assert_eq!(state.get("cmi.core.score.raw"), None);
        assert_eq!(state.beside[&1]["cmi.interactions.1.id"], "q2");
        assert_eq!((state.time(), state.time_of_all()), (6_000, 72_000));
    }

    #[test]
    fn the_time_of_a_session_that_an_older_version_has_written_is_counted_once() {
        let text = r#"{"attempts":1,"cmi":{"cmi.location":"p1"},"earlier":100,"launch":"a",
            "session":6000,"is_told":true,"begun":1,"is_finished":false,"exit":""}"#;
        let all = sessions(&[(1, "a", 10), (2, "b", 20)]);
        for (number, time) in [(1, 100 + 12_000), (2, 100 + 6_000 + 12_000)] {
            let mut state: ActivityState = serde_json::from_str(text).unwrap();
            assert_eq!(state.time(), 6_100);

            let commit = commit(&[("cmi.session_time", "PT2M")], false);
            apply(&mut state, commit, own(&all, number), 5);

            assert_eq!(state.time(), time);
        }
    }

    #[test]
    fn what_an_older_version_has_written_belongs_to_its_launch() {
        let text = r#"{"attempts":1,"cmi":{"cmi.location":"p1"},"earlier":100,"launch":"b",
            "session":6000,"is_told":true,"begun":1,"is_finished":false,"exit":""}"#;
        let all = sessions(&[(1, "a", 10), (2, "b", 20), (3, "c", 30)]);
        let mut state: ActivityState = serde_json::from_str(text).unwrap();

        // An earlier launch undoes nothing of it.
        let late = commit(&[("cmi.location", "p0"), ("cmi.session_time", "PT1M")], false);
        let change = apply(&mut state, late, own(&all, 1), 5);
        assert_eq!(change.superseded, ["cmi.location"]);
        assert_eq!(change.settled, Some(("b".into(), 6_000)));
        assert_eq!(state.time(), 100 + 6_000 + 6_000);
        // Its own page goes on beside a later one, and is counted once.
        for (number, time) in [(3, "PT1M"), (2, "PT2M")] {
            let change = apply(
                &mut state,
                commit(&[("cmi.session_time", time)], false),
                own(&all, number),
                6,
            );
            assert_eq!(change.settled, None);
        }
        assert_eq!(state.time(), 100 + 12_000 + 6_000 + 6_000);
    }

    #[test]
    fn the_times_of_sessions_that_are_forgotten_are_added_up() {
        let mut state = ActivityState::default();
        for number in 1..=200 {
            let all = sessions(&[(number, "a", 10), (number + 1, "b", 20)]);
            let commit = commit(&[("cmi.session_time", "PT1M"), ("cmi.location", "1")], false);
            apply(&mut state, commit, own(&all, number), 1);
        }

        assert_eq!(state.time(), 200 * 6_000);
        assert_eq!(state.sessions.len(), 1);
        assert!(state.set_by.len() <= 2);
    }
}
