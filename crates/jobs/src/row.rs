//! Reads the rows of jobs.

use homeroom_store::{Answer, Ask, ChangedAt, Lane, PartRows, Sql, StoreError, Uuid, Value, Write};

use crate::job::{Job, JobId, State};
use crate::sql;

/// The lane of jobs.
pub(crate) const LANE: Lane = Lane::new("job");

/// Returns the question for a job.
pub(crate) fn ask(id: JobId) -> Ask {
    Ask::Rows(LANE.rows(id), Sql::new(sql::FIND, vec![id.to_string().into()]))
}

/// Returns a write of some rows of jobs.
pub(crate) fn write(rows: PartRows, text: &'static str, arguments: Vec<Value>) -> Write {
    Write::Rows(rows, Sql::new(text, arguments))
}

/// Reads a row of [`crate::sql::FIND`] or [`crate::sql::LIST`].
pub(crate) fn job(row: &[Value]) -> Result<Job, StoreError> {
    read(row).ok_or_else(damaged)
}

fn read(row: &[Value]) -> Option<Job> {
    let [
        id,
        kind,
        owner,
        state,
        input,
        attempts,
        node,
        unwanted,
        progress,
        result,
        error,
        created,
        changed,
        due,
        expires,
    ] = row
    else {
        return None;
    };
    let text = |value: &Value| value.as_text().map(str::to_owned);
    Some(Job {
        id: self::id(id)?,
        kind: text(kind)?,
        owner: text(owner)?,
        state: State::read(state.as_text()?)?,
        input: serde_json::from_str(input.as_text()?).ok()?,
        attempts: u32::try_from(attempts.as_integer()?).ok()?,
        node: text(node),
        is_unwanted: unwanted.as_integer()? != 0,
        // A newer Homeroom may have stored another form; a job is not lost for that.
        progress: progress.as_text().and_then(|text| serde_json::from_str(text).ok()),
        result: result.as_text().and_then(|text| serde_json::from_str(text).ok()),
        error: text(error),
        created: ChangedAt(created.as_integer()?),
        changed: ChangedAt(changed.as_integer()?),
        due: ChangedAt(due.as_integer()?),
        expires: expires.as_integer().map(ChangedAt),
    })
}

/// Reads the id of a job.
pub(crate) fn id(value: &Value) -> Option<JobId> {
    Uuid::read(value.as_text()?).map(JobId)
}

/// Returns the rows of an answer.
pub(crate) fn rows(answer: Option<Answer>) -> Vec<Vec<Value>> {
    match answer {
        Some(Answer::Rows(rows)) => rows,
        _ => vec![],
    }
}

/// Returns the job that [`crate::sql::FIND`] has found.
pub(crate) fn found(answer: Option<Answer>) -> Result<Option<Job>, StoreError> {
    rows(answer).first().map(|row| job(row)).transpose()
}

/// Returns the error for a row that cannot be read.
pub(crate) fn damaged() -> StoreError {
    StoreError::Failed("a row of job is damaged".into())
}
