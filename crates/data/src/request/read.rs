//! Handlers that read documents.

use homeroom_access::{Action, ApiClient, Call, Grant, authorize};
use homeroom_http::{Kind, Problem, Query, Response, json_response};
use homeroom_model::Resource;
use homeroom_store::{DocumentId, ListQuery, Page, StoreError};
use http::StatusCode;

use super::id::id_of;
use super::precondition;
use crate::coding::coded;
use crate::paging::{PAGE_MAX, PARTITIONS_MAX, PageToken, Paging};
use crate::problem::of_refusal;
use crate::reach::{reachable, within_reach};
use crate::reading::Reading;
use crate::{DataApi, DataState, filter, problem_of, respond, strict};

/// Answers with one document.
pub async fn get(DataState { api, access }: DataState, call: Call) -> Result<Response, Problem> {
    let resource = api.resource(&call)?;
    let may_read = |client: &ApiClient| authorize(client, resource, Action::Read);
    let mut reading = Reading::begin(&access, &call, may_read)?;
    strict::expect_only(&call, &[])?;
    let id = id_of(&call)?;
    let row = loop {
        let found = within_reach(&api, reading.granted(), resource, id).await;
        if reading.holds()? {
            break found?;
        }
    };
    let precondition = precondition::read(&call.headers)?;
    precondition.check_is(Some(row.change_version)).map_err(of_refusal)?;
    if precondition.is_known(row.change_version) {
        return Ok(respond::not_modified(row.change_version));
    }
    Ok(strict::as_asked(&call, respond::document(&api.catalog, &row)))
}

/// Answers with a page of documents.
pub async fn list(DataState { api, access }: DataState, call: Call) -> Result<Response, Problem> {
    let resource = api.resource(&call)?;
    let may_read = |client: &ApiClient| authorize(client, resource, Action::Read);
    let mut reading = Reading::begin(&access, &call, may_read)?;
    strict::expect_filters(&call, resource, &[])?;
    let query = call.query()?;
    let paging = Paging::read(&query)?;
    let (page, total) = loop {
        let found = page_of(&api, resource, reading.granted(), &query, &paging).await;
        if reading.holds()? {
            break found?;
        }
    };
    let next = page.rows.last().map(|row| PageToken { after: row.id, upto: paging.upto }.write());
    // A client that expects as many documents as its limit must learn where to continue.
    let link = next.as_deref().filter(|_| page.is_cut).map(|token| {
        format!(
            "<{}{}?{}>; rel=\"next\"",
            call.base_url,
            call.path,
            next_query(&call.query, token, paging.limit)
        )
    });
    let answer = respond::page(&api.catalog, &page.rows, next, link, total);
    let answer = coded(&call, answer, &api.work.compressed_lists).await?;
    Ok(strict::as_asked(&call, answer))
}

/// Returns a page of documents within a grant, and the total count if it was requested.
async fn page_of(
    api: &DataApi,
    resource: &Resource,
    grant: &Grant,
    query: &Query,
    paging: &Paging,
) -> Result<(Page, Option<u64>), Problem> {
    let list = asked_for(api, resource, grant, query, paging).await?;
    let total = if paging.total_count {
        let (after, upto) = (DocumentId(0), DocumentId(i64::MAX));
        let whole = ListQuery { after, upto, ..list.clone() };
        Some(api.store.count(whole).await.map_err(problem_of)?)
    } else {
        None
    };
    Ok((api.store.list(list).await.map_err(problem_of)?, total))
}

/// Returns the query string for the page after this one, by its token.
fn next_query(query: &str, token: &str, limit: u32) -> String {
    let paging = ["limit", "offset", "pagetoken", "pagesize", "totalcount"];
    let is_other = |parameter: &&str| {
        let name = parameter.split('=').next().unwrap_or_default().to_ascii_lowercase();
        !parameter.is_empty() && !paging.contains(&name.as_str())
    };
    let own = [format!("pageToken={token}"), format!("pageSize={limit}")];
    let others = query.split('&').filter(is_other).map(str::to_owned);
    others.chain(own).collect::<Vec<_>>().join("&")
}

/// Returns the list that a query string describes, restricted to the reach of a grant.
async fn asked_for(
    api: &DataApi,
    resource: &Resource,
    grant: &Grant,
    query: &Query,
    paging: &Paging,
) -> Result<ListQuery, Problem> {
    let filter = filter::read(&api.catalog, &api.store, resource, query).await?;
    let mut list = reachable(api, resource, grant);
    list.conditions.splice(0..0, filter.conditions);
    Ok(ListQuery {
        after: paging.after,
        upto: paging.upto,
        changed: paging.changed,
        targets: filter.targets,
        skip: paging.skip,
        limit: paging.limit,
        ..list
    })
}

/// Divides the documents of a resource that the caller may read and asks for into parts that can be
/// paged in parallel.
pub async fn partitions(
    DataState { api, access }: DataState,
    call: Call,
) -> Result<Response, Problem> {
    let resource = api.resource(&call)?;
    let may_read = |client: &ApiClient| authorize(client, resource, Action::Read);
    let mut reading = Reading::begin(&access, &call, may_read)?;
    strict::expect_filters(&call, resource, &["number"])?;
    let query = call.query()?;
    let parts = match query.get("number").map(str::parse::<u64>) {
        None => 5,
        Some(Ok(number @ 1..=PARTITIONS_MAX)) => number,
        Some(_) => {
            return Err(Problem::of(Kind::ParameterValidationFailed)
                .error(format!("number must be a whole number from 1 to {PARTITIONS_MAX}.")));
        }
    };
    let paging = Paging::read(&query)?;
    let cuts = loop {
        let cuts = cuts_of(&api, resource, reading.granted(), (&query, &paging), parts).await;
        if reading.holds()? {
            break cuts?;
        }
    };
    let mut after = DocumentId(0);
    let mut tokens = vec![];
    // Without documents there is nothing to page.
    let ends = cuts.map(|cuts| cuts.into_iter().chain([DocumentId(i64::MAX)]));
    for upto in ends.into_iter().flatten() {
        tokens.push(PageToken { after, upto }.write());
        after = upto;
    }
    let body = serde_json::json!({ "pageTokens": tokens });
    Ok(strict::as_asked(&call, json_response(StatusCode::OK, body.to_string())))
}

/// Returns where parts of about equal length end in the list that a query string describes.
async fn cuts_of(
    api: &DataApi,
    resource: &Resource,
    grant: &Grant,
    (query, paging): (&Query, &Paging),
    parts: u64,
) -> Result<Option<Vec<DocumentId>>, Problem> {
    let list = asked_for(api, resource, grant, query, paging).await?;
    let (all, smallest) = (ListQuery::all(list.kind), u64::from(PAGE_MAX) * 5);
    let whole = ListQuery { after: DocumentId(0), upto: DocumentId(i64::MAX), ..list };
    let cuts = match api.store.cuts(whole, parts, smallest).await {
        // Parts of unequal length can be paged, too.
        Err(StoreError::Deadline(_)) => api.store.cuts(all, parts, smallest).await,
        cuts => cuts,
    };
    cuts.map_err(problem_of)
}
