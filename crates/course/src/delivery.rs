//! Sends notices: the jobs that tell receivers what is the case.

use homeroom_jobs::{Failed, Job, Running, State};
use serde_json::{Value, json};

use crate::courses::Courses;
use crate::error::Error;
use crate::import::{Import, made, status_of};
use crate::message::{Receiver, Unposted};
use crate::notice::{COURSE_IMPORT, Notice, POST_BACK, names};
use crate::report::{Attempts, moment, report};

/// What is to be sent, and to whom.
struct Ready {
    receiver: Receiver,
    content: Value,
}

impl From<Error> for Unposted {
    fn from(error: Error) -> Self {
        Self { is_final: false, why: error.to_string() }
    }
}

impl From<Unposted> for Failed {
    fn from(unposted: Unposted) -> Self {
        if unposted.is_final { Self::ForGood(unposted.why) } else { Self::Again(unposted.why) }
    }
}

impl Courses {
    /// Sends a notice. What nobody wants any more is not sent.
    pub(crate) async fn deliver(&self, job: &Running, now: i64) -> Result<Value, Failed> {
        let Some(id) = job.input["notice"].as_str() else {
            return Err(Failed::ForGood("the job cannot be read".into()));
        };
        let done = self.delivered(id, now).await.map_err(Failed::from)?;
        Ok(done)
    }

    async fn delivered(&self, id: &str, now: i64) -> Result<Value, Unposted> {
        let Some(notice) = self.take_notice(id, now).await? else {
            return Ok(json!({ "sent": false, "why": "what it was about has been removed" }));
        };
        let Some(ready) = self.ready(id, &notice, now).await? else {
            self.drop_notice(id).await?;
            return Ok(json!({ "sent": false, "why": "nobody wants it any more" }));
        };
        let client = self.posting().map_err(|error| Unposted {
            is_final: false,
            why: format!("there is no client for requests: {error}"),
        })?;
        let secret = self.signing_secret(now).await?;
        let status = ready.receiver.post(&client, (id, now), &secret, &ready.content).await?;
        self.drop_notice(id).await?;
        Ok(json!({ "sent": true, "status": status }))
    }

    /// Returns what is to be sent by now, or nothing if nobody wants it.
    async fn ready(&self, id: &str, notice: &Notice, now: i64) -> Result<Option<Ready>, Unposted> {
        let subscription = if notice.target == POST_BACK {
            None
        } else {
            let found = self.subscription(&notice.target).await?;
            let Some(found) = found.filter(|found| found.definition.enabled) else {
                return Ok(None);
            };
            Some(found)
        };
        let own = subscription.as_ref().map(|found| Receiver::of_subscription(&found.definition));
        let found = if notice.topic == COURSE_IMPORT {
            self.of_import(notice, own).await?
        } else {
            self.of_registration(notice, own, now).await?
        };
        Ok(found.map(|Ready { receiver, content }| {
            if subscription.is_none() {
                return Ready { receiver, content };
            }
            let content = json!({
                "messageId": id,
                "topic": notice.topic,
                "subtopics": names(notice.changes),
                "timestamp": moment(notice.created),
                "body": content,
            });
            Ready { receiver, content }
        }))
    }

    async fn of_registration(
        &self,
        notice: &Notice,
        own: Option<Receiver>,
        now: i64,
    ) -> Result<Option<Ready>, Error> {
        let registration = match self.registration(&notice.subject, Some(notice.instance)).await {
            Ok(registration) => registration,
            Err(Error::Unknown(_)) => return Ok(None),
            Err(error) => return Err(error),
        };
        let version = self.version(&registration.course, registration.version, now).await?;
        let mut levels = vec![("registration", registration.settings.clone())];
        levels.extend(self.levels_of(&version, now).await?);
        let Some(receiver) = own.or_else(|| Receiver::of_settings(&levels)) else {
            return Ok(None);
        };
        let learner = self.learner(&registration.learner).await?;
        let states = self.states(&registration.id, registration.instance).await?;
        let detail = receiver.format.detail();
        let ended = self.ended_attempts(&registration.id, registration.instance).await?;
        let attempts = Attempts { states: &states, ended: &ended };
        let shown = report(&registration, &version, learner.as_ref(), attempts, detail);
        let content = receiver.format.cut(shown);
        Ok(Some(Ready { receiver, content }))
    }

    async fn of_import(
        &self,
        notice: &Notice,
        own: Option<Receiver>,
    ) -> Result<Option<Ready>, Unposted> {
        let job = match self.import_job(&notice.subject).await {
            Ok(job) => job,
            Err(Error::Unknown(_)) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        if matches!(job.state, State::Queued | State::Running) {
            return Err(Unposted { is_final: false, why: "the import has not ended yet".into() });
        }
        let named = || {
            let import: Import = serde_json::from_value(job.input.clone()).ok()?;
            Some(Receiver::of_url(&import.postback?))
        };
        let Some(receiver) = own.or_else(named) else { return Ok(None) };
        Ok(Some(Ready { receiver, content: ended(&job) }))
    }
}

/// Returns what is told of an import that has ended.
fn ended(job: &Job) -> Value {
    let message = job.error.clone().unwrap_or_else(|| "The course was imported.".into());
    let mut shown =
        json!({ "jobId": job.id.to_string(), "status": status_of(job), "message": message });
    if let Some((course, version, warnings)) = made(job) {
        shown["importResult"] =
            json!({ "parserWarnings": warnings, "course": { "id": course, "version": version } });
    }
    shown
}
