//! What operators do with jobs: requests of commands as values, and their answers.

use homeroom_store::{Answer, ChangedAt, Decision, Plan, Sql, Write};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::error::JobError;
use crate::job::{Job, JobId, State};
use crate::jobs::Jobs;
use crate::outcome::{end, requeue};
use crate::row::LANE;
use crate::{row, sql};

/// Most jobs of one list.
pub const LIST_MAX: u32 = 1_000;

/// A request of `homeroom jobs`.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(tag = "jobs", rename_all = "kebab-case")]
pub enum JobsRequest {
    /// Lists jobs from the newest on.
    List {
        /// Only those of this kind.
        #[serde(default)]
        kind: Option<String>,
        /// Only those of this owner.
        #[serde(default)]
        owner: Option<String>,
        /// Only those in this state.
        #[serde(default)]
        state: Option<State>,
        /// Only those that are older than this one.
        #[serde(default)]
        before: Option<JobId>,
        /// Most jobs of the list.
        limit: u32,
    },
    /// Shows a job with its input and its result.
    Show {
        /// The job.
        id: JobId,
    },
    /// Sends a dead or cancelled job again, with all its attempts.
    Retry {
        /// The job.
        id: JobId,
    },
    /// Cancels a job that has not ended.
    Cancel {
        /// The job.
        id: JobId,
    },
}

impl Jobs {
    /// Does what a command asks.
    ///
    /// # Errors
    ///
    /// [`JobError::Unknown`], [`JobError::Unfit`], or the store's.
    pub async fn manage(&self, asked: JobsRequest, now: ChangedAt) -> Result<Value, JobError> {
        match asked {
            JobsRequest::List { kind, owner, state, before, limit } => {
                let before = before.map_or_else(|| "g".to_owned(), |id| id.to_string());
                let arguments = vec![
                    kind.unwrap_or_default().into(),
                    owner.unwrap_or_default().into(),
                    state.map_or("", State::name).into(),
                    before.into(),
                    i64::from(limit.clamp(1, LIST_MAX)).into(),
                ];
                let rows = self.store.query(Sql::new(sql::LIST, arguments)).await?;
                let jobs: Result<Vec<_>, _> =
                    rows.iter().map(|row| row::job(row).map(|job| shown(&job))).collect();
                Ok(jobs?.into())
            }
            JobsRequest::Show { id } => {
                let job = self.find(id).await?.ok_or(JobError::Unknown(id))?;
                Ok(shown_whole(&job))
            }
            JobsRequest::Retry { id } => {
                let job = self.retry(id, now).await?;
                Ok(shown(&job))
            }
            JobsRequest::Cancel { id } => {
                let job = self.cancel(id, now).await?;
                Ok(shown(&job))
            }
        }
    }

    /// Sends a dead or cancelled job again, with all its attempts. Returns it as it was.
    ///
    /// # Errors
    ///
    /// [`JobError::Unknown`], [`JobError::Unfit`], or the store's.
    pub async fn retry(&self, id: JobId, now: ChangedAt) -> Result<Job, JobError> {
        let job = self
            .change(id, move |job| match job.state {
                State::Dead | State::Cancelled => Ok(requeue(job, 0, None, now, now)),
                state @ (State::Queued | State::Running | State::Done) => Err(JobError::Unfit {
                    id: job.id,
                    state,
                    mend: "only a dead or cancelled job can be sent again",
                }),
            })
            .await?;
        self.wake();
        Ok(job)
    }

    /// Cancels a job: a queued one at once, a running one when its node notices. Returns it as it
    /// was.
    ///
    /// # Errors
    ///
    /// [`JobError::Unknown`], [`JobError::Unfit`], or the store's.
    pub async fn cancel(&self, id: JobId, now: ChangedAt) -> Result<Job, JobError> {
        let limits = self.limits;
        let job = self
            .change(id, move |job| match job.state {
                State::Queued => {
                    Ok(end(job, State::Cancelled, None, job.error.clone(), &limits, now))
                }
                State::Running => {
                    let arguments = vec![job.id.to_string().into(), now.0.into()];
                    Ok(row::write(LANE.rows(job.id), sql::UNWANT, arguments))
                }
                state @ (State::Done | State::Dead | State::Cancelled) => {
                    Err(JobError::Unfit { id: job.id, state, mend: "it has ended already" })
                }
            })
            .await?;
        self.signals.cancelled.notify_one();
        Ok(job)
    }

    /// Changes a job, as a function of what it is. Returns what it was.
    async fn change(
        &self,
        id: JobId,
        change: impl Fn(&Job) -> Result<Write, JobError> + Clone + Send + 'static,
    ) -> Result<Job, JobError> {
        let ask = vec![row::ask(id)];
        let decide = move |found: Vec<Answer>| {
            let found = row::found(found.into_iter().next());
            let job = match found {
                Ok(Some(job)) => job,
                Ok(None) => return Decision::Refuse(JobError::Unknown(id)),
                Err(error) => return Decision::Refuse(error.into()),
            };
            match change(&job) {
                Ok(write) => Decision::Write(vec![write], job),
                Err(error) => Decision::Refuse(error),
            }
        };
        self.run(Plan { ask, decide }).await
    }
}

/// Returns a job as a list shows it: without its input and result.
fn shown(job: &Job) -> Value {
    let mut shown = json!({
        "id": job.id,
        "kind": job.kind,
        "owner": job.owner,
        "state": job.state,
        "attempts": job.attempts,
        "created": job.created.to_string(),
        "changed": job.changed.to_string(),
    });
    match job.state {
        State::Queued => shown["notBefore"] = job.due.to_string().into(),
        State::Running => {
            shown["node"] = job.node.clone().into();
            shown["leaseUntil"] = job.due.to_string().into();
        }
        State::Done | State::Dead | State::Cancelled => {
            shown["ended"] = job.due.to_string().into();
            shown["expires"] = job.expires.map(|moment| moment.to_string()).into();
        }
    }
    if job.is_unwanted {
        shown["isBeingCancelled"] = true.into();
    }
    if let Some(progress) = &job.progress {
        shown["progress"] = json!(progress);
    }
    if let Some(error) = &job.error {
        shown["error"] = error.as_str().into();
    }
    shown
}

fn shown_whole(job: &Job) -> Value {
    let mut shown = shown(job);
    shown["input"] = job.input.clone();
    if let Some(result) = &job.result {
        shown["result"] = result.clone();
    }
    shown
}
