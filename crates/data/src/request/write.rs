//! Handlers that write documents.

use homeroom_access::{Action, ApiClient, Call, Caller, Grant, Scope, authorize, authorize_upsert};
use homeroom_document::plan::{self, Precondition, Save};
use homeroom_http::{Kind, Problem, Response};
use homeroom_model::Resource;
use homeroom_store::{ChangedAt, Uuid};
use http::StatusCode;

use super::id::{id_of, no_id};
use super::{body, precondition};
use crate::problem::{of_plan, of_refusal};
use crate::reach::stored;
use crate::{DataApi, DataState, respond, strict};

/// Creates the document, or replaces the one that has the same identity.
pub async fn upsert(
    DataState { api, access }: DataState,
    mut call: Call,
) -> Result<Response, Problem> {
    let resource = api.resource(&call)?;
    authorize_upsert(call.client(), resource)?;
    strict::expect_only(&call, &[])?;
    let caller = Caller::of(&call, Scope::Data);
    let precondition = precondition::read(&call.headers)?;
    let document = body::read(&api, &access, &caller, resource, &mut call, None).await?;
    let plan = |client: &ApiClient, document| {
        let grant = authorize_upsert(client, resource)?;
        Ok(plan::upsert(&api.catalog, document, grant, precondition.clone(), ChangedAt(call.now.0)))
    };
    let ran =
        caller.run(&access, &api.store, document, plan, Save::into_document, of_refusal).await;
    let ran = ran.map_err(of_plan)?;
    let answer = respond::written(&call.base_url, resource, ran.value, ran.change_version, false);
    Ok(strict::as_asked(&call, answer))
}

/// Replaces the document with this id.
pub async fn replace(
    DataState { api, access }: DataState,
    mut call: Call,
) -> Result<Response, Problem> {
    let resource = api.resource(&call)?;
    let grant = authorize(call.client(), resource, Action::Update)?;
    strict::expect_only(&call, &[])?;
    let caller = Caller::of(&call, Scope::Data);
    let Ok(id) = id_of(&call) else { return Err(no_id(body::is_missing(&mut call).await)) };
    let precondition = precondition_of(&api, &grant, resource, id, &call).await?;
    let document = body::read(&api, &access, &caller, resource, &mut call, Some(id)).await?;
    let plan = |client: &ApiClient, document| {
        let grant = authorize(client, resource, Action::Update)?;
        Ok(plan::replace(
            &api.catalog,
            id,
            document,
            grant,
            precondition.clone(),
            ChangedAt(call.now.0),
        ))
    };
    let ran =
        caller.run(&access, &api.store, document, plan, Save::into_document, of_refusal).await;
    let ran = ran.map_err(of_plan)?;
    let answer = respond::written(&call.base_url, resource, ran.value, ran.change_version, true);
    Ok(strict::as_asked(&call, answer))
}

/// Returns the conditions that a request sets for the document with this id. A header that cannot
/// be parsed is reported only if the document exists: otherwise the answer is 404.
async fn precondition_of(
    api: &DataApi,
    grant: &Grant,
    resource: &Resource,
    id: Uuid,
    call: &Call,
) -> Result<Precondition, Problem> {
    match precondition::read(&call.headers) {
        Ok(precondition) => Ok(precondition),
        Err(problem) => match stored(api, grant, resource, id).await? {
            Some(_) => Err(problem),
            None => Err(Problem::of(Kind::NotFound)),
        },
    }
}

/// Deletes the document with this id, unless others refer to it.
pub async fn delete(DataState { api, access }: DataState, call: Call) -> Result<Response, Problem> {
    let resource = api.resource(&call)?;
    let grant = authorize(call.client(), resource, Action::Delete)?;
    strict::expect_only(&call, &[])?;
    let caller = Caller::of(&call, Scope::Data);
    let id = id_of(&call)?;
    let precondition = precondition_of(&api, &grant, resource, id, &call).await?;
    let plan = |client: &ApiClient, ()| {
        let grant = authorize(client, resource, Action::Delete)?;
        Ok(plan::delete(
            &api.catalog,
            resource,
            id,
            grant,
            precondition.clone(),
            ChangedAt(call.now.0),
        ))
    };
    caller.run(&access, &api.store, (), plan, |_| (), of_refusal).await.map_err(of_plan)?;
    Ok(strict::as_asked(&call, homeroom_http::empty_response(StatusCode::NO_CONTENT)))
}
