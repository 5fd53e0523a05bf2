//! Interactions and objectives as rows of their own, for questions about all learners of a course.

use std::collections::BTreeMap;

use homeroom_store::{Value, Write};

use crate::row::write;
use crate::run_time::{
    ActivityState, Applied, Entry, Interaction, entries, is_said_again, objective_status,
};
use crate::sql;

/// Interactions and objectives with greater numbers have no rows.
const ITEMS_MAX: i64 = 2_000;
/// Most characters of a text in a row; the state of the activity has it whole.
const CHARS_MAX: usize = 4_000;
/// Most entries of a list in a row.
const LISTED_MAX: usize = 100;
/// The number that a row has in place of its attempt's, for an interaction that arrived after its attempt had ended.
const LATE: i64 = 0;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Interaction,
    Objective,
}

/// Which row of an activity it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Place {
    kind: Kind,
    attempt: i64,
    session: i64,
    number: i64,
}

/// The interactions and objectives of an activity, as their rows have them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Items(BTreeMap<Place, Vec<Option<String>>>);

impl Items {
    /// Returns those of an activity's current attempt.
    pub(crate) fn of(state: &ActivityState) -> Self {
        let mut all = BTreeMap::new();
        let attempt = i64::from(state.attempts);
        let own = entries(&state.cmi, INTERACTIONS);
        for (session, values) in &state.beside {
            let is_late = state.is_past(*session);
            for (number, entry) in entries(values, INTERACTIONS) {
                if is_late || !is_said_again(&entry, own.get(&number)) {
                    let attempt = if is_late { LATE } else { attempt };
                    put(&mut all, Kind::Interaction, (attempt, *session), number, &entry);
                }
            }
        }
        for (number, entry) in own {
            put(&mut all, Kind::Interaction, (attempt, 0), number, &entry);
        }
        for (number, entry) in entries(&state.cmi, OBJECTIVES) {
            put(&mut all, Kind::Objective, (attempt, 0), number, &entry);
        }
        Self(all)
    }

    /// Returns those that an activity has before a commit of a session, if that may change them.
    pub(crate) fn before(state: &ActivityState, commit: &Applied, session: u32) -> Option<Self> {
        let is_item =
            |name: &String| name.starts_with(INTERACTIONS) || name.starts_with(OBJECTIVES);
        let may_change = commit.cmi.keys().any(is_item)
            || !state.beside.is_empty()
            || !state.has_session(session);
        may_change.then(|| Self::of(state))
    }

    /// Returns whether there are none.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the writes that make rows of these out of those before; `key` is that of the activity. The rows of an
    /// attempt that has ended stay.
    pub(crate) fn writes(self, before: &Self, key: &[Value], has_ended: bool) -> Vec<Write> {
        let mut writes = vec![];
        for place in before.0.keys().filter(|place| !has_ended && !self.0.contains_key(place)) {
            let text = match place.kind {
                Kind::Interaction => sql::INTERACTION_DELETE,
                Kind::Objective => sql::OBJECTIVE_DELETE,
            };
            writes.push(write(text, place.arguments(key)));
        }
        for (place, cells) in self.0 {
            if before.0.get(&place) == Some(&cells) {
                continue;
            }
            let text = match place.kind {
                Kind::Interaction => sql::INTERACTION_PUT,
                Kind::Objective => sql::OBJECTIVE_PUT,
            };
            let mut arguments = place.arguments(key);
            arguments.extend(cells.into_iter().map(Value::from));
            writes.push(write(text, arguments));
        }
        writes
    }
}

/// Returns the writes that remove the rows of an activity's attempts from one to another.
pub(crate) fn removal(key: &[Value], from: i64, to: i64) -> Vec<Write> {
    let arguments = || [key, &[from.into(), to.into()]].concat();
    [sql::INTERACTIONS_OF_ATTEMPTS_DELETE, sql::OBJECTIVES_OF_ATTEMPTS_DELETE]
        .into_iter()
        .map(|text| write(text, arguments()))
        .collect()
}

impl Place {
    fn arguments(self, key: &[Value]) -> Vec<Value> {
        [key, &[self.attempt.into(), self.session.into(), self.number.into()]].concat()
    }
}

const INTERACTIONS: &str = "cmi.interactions";
const OBJECTIVES: &str = "cmi.objectives";

fn put(
    all: &mut BTreeMap<Place, Vec<Option<String>>>,
    kind: Kind,
    (attempt, session): (i64, u32),
    number: usize,
    entry: &Entry<'_>,
) {
    let Some(number) = i64::try_from(number).ok().filter(|number| *number < ITEMS_MAX) else {
        return;
    };
    let place = Place { kind, attempt, session: session.into(), number };
    let cells = match kind {
        Kind::Interaction => interaction(entry),
        Kind::Objective => objective(entry),
    };
    all.insert(place, cells);
}

/// Returns the cells of an interaction, in the order of [`sql::INTERACTION_PUT`].
fn interaction(entry: &Entry<'_>) -> Vec<Option<String>> {
    let of = Interaction::of(entry);
    let result = of.result.map(|word| if word == "wrong" { "incorrect" } else { word });
    let cell = |text: Option<&str>| text.map(cell_text);
    vec![
        Some(of.id.map(cell_text).unwrap_or_default()),
        cell(of.kind),
        cell(of.response),
        cell(result),
        cell(of.weighting),
        cell(of.latency),
        cell(of.timestamp),
        listed(&of.objectives),
        listed(&of.patterns),
        cell(of.description),
    ]
}

