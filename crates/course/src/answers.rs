//! What all learners of a course have answered.

use std::collections::BTreeMap;

use homeroom_store::Value as Cell;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::courses::Courses;
use crate::error::Error;
use crate::row::{Columns, Row};
use crate::sql;

/// Most different responses to an interaction that are told: the most frequent ones.
const RESPONSES_MAX: usize = 20;
/// Most characters of a response that are told.
const RESPONSE_CHARS_MAX: i64 = 250;
/// Most characters of an activity's id and of another one that a position has.
const BEGINNING_CHARS_MAX: usize = 250;

/// Some of the interactions and objectives of a course.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Answers {
    pub(crate) interactions: Vec<Value>,
    pub(crate) objectives: Vec<Value>,
    /// Where the others begin.
    pub(crate) next: Option<Position>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, Serialize)]
enum Part {
    #[default]
    Interactions,
    Objectives,
}

/// Where some interactions or objectives begin. Ids may be long, and a position has only their beginnings; so it
/// counts those from there on that were told before.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, Serialize)]
pub(crate) struct Position {
    part: Part,
    activity: String,
    id: String,
    told: usize,
}

impl Courses {
    /// Returns how at most so many interactions and objectives of a course went, from a position on, over all its
    /// registrations, instances and attempts.
    ///
    /// # Errors
    ///
    /// [`Error::BeingPrepared`] until all that an older Homeroom has saved has its rows.
    pub(crate) async fn answers(
        &self,
        course: &str,
        from: Position,
        most: usize,
    ) -> Result<Answers, Error> {
        self.course(course).await?;
        if self.is_carrying().await? {
            return Err(Error::BeingPrepared);
        }
        let (mut from, mut interactions) = (from, vec![]);
        if from.part == Part::Interactions {
            let next;
            (interactions, next) = self.interactions(course, &from, most).await?;
            if next.is_some() {
                return Ok(Answers { interactions, objectives: vec![], next });
            }
            from = Position { part: Part::Objectives, ..Position::default() };
        }
        let room = most.saturating_sub(interactions.len());
        let (objectives, next) = self.objectives(course, &from, room).await?;
        Ok(Answers { interactions, objectives, next })
    }

    async fn interactions(
        &self,
        course: &str,
        from: &Position,
        most: usize,
    ) -> Result<(Vec<Value>, Option<Position>), Error> {
        let rows = self.scan(sql::INTERACTIONS_OF_COURSE, from.arguments(course, most)).await?;
        let (mut shown, next) = from.page(&rows, most, |row| {
            let mut row = Columns::of(row, "an interaction");
            Ok(json!({
                "activity": row.text()?, "id": row.text()?, "type": row.some_text()?,
                "count": row.number()?, "learners": row.number()?, "correct": row.number()?,
                "incorrect": row.number()?,
            }))
        })?;
        let mut responses = self.responses(course, &shown).await?;
        for one in &mut shown {
            let (activity, id) = key(one);
            let most = responses.remove(&(activity.to_owned(), id.to_owned()));
            one["responses"] = most.unwrap_or_default().into();
        }
        Ok((shown, next))
    }

    /// Returns the most frequent responses to interactions, by their activities and ids.
    async fn responses(
        &self,
        course: &str,
        interactions: &[Value],
    ) -> Result<BTreeMap<(String, String), Vec<Value>>, Error> {
        let mut all: BTreeMap<_, Vec<Value>> = BTreeMap::new();
        let (Some(first), Some(last)) = (interactions.first(), interactions.last()) else {
            return Ok(all);
        };
        let mut arguments = vec![course.into(), number(interactions.len() * RESPONSES_MAX)];
        for (activity, id) in [key(first), key(last)] {
            arguments.extend([activity.into(), id.into()]);
        }
        arguments.extend([number(RESPONSES_MAX), RESPONSE_CHARS_MAX.into()]);
        for row in self.scan(sql::RESPONSES_OF_COURSE, arguments).await? {
            let mut row = Columns::of(&row, "an interaction");
            let key = (row.text()?, row.text()?);
            let (response, chars) = (row.some_text()?, row.some_number()?);
            let mut shown = json!({
                "response": response, "result": row.some_text()?, "count": row.number()?,
            });
            if chars > Some(RESPONSE_CHARS_MAX) {
                shown["isCut"] = true.into();
            }
            all.entry(key).or_default().push(shown);
        }
        Ok(all)
    }

