//! Notices: changes that somebody is to be told of. A notice is written in the transaction of its
//! change, so none is lost; a job sends it, with what is the case by then.

use homeroom_client::Url;
use homeroom_jobs::{NewJob, Prepared};
use homeroom_store::{Answer, ChangedAt, Decision, Plan, Sql, Uuid, Write};
use serde_json::json;

use crate::courses::Courses;
use crate::error::Error;
use crate::row::{Columns, Row, read, rows_of, write};
use crate::sql;

/// The topic of a registration's changes.
pub(crate) const REGISTRATION_CHANGED: &str = "RegistrationChanged";
/// The topic of imports that have ended.
pub(crate) const COURSE_IMPORT: &str = "CourseImport";
/// The target that is no subscription: what the registration or the import names itself.
pub(crate) const POST_BACK: &str = "postback";
/// The kind of the jobs that send notices.
pub(crate) const POST: &str = "course-post";

/// Notices of a receiver that are queued in one go.
const QUEUED_MAX: i64 = 200;
/// Receivers whose notices are queued in one go.
const RECEIVERS_MAX: i64 = 1_000;
/// Most characters of a receiver's name.
const RECEIVER_CHARS_MAX: usize = 200;

/// A change, as a bit and as a subtopic.
pub(crate) const CHANGES: [(i64, &str); 6] = [
    (1, "CompletionChanged"),
    (2, "SuccessChanged"),
    (4, "ScoreChanged"),
    (8, "SessionEnded"),
    (16, "Success"),
    (32, "Failed"),
];

/// Returns the bit of a change.
pub(crate) fn bit(subtopic: &str) -> i64 {
    CHANGES.iter().find(|(_, name)| *name == subtopic).map_or(0, |(bit, _)| *bit)
}

/// Returns the names of changes.
pub(crate) fn names(changes: i64) -> Vec<&'static str> {
    CHANGES.iter().filter(|(bit, _)| changes & bit != 0).map(|(_, name)| *name).collect()
}

/// A notice that is to be written.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct NewNotice {
    /// A subscription, or [`POST_BACK`].
    pub(crate) target: String,
    pub(crate) topic: &'static str,
    /// The registration with its instance, or the job of an import.
    pub(crate) subject: (String, i64),
    pub(crate) changes: i64,
    /// The host to which it goes.
    pub(crate) receiver: String,
}

impl NewNotice {
    /// Returns the write that adds it, or that adds its changes to one that is not being sent yet.
    pub(crate) fn write(&self, now: i64) -> Write {
        let arguments = vec![
            self.target.as_str().into(),
            self.topic.into(),
            self.subject.0.as_str().into(),
            self.subject.1.into(),
            Uuid::new().to_string().into(),
            self.changes.into(),
            now.into(),
            self.receiver.as_str().into(),
        ];
        write(sql::NOTICE_ADD, arguments)
    }
}

/// Returns the host of a URL, short enough for the owner of a job.
pub(crate) fn receiver(url: &str) -> String {
    let host = Url::parse(url).map(|url| url.origin().host.clone()).unwrap_or_default();
    host.chars().take(RECEIVER_CHARS_MAX).collect()
}

/// A notice as it is stored.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Notice {
    pub(crate) target: String,
    pub(crate) topic: String,
    /// The registration, or the job of an import.
    pub(crate) subject: String,
    pub(crate) instance: i64,
    pub(crate) changes: i64,
    pub(crate) created: i64,
    job: Option<String>,
}

impl Notice {
    fn of(row: &Row) -> Result<Self, Error> {
        let mut row = Columns::of(row, "a notice");
        Ok(Self {
            target: row.text()?,
            topic: row.text()?,
            subject: row.text()?,
            instance: row.number()?,
            changes: row.number()?,
            created: row.number()?,
            job: row.some_text()?,
        })
    }
}

impl Courses {
    /// Waits until there may be notices without a job.
    pub async fn noticed(&self) {
        self.noticed.notified().await;
    }

    /// Queues a job for each notice that has none. Returns how many.
    ///
    /// Where too many jobs of a receiver are waiting, its others are queued at a later call.
    ///
    /// # Errors
    ///
    /// The store's own.
    pub async fn queue_notices(&self, now: ChangedAt) -> Result<usize, Error> {
        let mut count = 0;
        for row in self.list(sql::RECEIVERS_WAITING, vec![RECEIVERS_MAX.into()]).await? {
            let receiver = Columns::of(&row, "a notice").text()?;
            let mut has_room = true;
            while has_room {
                let arguments = vec![receiver.as_str().into(), QUEUED_MAX.into()];
                let rows = self.list(sql::NOTICES_WAITING, arguments).await?;
                has_room = !rows.is_empty();
                for row in &rows {
                    let id = Columns::of(row, "a notice").text()?;
                    let owner = format!("{POST} {receiver}");
                    let job = NewJob::new(POST, &owner, json!({ "notice": id }));
                    let job = self.jobs.prepare(job, now)?;
                    if !self.queue_notice(id, job).await? {
                        has_room = false;
                        break;
                    }
                    count += 1;
                    self.jobs.wake();
                }
            }
        }
        Ok(count)
    }

    /// Queues the job of a notice, unless it has one by now. Returns whether there was room.
    async fn queue_notice(&self, id: String, job: Prepared) -> Result<bool, Error> {
        let ask = vec![read(sql::NOTICE, vec![id.as_str().into()]), job.ask()];
        let decide = move |found: Vec<Answer>| -> Decision<bool, Error> {
            let mut found = found.into_iter();
            let known = rows_of(found.next());
            match known.first().map(Notice::of).transpose() {
                Err(error) => Decision::Refuse(error),
                Ok(None | Some(Notice { job: Some(_), .. })) => Decision::Write(vec![], true),
                Ok(Some(_)) => match job.write(found.next()) {
                    Err(homeroom_jobs::JobError::Full { .. }) => Decision::Write(vec![], false),
                    Err(error) => Decision::Refuse(error.into()),
                    Ok(add) => {
                        let arguments = vec![id.as_str().into(), job.id().to_string().into()];
                        Decision::Write(vec![add, write(sql::NOTICE_QUEUED, arguments)], true)
                    }
                },
            }
        };
        self.run(Plan { ask, decide }).await
    }

    /// Takes a notice to be sent: later changes get one of their own.
    pub(crate) async fn take_notice(&self, id: &str, now: i64) -> Result<Option<Notice>, Error> {
        let ask = Sql::new(sql::NOTICE, vec![id.into()]);
        let own = id.to_owned();
        self.change(ask, move |row| {
            let Some(found) = row.map(Notice::of).transpose()? else { return Ok((vec![], None)) };
            let begun = write(sql::NOTICE_BEGUN, vec![own.as_str().into(), now.into()]);
            Ok((vec![begun], Some(found)))
        })
        .await
    }

    /// Removes a notice that was sent, or that nobody wants any more.
    pub(crate) async fn drop_notice(&self, id: &str) -> Result<(), Error> {
        self.write(vec![write(sql::NOTICE_DELETE, vec![id.into()])]).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_are_bits_with_names() {
        assert_eq!(
            names(bit("ScoreChanged") | bit("SessionEnded")),
            ["ScoreChanged", "SessionEnded"]
        );
        assert_eq!(bit("Nothing"), 0);
    }
}
