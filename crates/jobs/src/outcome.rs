//! How an attempt ended, and what becomes of the job.

use std::time::Duration;

use homeroom_store::{ChangedAt, Write};
use serde_json::Value;

use crate::job::{Job, State};
use crate::limits::Limits;
use crate::row::{self, LANE};
use crate::sql;

/// How an attempt ended.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    /// With a result.
    Done(Value),
    /// With a failure, after which it is tried again in a while, or not: [`None`].
    Failed {
        /// Why it failed.
        error: String,
        /// The pause before the next attempt.
        pause: Option<Duration>,
    },
    /// It was given back, and does not count.
    GivenBack,
    /// It was cancelled.
    Cancelled,
}

/// Returns the moment a while after another.
pub(crate) fn after(now: ChangedAt, pause: Duration) -> ChangedAt {
    let micros = i64::try_from(pause.as_micros()).unwrap_or(i64::MAX);
    ChangedAt(now.0.saturating_add(micros))
}

/// Returns the write that ends an attempt at `job`.
pub(crate) fn ending(job: &Job, outcome: &Outcome, limits: &Limits, now: ChangedAt) -> Write {
    let outcome = match outcome {
        // What nobody wants is not tried again.
        Outcome::Failed { pause: Some(_), .. } | Outcome::GivenBack if job.is_unwanted => {
            &Outcome::Cancelled
        }
        outcome => outcome,
    };
    match outcome {
        Outcome::Done(result) => {
            let text = result.to_string();
            let (bytes, bytes_max) = (text.len(), limits.result_bytes_max);
            if bytes > bytes_max {
                let error = format!("its result has {bytes} bytes, and {bytes_max} is the most");
                return end(job, State::Dead, None, Some(error), limits, now);
            }
            end(job, State::Done, Some(text), None, limits, now)
        }
        Outcome::Failed { error, pause: Some(pause) } => {
            let error = Some(limits.cut(error));
            requeue(job, job.attempts, error, after(now, *pause), now)
        }
        Outcome::Failed { error, pause: None } => {
            end(job, State::Dead, None, Some(limits.cut(error)), limits, now)
        }
        Outcome::GivenBack => {
            requeue(job, job.attempts.saturating_sub(1), job.error.clone(), now, now)
        }
        Outcome::Cancelled => end(job, State::Cancelled, None, job.error.clone(), limits, now),
    }
}

/// Returns the write that puts a job back into the queue.
pub(crate) fn requeue(
    job: &Job,
    attempts: u32,
    error: Option<String>,
    due: ChangedAt,
    now: ChangedAt,
) -> Write {
    let arguments = vec![
        job.id.to_string().into(),
        i64::from(attempts).into(),
        error.into(),
        due.0.into(),
        now.0.into(),
    ];
    row::write(LANE.rows(job.id), sql::REQUEUE, arguments)
}

/// Returns the write that ends a job.
pub(crate) fn end(
    job: &Job,
    state: State,
    result: Option<String>,
    error: Option<String>,
    limits: &Limits,
    now: ChangedAt,
) -> Write {
    let kept = if state == State::Dead { limits.dead_kept } else { limits.ended_kept };
    let progress = job.progress.as_ref().and_then(|progress| serde_json::to_string(progress).ok());
    let arguments = vec![
        job.id.to_string().into(),
        state.name().into(),
        result.into(),
        error.into(),
        progress.into(),
        now.0.into(),
        after(now, kept).0.into(),
    ];
    row::write(LANE.rows(job.id), sql::END, arguments)
}