    async fn objectives(
        &self,
        course: &str,
        from: &Position,
        most: usize,
    ) -> Result<(Vec<Value>, Option<Position>), Error> {
        let rows = self.scan(sql::OBJECTIVES_OF_COURSE, from.arguments(course, most)).await?;
        from.page(&rows, most, |row| {
            let mut row = Columns::of(row, "an objective");
            Ok(json!({
                "activity": row.text()?, "id": row.text()?, "count": row.number()?,
                "learners": row.number()?, "passed": row.number()?, "failed": row.number()?,
                "completed": row.number()?,
            }))
        })
    }
}

impl Answers {
    /// Returns what an answer tells, without the way to the others.
    pub(crate) fn shown(self, course: &str) -> Value {
        let Self { interactions, objectives, .. } = self;
        json!({ "course": course, "interactions": interactions, "objectives": objectives })
    }
}

impl Position {
    /// Returns the arguments of a statement that reads at most so many from here on, and one by which it is seen
    /// that there are more.
    fn arguments(&self, course: &str, most: usize) -> Vec<Cell> {
        let (activity, id) = (self.activity.as_str().into(), self.id.as_str().into());
        vec![course.into(), number(most.saturating_add(1)), activity, id, number(self.told)]
    }

    /// Returns what at most so many rows tell, and the position after them if there are more.
    fn page(
        &self,
        rows: &[Row],
        most: usize,
        of: impl Fn(&Row) -> Result<Value, Error>,
    ) -> Result<(Vec<Value>, Option<Self>), Error> {
        let shown = rows.iter().take(most).map(of).collect::<Result<Vec<_>, _>>()?;
        let next = (rows.len() > most).then(|| {
            let keys: Vec<_> = shown.iter().map(key).collect();
            self.after(&keys)
        });
        Ok((shown, next))
    }

    /// Returns the position after those that were told from here on: activities and ids, in their order.
    fn after(&self, told: &[(&str, &str)]) -> Self {
        let Some(&(activity, id)) = told.last() else { return self.clone() };
        let beginning = |text: &str| text.chars().take(BEGINNING_CHARS_MAX).collect::<String>();
        // Another activity may begin with all of it.
        let is_long = activity.chars().nth(BEGINNING_CHARS_MAX - 1).is_some();
        let id = if is_long { String::new() } else { beginning(id) };
        let activity = beginning(activity);
        let is_from_there = |other: &&(&str, &str)| {
            if is_long {
                other.0.starts_with(&activity)
            } else {
                other.0 == activity && other.1.starts_with(&id)
            }
        };
        let mut count = told.iter().rev().take_while(is_from_there).count();
        if count == told.len() && (&self.activity, &self.id) == (&activity, &id) {
            count += self.told;
        }
        Self { part: self.part, activity, id, told: count }
    }
}

/// Returns the activity and the id of what is told.
fn key(of: &Value) -> (&str, &str) {
    let text = |name: &str| of[name].as_str().unwrap_or_default();
    (text("activity"), text("id"))
}

fn number(count: usize) -> Cell {
    i64::try_from(count).unwrap_or(i64::MAX).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the store finds from a position on.
    fn found<'k>(all: &'k [(String, String)], from: &Position) -> Vec<(&'k str, &'k str)> {
        let place = (from.activity.as_str(), from.id.as_str());
        let keys = all.iter().map(|(activity, id)| (activity.as_str(), id.as_str()));
        keys.filter(|key| *key >= place).skip(from.told).collect()
    }

    #[test]
    fn pages_tell_each_once_however_long_the_ids_are() {
        let (edge, long) = ("a".repeat(BEGINNING_CHARS_MAX), "a".repeat(2_000));
        let longer = format!("{long}b");
        let names = ["", "a", "b", "q1", "q10", "q2", &edge, &edge[1..], &long, &longer];
        let each = |activity: &str| names.map(|id| (activity.to_owned(), id.to_owned()));
        let mut all: Vec<_> = names.into_iter().flat_map(each).collect();
        all.sort();

        for most in 1..=all.len() {
            let (mut from, mut told) = (Position::default(), Vec::<(String, String)>::new());
            loop {
                let mut page = found(&all, &from);
                let has_more = page.len() > most;
                page.truncate(most);
                let owned = page.iter().map(|(activity, id)| ((*activity).into(), (*id).into()));
                told.extend(owned);
                if !has_more {
                    break;
                }
                from = from.after(&page);
                assert!(from.activity.len() + from.id.len() <= 2 * BEGINNING_CHARS_MAX);
            }

            assert!(told == all, "{most} a page");
        }
    }
}
