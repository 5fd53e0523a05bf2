//! What all learners of a course have answered.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::courses::Courses;
use crate::error::Error;
use crate::row::Columns;
use crate::sql;

/// Most interactions, and most objectives, of a course that are told.
const ITEMS_MAX: i64 = 10_000;
/// Most different responses to an interaction that are told: the most frequent ones.
const RESPONSES_MAX: i64 = 20;

impl Courses {
    /// Returns how the interactions and objectives of a course went, over all its registrations, instances and
    /// attempts.
    pub(crate) async fn answers(&self, course: &str) -> Result<Value, Error> {
        self.course(course).await?;
        self.carry_items().await?;
        let arguments = || vec![course.into(), ITEMS_MAX.into()];
        let mut more = arguments();
        more[1] = (ITEMS_MAX * RESPONSES_MAX).into();
        more.push(RESPONSES_MAX.into());
        let mut responses: BTreeMap<(String, String), Vec<Value>> = BTreeMap::new();
        for row in self.list(sql::RESPONSES_OF_COURSE, more).await? {
            let mut row = Columns::of(&row, "an interaction");
            let key = (row.text()?, row.text()?);
            let (response, result) = (row.some_text()?, row.some_text()?);
            let shown = json!({ "response": response, "result": result, "count": row.number()? });
            responses.entry(key).or_default().push(shown);
        }
        let mut interactions = vec![];
        for row in self.list(sql::INTERACTIONS_OF_COURSE, arguments()).await? {
            let mut row = Columns::of(&row, "an interaction");
            let (activity, id) = (row.text()?, row.text()?);
            let kind = row.some_text()?;
            let (count, learners) = (row.number()?, row.number()?);
            let (correct, incorrect) = (row.number()?, row.number()?);
            let most = responses.remove(&(activity.clone(), id.clone())).unwrap_or_default();
            interactions.push(json!({
                "activity": activity, "id": id, "type": kind, "count": count, "learners": learners,
                "correct": correct, "incorrect": incorrect, "responses": most,
            }));
        }
        let mut objectives = vec![];
        for row in self.list(sql::OBJECTIVES_OF_COURSE, arguments()).await? {
            let mut row = Columns::of(&row, "an objective");
            objectives.push(json!({
                "activity": row.text()?, "id": row.text()?, "count": row.number()?,
                "learners": row.number()?, "passed": row.number()?, "failed": row.number()?,
                "completed": row.number()?,
            }));
        }
        Ok(json!({ "course": course, "interactions": interactions, "objectives": objectives }))
    }
}
