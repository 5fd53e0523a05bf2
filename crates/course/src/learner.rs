//! Learners.

use homeroom_store::Write;

use crate::courses::Courses;
use crate::error::Error;
use crate::row::{Columns, Row, write};
use crate::sql;
use crate::tags::clean;

/// A learner.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Learner {
    pub(crate) id: String,
    pub(crate) first_name: String,
    pub(crate) last_name: String,
    pub(crate) email: String,
    pub(crate) tags: Vec<String>,
}

impl Learner {
    pub(crate) fn of(row: &Row) -> Result<Self, Error> {
        let mut row = Columns::of(row, "a learner");
        Ok(Self {
            id: row.text()?,
            first_name: row.text()?,
            last_name: row.text()?,
            email: row.text()?,
            tags: row.json()?,
        })
    }

    /// Returns the write that adds it, or replaces what is known of it.
    pub(crate) fn put(&self, now: i64) -> Write {
        let tags = crate::tags::column(&self.tags);
        let arguments = vec![
            self.id.as_str().into(),
            self.first_name.as_str().into(),
            self.last_name.as_str().into(),
            self.email.as_str().into(),
            tags.into(),
            now.into(),
        ];
        write(sql::LEARNER_PUT, arguments)
    }
}

/// A learner as somebody names it: what is not said stays as it is known.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct NamedLearner {
    pub(crate) id: String,
    pub(crate) first_name: Option<String>,
    pub(crate) last_name: Option<String>,
    pub(crate) email: Option<String>,
    /// Tags that are added to those it has.
    pub(crate) tags: Vec<String>,
}

impl NamedLearner {
    /// Returns the learner, with what is known of it where nothing is said.
    ///
    /// # Errors
    ///
    /// Where it would have too many tags.
    pub(crate) fn joined(self, known: Option<Learner>) -> Result<Learner, Error> {
        let known = known.unwrap_or_default();
        Ok(Learner {
            id: self.id,
            first_name: self.first_name.unwrap_or(known.first_name),
            last_name: self.last_name.unwrap_or(known.last_name),
            email: self.email.unwrap_or(known.email),
            tags: clean([known.tags, self.tags].concat())?,
        })
    }
}

impl Courses {
    /// Finds a learner.
    pub(crate) async fn learner(&self, id: &str) -> Result<Option<Learner>, Error> {
        let row = self.row(sql::LEARNER, vec![id.into()]).await?;
        row.as_ref().map(Learner::of).transpose()
    }
}
