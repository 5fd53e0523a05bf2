//! Applies a commit to the state of an activity.

use std::collections::{BTreeMap, BTreeSet};

use super::begin::{Entered, entered, is_over};
use super::duration;
use super::session::Own;
use super::state::{ActivityState, Held, Spell};
use crate::package::{Activity, Standard};

/// What a commit says about one activity, after its elements were checked.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Applied {
    /// The values that it sets.
    pub(crate) cmi: BTreeMap<String, String>,
    /// Whether content has ended the session.
    pub(crate) is_exit: bool,
    /// Whether it is of another attempt.
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

/// Longest time that passes between two commits and counts as learning, where content does not say
/// its time, in hundredths of a second.
const SILENCE_MAX: u64 = 30 * 60 * 100;
/// Most bytes of the values of an activity, with their names.
pub(crate) const ACTIVITY_BYTES_MAX: usize = 2 << 20;
/// Most bytes of those that are in collections, such as interactions: there is room for the others.
const COLLECTED_BYTES_MAX: usize = 1 << 20;
/// Most values of an activity.
const VALUES_MAX: usize = 20_000;
/// Most bytes of the objectives' ids of an activity whose content has set nothing.
const HELD_BYTES_MAX: usize = 16 << 10;
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
        state.latest = own.number;
        own.launch().clone_into(&mut state.launch);
        if !is_known {
            for name in OF_SESSION {
                state.cmi.remove(name);
                state.set_by.remove(name);
            }
        }
    }
    if !is_before_attempt {
        for name in commit.cmi.keys() {
            if let Some(entry) = entry_of(name)
                && name.len() == entry.len() + ID.len()
                && name.ends_with(ID)
                && !is_taken(state, name, own)
            {
                change.left_out += make_room(state, entry, own.number);
            }
        }
    }
    let mut used = Used::of(state);
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
        let old = state.cmi.get(&name).map(String::len);
        if used.take(&name, old, value.len(), own.room) {
            set(state, name, value, own.number);
        } else {
            change.refused.push(name);
        }
    }
    if !spell.is_told && !own.is_left {
        spell.measure(now);
    }
    change.time_after = spell.time;
    state.sessions.insert(own.number, spell);
    if !is_before {
        if !commit.is_exit {
            state.ended = 0;
        } else if !has_ended {
            state.ended = now;
        }
        state.is_finished = commit.is_exit;
        if commit.is_exit {
            let exit = state.some("cmi.core.exit").or_else(|| state.some("cmi.exit"));
            state.exit = exit.unwrap_or_default().to_owned();
        }
    }
    change
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

impl Spell {
    /// Adds the time since the last commit, unless it is so long that the learner was elsewhere.
    fn measure(&mut self, now: i64) {
        let counted = i64::try_from(self.time).unwrap_or(i64::MAX).saturating_mul(10_000);
        let since =
            if self.measured > 0 { self.measured } else { self.begun.saturating_add(counted) };
        let silence = u64::try_from(now.saturating_sub(since)).unwrap_or(0) / 10_000;
        if silence > SILENCE_MAX {
            self.measured = now;
            return;
        }
        self.time = self.time.saturating_add(silence);
        // What is less than a hundredth of a second counts at the next commit.
        let counted = i64::try_from(silence).unwrap_or(0).saturating_mul(10_000);
        self.measured = since.saturating_add(counted);
    }
}

/// What the values of an activity take up.
struct Used {
    values: usize,
    bytes: usize,
    collected: usize,
}

impl Used {
    fn of(state: &ActivityState) -> Self {
        let mut used = Self { values: state.cmi.len(), bytes: 0, collected: 0 };
        for (name, value) in &state.cmi {
            let bytes = name.len() + value.len();
            used.bytes += bytes;
            if is_collected(name) {
                used.collected += bytes;
            }
        }
        used
    }

    /// Returns whether there is room for a value in place of another one, and takes it. A value that is no
    /// longer than the one before always has room.
    fn take(&mut self, name: &str, old: Option<usize>, new: usize, room: usize) -> bool {
        let before = old.map_or(0, |old| name.len() + old);
        let after = name.len() + new;
        let is_collected = is_collected(name);
        let bytes = self.bytes.saturating_sub(before) + after;
        let collected = self.collected.saturating_sub(before) + after;
        let grows = after > before;
        let is_full = bytes > room.min(ACTIVITY_BYTES_MAX)
            || (is_collected && collected > COLLECTED_BYTES_MAX)
            || (old.is_none() && self.values >= VALUES_MAX);
        if grows && is_full {
            return false;
        }
        self.bytes = bytes;
        if is_collected {
            self.collected = collected;
        }
        self.values += usize::from(old.is_none());
        true
    }
}

