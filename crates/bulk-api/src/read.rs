//! Answers about operations: their statuses, and the exceptions of their files.

use homeroom_access::Call;
use homeroom_http::{Kind, Problem, Response, json_response};
use homeroom_jobs::State;
use homeroom_store::{ChangedAt, Sql};
use http::StatusCode;
use serde_json::{Value, json};

use crate::end::give_up;
use crate::exceptions::page;
use crate::limits::{LIST_MAX, PAGE, PAGE_MAX};
use crate::operation::{Operation, operation};
use crate::refused::{not_found, of_store};
use crate::service::{BulkService, year};
use crate::sql;

/// Answers with an operation.
pub(crate) async fn get(service: BulkService, call: Call) -> Result<Response, Problem> {
    let mut operation = service.own_operation(&call).await?;
    let now = ChangedAt(call.now.0);
    let mut progress = None;
    if operation.status.is_with_job()
        && let Some(id) = operation.job
    {
        let job = service.jobs.find(id).await.map_err(of_store)?;
        match job {
            Some(job) if !matches!(job.state, State::Dead | State::Cancelled) => {
                progress = job.progress;
            }
            // The job has ended without its operation: its nodes were killed again and again, or
            // somebody has cancelled it.
            _ => {
                give_up(&service, &operation, now).await?;
                operation = service.own_operation(&call).await?;
            }
        }
    }
    let files = service.files(operation.id).await?;
    let mut shown = operation.shown(&files, now);
    if let Some(progress) = progress {
        shown["progress"] =
            json!({ "done": progress.done, "of": progress.of, "text": progress.text });
    }
    Ok(json_response(StatusCode::OK, shown.to_string()))
}

/// Answers with the newest operations of a key in a year, or those with a fingerprint.
pub(crate) async fn list(service: BulkService, call: Call) -> Result<Response, Problem> {
    let year = year(&call).ok_or_else(not_found)?;
    let query = call.query()?;
    let fingerprint = query.get("fingerprint").unwrap_or("");
    let arguments = vec![
        call.client().key.as_str().into(),
        i64::from(year).into(),
        fingerprint.into(),
        LIST_MAX.into(),
    ];
    let rows = service.store().look_up(Sql::new(sql::LIST, arguments)).await.map_err(of_store)?;
    let found: Vec<Operation> =
        rows.iter().map(|row| operation(row)).collect::<Result<_, _>>().map_err(of_store)?;
    let now = ChangedAt(call.now.0);
    let mut shown = vec![];
    for operation in found {
        let files = service.files(operation.id).await?;
        shown.push(operation.shown(&files, now));
    }
    Ok(json_response(StatusCode::OK, Value::from(shown).to_string()))
}

/// Answers with a page of the exceptions of a file.
pub(crate) async fn exceptions(service: BulkService, call: Call) -> Result<Response, Problem> {
    let operation = service.own_operation(&call).await?;
    let (_, file) = service
        .own_file(&call)
        .await?
        .filter(|(of, _)| of.id == operation.id)
        .ok_or_else(not_found)?;
    let query = call.query()?;
    let number = |name: &str, usual: u64, range: std::ops::RangeInclusive<u64>| {
        let sent = query.iter().find(|(own, _)| own.eq_ignore_ascii_case(name));
        let Some((_, value)) = sent else { return Ok(usual) };
        let value = value.trim().parse().ok().filter(|value| range.contains(value));
        value.ok_or_else(|| {
            let (from, to) = (range.start(), range.end());
            let error = if *to == u64::MAX {
                format!("{name} is not a whole number from {from} on.")
            } else {
                format!("{name} is not a whole number from {from} to {to}.")
            };
            Problem::of(Kind::ParameterValidationFailed).error(error)
        })
    };
    let offset = number("offset", 0, 0..=u64::MAX)?;
    let limit = number("limit", PAGE, 1..=PAGE_MAX)?;
    let lines = page(&service, &file, offset, limit).await?;
    Ok(json_response(StatusCode::OK, format!("[{}]", lines.join(","))))
}
