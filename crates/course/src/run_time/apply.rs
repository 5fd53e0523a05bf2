//! Applies a commit to the state of an activity.

use std::collections::BTreeMap;

use super::duration;
use super::session::Own;
use super::state::{ActivityState, Spell};
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

/// What applying a commit to an activity has come to.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Change {
    /// The session's time on the activity before, in hundredths of a second.
    pub(crate) time_before: u64,
    /// The session's time on the activity afterwards, in hundredths of a second.
    pub(crate) time_after: u64,
    /// The elements that stay as a later session has set them.
    pub(crate) superseded: Vec<String>,
    /// Interactions that are left out, since too many are kept beside the others.
    pub(crate) left_out: usize,
    /// The attempt that has ended because a new one began.
    pub(crate) ended: Option<ActivityState>,
}

/// Longest time that passes between two commits and counts as learning, where content does not say
/// its time, in hundredths of a second.
const SILENCE_MAX: u64 = 30 * 60 * 100;
/// Most bytes of interactions that are kept beside the others.
const BESIDE_BYTES_MAX: usize = 128 << 10;

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
/// Source: SCORM 1.2 RTE §3.4.4 (`session_time`, `total_time`), SCORM 2004 RTE §4.2, §2.1.1 (attempts).
pub(crate) fn apply(state: &mut ActivityState, commit: Applied, own: Own<'_>, now: i64) -> Change {
    let mut change = Change::default();
    let is_first = state.attempts == 0;
    let is_before = own.is_before(state.latest);
    let is_before_attempt = own.is_before(state.begun_by);
    fold(state, own);
    change.time_before = state.sessions.get(&own.number).map_or(0, |spell| spell.time);
    if commit.is_new_attempt && is_before {
        change.superseded.push("attempt".into());
    } else if commit.is_new_attempt && !is_first {
        change.ended = Some(state.clone());
        begin_attempt(state, own);
        change.time_before = 0;
    } else if is_first {
        state.attempts = 1;
        (state.begun_by, state.origin) = (own.number, own.number);
    }
    let is_known = state.sessions.contains_key(&own.number);
    let fresh = Spell { begun: now, is_past: is_before_attempt, ..Spell::default() };
    let mut spell = state.sessions.get(&own.number).copied().unwrap_or(fresh);
    if !is_before {
        state.latest = own.number;
        own.launch().clone_into(&mut state.launch);
        if !is_known {
            for name in OF_SESSION {
                state.cmi.remove(name);
                state.set_by.remove(name);
            }
        }
    }
    for (name, value) in commit.cmi {
        let is_time = matches!(name.as_str(), "cmi.core.session_time" | "cmi.session_time");
        if is_time && let Some(time) = duration::read(&value) {
            spell.time = time;
            spell.is_told = true;
        }
        if is_before && OF_SESSION.contains(&name.as_str()) {
            continue;
        }
        if is_before_attempt || is_taken(state, &name, own) {
            if entry_of(&name).is_none() {
                change.superseded.push(name);
            } else if !keep_beside(state, own.number, name, value) {
                change.left_out += 1;
            }
            continue;
        }
        set(state, name, value, own.number);
    }
    if !spell.is_told && !own.is_left {
        let elapsed = u64::try_from((now - spell.begun).max(0)).unwrap_or(0) / 10_000;
        if elapsed.saturating_sub(spell.time) <= SILENCE_MAX {
            spell.time = spell.time.max(elapsed);
        }
    }
    change.time_after = spell.time;
    state.sessions.insert(own.number, spell);
    if !is_before {
        state.is_finished = commit.is_exit;
        if commit.is_exit {
            let exit = state.some("cmi.core.exit").or_else(|| state.some("cmi.exit"));
            state.exit = exit.unwrap_or_default().to_owned();
        }
    }
    change
}

/// Sets a value and notes which session has set it.
fn set(state: &mut ActivityState, name: String, value: String, number: u32) {
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
    state.exit.clear();
}

/// Adds up the times of sessions whose numbers are no longer kept, and of the last one that an older
/// Homeroom has written, unless it goes on.
fn fold(state: &mut ActivityState, own: Own<'_>) {
    if state.session > 0 || state.is_told {
        let goes_on = own.is_nameless() && state.launch == own.launch();
        let (time, is_told, begun) = (state.session, state.is_told, state.begun);
        if goes_on && !state.sessions.contains_key(&own.number) {
            state.sessions.insert(own.number, Spell { time, is_told, begun, is_past: false });
        } else {
            state.earlier = state.earlier.saturating_add(time);
        }
        (state.session, state.is_told, state.begun) = (0, false, 0);
    }
    let is_kept = |number: &u32| own.sessions.contains_key(number);
    let (mut earlier, mut past) = (0_u64, 0_u64);
    state.sessions.retain(|number, spell| {
        let sum = if spell.is_past { &mut past } else { &mut earlier };
        if !is_kept(number) {
            *sum = sum.saturating_add(spell.time);
        }
        is_kept(number)
    });
    state.earlier = state.earlier.saturating_add(earlier);
    state.past = state.past.saturating_add(past);
    state.set_by.retain(|_, number| is_kept(number));
}

/// Returns the prefix of an interaction that a name belongs to.
fn entry_of(name: &str) -> Option<&str> {
    let rest = name.strip_prefix("cmi.interactions.")?;
    let (number, _) = rest.split_once('.')?;
    Some(&name[..=name.len() - rest.len() + number.len()])
}

/// Returns whether a later session has set a value, or has taken the place of an interaction.
fn is_taken(state: &ActivityState, name: &str, own: Own<'_>) -> bool {
    let is_set_later = |name: &str| {
        let setter = state.set_by.get(name).copied().unwrap_or(state.origin);
        own.is_before(setter)
    };
    match entry_of(name) {
        None => state.cmi.contains_key(name) && is_set_later(name),
        Some(entry) => {
            let own_names = state.cmi.range(entry.to_owned()..).map(|(name, _)| name);
            own_names.take_while(|name| name.starts_with(entry)).any(|name| is_set_later(name))
        }
    }
}

/// Keeps a value of an interaction whose place is taken. Returns whether there was room.
fn keep_beside(state: &mut ActivityState, number: u32, name: String, value: String) -> bool {
    let bytes = |all: &BTreeMap<String, String>| -> usize {
        all.iter().map(|(name, value)| name.len() + value.len()).sum()
    };
    let kept: usize = state.beside.values().map(bytes).sum();
    if kept + name.len() + value.len() > BESIDE_BYTES_MAX {
        return false;
    }
    state.beside.entry(number).or_default().insert(name, value);
    true
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
    use super::super::state::Session;
    use super::*;
    use crate::package::ActivityType;

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
        Own { number, sessions, is_left: false }
    }

    fn commit(values: &[(&str, &str)], is_exit: bool) -> Applied {
        let cmi = values.iter().map(|(n, v)| ((*n).to_owned(), (*v).to_owned())).collect();
        Applied { cmi, is_exit, is_new_attempt: false }
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

            apply(&mut state, commit(values, is_exit), own(&sessions(&[(1, "l", 1)]), 1), 1);
            finish(&mut state, Standard::Scorm12, &activity);

            let found = state.get("cmi.core.lesson_status").unwrap_or("-");
            assert_eq!(found, status, "{values:?}");
        }
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
            is_new_attempt: true,
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