/// Returns the cells of an objective, in the order of [`sql::OBJECTIVE_PUT`].
fn objective(entry: &Entry<'_>) -> Vec<Option<String>> {
    let of = |name: &str| entry.get(name).map(|text| cell_text(text));
    let (success, completion) = objective_status(entry.contains_key("status"), entry);
    vec![
        Some(of("id").unwrap_or_default()),
        Some(success.into()),
        Some(completion.into()),
        of("score.scaled"),
        of("score.raw"),
        of("score.min"),
        of("score.max"),
        of("progress_measure"),
        of("description"),
    ]
}

/// Returns a list as JSON, or nothing if it is empty.
fn listed(all: &[&str]) -> Option<String> {
    let some: Vec<_> = all.iter().take(LISTED_MAX).map(|text| cell_text(text)).collect();
    (!some.is_empty()).then(|| serde_json::Value::from(some).to_string())
}

/// Returns a text as a row has it: its beginning. PostgreSQL keeps no character 0.
fn cell_text(text: &str) -> String {
    let shown = text.chars().take(CHARS_MAX);
    shown.map(|letter| if letter == '\0' { char::REPLACEMENT_CHARACTER } else { letter }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(attempts: u32, values: &[(&str, &str)]) -> ActivityState {
        let cmi = values.iter().map(|(name, value)| ((*name).into(), (*value).into()));
        ActivityState { attempts, cmi: cmi.collect(), ..ActivityState::default() }
    }

    /// The statements that lead from one state to another, each with the number of its row.
    fn led(before: &ActivityState, after: &ActivityState, has_ended: bool) -> Vec<(String, i64)> {
        let key = ["r".into(), 0.into(), "a".into()];
        let writes = Items::of(after).writes(&Items::of(before), &key, has_ended);
        let shown = writes.into_iter().map(|write| {
            let Write::Rows(_, sql) = write else { panic!("{write:?}") };
            let words: Vec<_> = sql.text.split_whitespace().take(3).collect();
            (words.join(" "), sql.arguments[5].as_integer().unwrap())
        });
        shown.collect()
    }

    #[test]
    fn only_rows_that_change_are_written() {
        let first = [
            ("cmi.interactions.0.id", "q1"),
            ("cmi.interactions.0.result", "correct"),
            ("cmi.interactions.1.id", "q2"),
            ("cmi.objectives.0.id", "o1"),
        ];
        let more = [&first[..], &[("cmi.interactions.1.result", "wrong")]].concat();
        let (insert, delete) = ("INSERT INTO course_interaction", "DELETE FROM course_interaction");
        for (before, after, has_ended, wanted) in [
            (state(1, &first), state(1, &first), false, vec![]),
            (state(1, &first), state(1, &more), false, vec![(insert, 1)]),
            (state(1, &more[..4]), state(1, &more[3..4]), false, vec![(delete, 0), (delete, 1)]),
            // The rows of an attempt that has ended stay, and the next one has its own.
            (state(1, &first), state(2, &first[..1]), true, vec![(insert, 0)]),
        ] {
            let found = led(&before, &after, has_ended);

            let wanted: Vec<_> = wanted.iter().map(|(text, at)| ((*text).into(), *at)).collect();
            assert_eq!(found, wanted);
        }
    }

    #[test]
    fn both_versions_of_scorm_have_the_same_words_and_no_text_that_a_database_refuses() {
        let long = "x".repeat(5_000);
        let old =
            [("id", "q"), ("student_response", "a\0b"), ("result", "wrong"), ("time", "10:00:00")];
        let new = [
            ("id", "q"),
            ("learner_response", "a\0b"),
            ("result", "incorrect"),
            ("timestamp", "10:00:00"),
        ];

        let cells = interaction(&old.into());

        assert_eq!(cells, interaction(&new.into()));
        assert_eq!(cells[2].as_deref(), Some("a\u{fffd}b"));
        assert_eq!(cells[3].as_deref(), Some("incorrect"));
        let entry = [
            ("correct_responses.10.pattern", "z"),
            ("correct_responses.9.pattern", "a\"b"),
            ("description", long.as_str()),
        ];
        let cells = interaction(&entry.into());
        assert_eq!(cells[0].as_deref(), Some(""));
        assert_eq!(cells[8].as_deref(), Some(r#"["a\"b","z"]"#));
        assert_eq!(cells[9].as_ref().map(String::len), Some(CHARS_MAX));
        for (entry, words) in [
            ([("status", "passed"), ("id", "o")], ("PASSED", "COMPLETED")),
            (
                [("success_status", "failed"), ("completion_status", "incomplete")],
                ("FAILED", "INCOMPLETE"),
            ),
        ] {
            let cells = objective(&entry.into());
            assert_eq!((cells[1].as_deref(), cells[2].as_deref()), (Some(words.0), Some(words.1)));
        }
    }

    #[test]
    fn interactions_of_several_sessions_at_one_place_have_a_row_each() {
        let mut state =
            state(3, &[("cmi.interactions.0.id", "q9"), ("cmi.interactions.5000.id", "q")]);
        let values = |id: &str| [("cmi.interactions.0.id".to_owned(), id.to_owned())].into();
        state.beside = [(1, values("q1")), (2, values("q9")), (3, values("q3"))].into();
        let past = crate::run_time::Spell { is_past: true, ..Default::default() };
        state.sessions = [(3, past)].into();

        let found = Items::of(&state);

        let shown: Vec<_> = found
            .0
            .iter()
            .map(|(at, cells)| (at.attempt, at.session, at.number, cells[0].as_deref()))
            .collect();
        assert_eq!(shown, [(LATE, 3, 0, Some("q3")), (3, 0, 0, Some("q9")), (3, 1, 0, Some("q1"))]);
    }
}
