//! Handlers for what has changed.

use homeroom_access::{Action, ApiClient, Call, authorize};
use homeroom_http::{Kind, Problem, Query, Response, json_response};
use http::StatusCode;

use super::tracked::tracked;
use crate::coding::coded;
use crate::deletes::{self, Reach};
use crate::paging::Paging;
use crate::reading::Reading;
use crate::{DataState, problem_of, refuse_snapshot, strict};

/// Lists deletions of documents that were not created again within the caller's reach.
pub async fn deletes(
    DataState { api, access }: DataState,
    call: Call,
) -> Result<Response, Problem> {
    let resource = tracked(api.resource(&call)?)?;
    let may_read = |client: &ApiClient| Reach::of(client, resource);
    let mut reading = Reading::begin(&access, &call, may_read)?;
    strict::expect_only(&call, &strict::OF_CHANGES)?;
    let paging = change_paging(&call.query()?)?;
    let deleted = loop {
        let found = deletes::list(&api, resource, reading.granted(), &paging).await;
        if reading.holds()? {
            break found?;
        }
    };
    let mut response = json_response(StatusCode::OK, deleted.body);
    if let Some(total) = deleted.total {
        response.headers_mut().insert("total-count", total.into());
    }
    let response = coded(&call, response, &api.work.compressed_lists).await?;
    Ok(strict::as_asked(&call, response))
}

/// Lists changes of identities: the list is empty as long as identities cannot change.
pub async fn key_changes(
    DataState { api, .. }: DataState,
    call: Call,
) -> Result<Response, Problem> {
    let resource = tracked(api.resource(&call)?)?;
    authorize(call.client(), resource, Action::ReadChanges)?;
    strict::expect_only(&call, &strict::OF_CHANGES)?;
    let paging = change_paging(&call.query()?)?;
    let mut response = json_response(StatusCode::OK, "[]");
    if paging.total_count {
        response.headers_mut().insert("total-count", 0.into());
    }
    Ok(strict::as_asked(&call, response))
}

/// Answers with the range of change versions.
pub async fn available_change_versions(
    DataState { api, .. }: DataState,
    call: Call,
) -> Result<Response, Problem> {
    refuse_snapshot(&call)?;
    strict::expect_only(&call, &[])?;
    let newest = api.store.newest_change_version().await.map_err(problem_of)?;
    let body = format!("{{\"oldestChangeVersion\":0,\"newestChangeVersion\":{newest}}}");
    Ok(strict::as_asked(&call, json_response(StatusCode::OK, body)))
}

fn change_paging(query: &Query) -> Result<Paging, Problem> {
    if query.get("pageToken").is_some() {
        return Err(Problem::of(Kind::ParameterValidationFailed)
            .error("deletes and keyChanges do not take pageToken; use offset and limit."));
    }
    Paging::read(query)
}