/// Returns whether an element is of an entry of a collection.
fn is_collected(name: &str) -> bool {
    name.split('.').any(|part| part.starts_with(|letter: char| letter.is_ascii_digit()))
}

/// Adds up the times of sessions whose numbers are no longer kept, and makes the last one that an older Homeroom
/// has written one of those that are. Returns the launch of that with its time.
fn fold(state: &mut ActivityState, own: Own<'_>) -> Option<(String, u64)> {
    let last = own.nameless(&state.launch);
    if let Some(last) = last.filter(|_| state.latest == 0) {
        state.latest = last;
        if state.origin == 0 {
            state.origin = last;
        }
    }
    let mut settled = None;
    if state.session > 0 || state.is_told {
        let (time, is_told, begun) = (state.session, state.is_told, state.begun);
        match last.filter(|last| !state.sessions.contains_key(last)) {
            Some(last) => {
                let spell = Spell { time, is_told, begun, ..Spell::default() };
                state.sessions.insert(last, spell);
            }
            None => state.earlier = state.earlier.saturating_add(time),
        }
        settled = Some((state.launch.clone(), time));
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
    settled
}

/// The element that begins an interaction.
const ID: &str = "id";

/// Returns the prefix of an interaction that a name belongs to.
fn entry_of(name: &str) -> Option<&str> {
    let rest = name.strip_prefix("cmi.interactions.")?;
    let (number, _) = rest.split_once('.')?;
    Some(&name[..=name.len() - rest.len() + number.len()])
}

/// Returns whether a later session has set a value, or has taken the place of an interaction.
fn is_taken(state: &ActivityState, name: &str, own: Own<'_>) -> bool {
    let is_set_later = |name: &str| own.is_before(state.setter(name));
    match entry_of(name) {
        None => state.cmi.contains_key(name) && is_set_later(name),
        Some(entry) => {
            let is_later = |(name, _): (&String, _)| is_set_later(name);
            below(&state.cmi, entry).any(is_later) || is_beside(state, entry, own.number)
        }
    }
}

/// Returns the values whose names begin with a prefix.
fn below<'s>(
    values: &'s BTreeMap<String, String>,
    prefix: &'s str,
) -> impl Iterator<Item = (&'s String, &'s String)> {
    values.range(prefix.to_owned()..).take_while(move |(name, _)| name.starts_with(prefix))
}

/// Returns whether another session has taken the place of an interaction of a session, which goes on beside it.
fn is_beside(state: &ActivityState, entry: &str, number: u32) -> bool {
    let id = format!("{entry}{ID}");
    let is_others = state.cmi.contains_key(&id) && state.setter(&id) != number;
    let beside = state.beside.get(&number);
    is_others && beside.is_some_and(|values| below(values, entry).next().is_some())
}

/// Makes room for an interaction of a session: what others have set in its place is kept beside the others, so
/// that interactions of two sessions never become one. Returns for how many values there was no room.
fn make_room(state: &mut ActivityState, entry: &str, number: u32) -> usize {
    let others = below(&state.cmi, entry).map(|(name, _)| name.clone());
    let others = others.filter(|name| state.setter(name) != number).collect::<Vec<_>>();
    let mut left_out = 0;
    for name in others {
        let setter = state.setter(&name);
        state.set_by.remove(&name);
        let value = state.cmi.remove(&name).unwrap_or_default();
        left_out += usize::from(!keep_beside(state, setter, name, value));
    }
    left_out
}

/// Forgets the interactions beside the others that a later session has said again: content that tells all
/// interactions in each session has told them once.
fn drop_restated(state: &mut ActivityState) {
    let ActivityState { cmi, beside, .. } = state;
    for values in beside.values_mut() {
        let entries: BTreeSet<String> =
            values.keys().filter_map(|name| entry_of(name)).map(str::to_owned).collect();
        for entry in entries {
            if below(values, &entry).all(|(name, value)| cmi.get(name) == Some(value)) {
                values.retain(|name, _| !name.starts_with(&entry));
            }
        }
    }
    beside.retain(|_, values| !values.is_empty());
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
    use super::super::begin::Resets;
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
