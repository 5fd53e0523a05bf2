//! Tags of courses, registrations and learners.

use std::collections::{BTreeMap, BTreeSet};

use homeroom_store::{Answer, Ask, Decision, Plan, Write};

use crate::courses::Courses;
use crate::error::Error;
use crate::row::{Columns, read, rows_of, write};
use crate::sql;

/// Most tags of one thing.
const TAGS_MAX: usize = 200;
/// Most characters of a tag.
const TAG_CHARS_MAX: usize = 200;
/// Most things that a refusal names.
const NAMED_MAX: usize = 5;

/// The kinds of things that have tags.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Tagged {
    Course,
    Registration,
    Learner,
}

impl Tagged {
    /// Returns its name, which is also the placeholder of its id in paths.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Course => "course",
            Self::Registration => "registration",
            Self::Learner => "learner",
        }
    }

    fn find(self) -> &'static str {
        match self {
            Self::Course => sql::TAGS_OF_COURSE,
            Self::Registration => sql::TAGS_OF_REGISTRATION,
            Self::Learner => sql::TAGS_OF_LEARNER,
        }
    }

    fn save(self) -> &'static str {
        match self {
            Self::Course => sql::COURSE_TAGS,
            Self::Registration => sql::REGISTRATION_TAGS,
            Self::Learner => sql::LEARNER_TAGS,
        }
    }

    /// Returns the write of tags; none if they are those that are known.
    pub(crate) fn put(self, id: &str, known: &[String], new: &[String], now: i64) -> Option<Write> {
        if known == new {
            return None;
        }
        let arguments = vec![id.into(), column(new).into(), now.into()];
        Some(write(self.save(), arguments))
    }
}

/// Returns a tag as JSON without inner quotation marks, so that each mark in a row begins or ends a tag and a search
/// by text finds whole tags only.
pub(crate) fn in_row(tag: &str) -> String {
    let text = serde_json::Value::from(tag).to_string();
    let inner = text.get(1..text.len() - 1).unwrap_or_default();
    // What begins with a backslash is one of these, or something that has neither.
    let (mut all, mut letters) = (String::from('"'), inner.chars());
    while let Some(letter) = letters.next() {
        match letter {
            '\\' => match letters.next() {
                Some('"') => all.push_str("\\u0022"),
                Some('\\') => all.push_str("\\u005c"),
                other => all.extend(std::iter::once(letter).chain(other)),
            },
            _ => all.push(letter),
        }
    }
    all.push('"');
    all
}

/// Returns tags as a row has them.
pub(crate) fn column(tags: &[String]) -> String {
    let all = tags.iter().map(|tag| in_row(tag)).collect::<Vec<_>>();
    format!("[{}]", all.join(","))
}

/// A change of tags: they are added or taken away.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Change {
    Add,
    Remove,
}

/// Returns tags in order, without duplicates.
///
/// # Errors
///
/// The tags are refused if there are too many, or if one is too long.
pub(crate) fn clean(tags: Vec<String>) -> Result<Vec<String>, Error> {
    let all: BTreeSet<String> =
        tags.into_iter().map(|tag| tag.trim().to_owned()).filter(|tag| !tag.is_empty()).collect();
    let is_long = |tag: &String| tag.chars().count() > TAG_CHARS_MAX || tag.contains(',');
    if all.len() > TAGS_MAX || all.iter().any(is_long) {
        return Err(Error::Invalid(format!(
            "there are at most {TAGS_MAX} tags of {TAG_CHARS_MAX} characters, without commas"
        )));
    }
    Ok(all.into_iter().collect())
}

impl Courses {
    /// Returns the tags of something.
    pub(crate) async fn tags(&self, of: Tagged, id: &str) -> Result<Vec<String>, Error> {
        let row = self.row(of.find(), vec![id.into()]).await?;
        let row = row.ok_or_else(|| unknown(&[(of, id)]))?;
        Columns::of(&row, "tags").json()
    }

    /// Adds tags to things, or takes them away: of all of them, or of none.
    ///
    /// # Errors
    ///
    /// [`Error::Unknown`] names what is not there.
    pub(crate) async fn change_tags(
        &self,
        change: Change,
        things: BTreeMap<(Tagged, String), Vec<String>>,
        now: i64,
    ) -> Result<(), Error> {
        let things: Vec<_> =
            things.into_iter().map(|((of, id), tags)| (of, id, trimmed(tags))).collect();
        let ask = |(of, id, _): &(Tagged, String, _)| read(of.find(), vec![id.as_str().into()]);
        let ask: Vec<Ask> = things.iter().map(ask).collect();
        let decide = move |found: Vec<Answer>| match changed(change, &things, found, now) {
            Ok(writes) => Decision::Write(writes, ()),
            Err(error) => Decision::Refuse(error),
        };
        self.run(Plan { ask, decide }).await
    }
}

fn trimmed(tags: Vec<String>) -> Vec<String> {
    tags.into_iter().map(|tag| tag.trim().to_owned()).collect()
}

fn changed(
    change: Change,
    things: &[(Tagged, String, Vec<String>)],
    found: Vec<Answer>,
    now: i64,
) -> Result<Vec<Write>, Error> {
    let (mut missing, mut writes) = (vec![], vec![]);
    for ((of, id, tags), answer) in things.iter().zip(found) {
        let rows = rows_of(Some(answer));
        let Some(row) = rows.first() else {
            missing.push((*of, id.as_str()));
            continue;
        };
        let known: Vec<String> = Columns::of(row, "tags").json()?;
        let new = match change {
            Change::Add => clean([known.as_slice(), tags.as_slice()].concat())?,
            Change::Remove => known.iter().filter(|tag| !tags.contains(tag)).cloned().collect(),
        };
        writes.extend(of.put(id, &known, &new, now));
    }
    if missing.is_empty() { Ok(writes) } else { Err(unknown(&missing)) }
}

/// Returns the error that names what is not there.
fn unknown(missing: &[(Tagged, &str)]) -> Error {
    let name = |(of, id): &(Tagged, &str)| format!("{} {}", of.name(), crate::shown::shown(id));
    let mut named = missing.iter().take(NAMED_MAX).map(name).collect::<Vec<_>>().join(", ");
    if missing.len() > NAMED_MAX {
        named = format!("{named} and {} more", missing.len() - NAMED_MAX);
    }
    Error::Unknown(named)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_quotation_mark_of_a_row_is_an_end_of_a_tag() {
        let tags = ["x\"y", "a\\", "\\\"", "t\ti", "é"].map(str::to_owned);

        let text = column(&tags);

        assert_eq!(text.matches('"').count(), 2 * tags.len(), "{text}");
        assert_eq!(serde_json::from_str::<Vec<String>>(&text).unwrap(), tags);
        assert!(!text.contains(&in_row("y")));
        assert!(text.contains(&in_row("x\"y")));
    }
}
