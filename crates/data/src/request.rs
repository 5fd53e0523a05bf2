//! The handlers: each is a short sequence of steps, the same for every resource.

use std::sync::Arc;

use homeroom_access::{
    Access, Action, ApiClient, Call, Caller, Grant, Phase, Scope, authorize, authorize_upsert,
};
use homeroom_http::{Kind, Problem, Query, Response, json_response};
use homeroom_model::{Resource, ResourceKind};
use homeroom_store::{
    Condition, DocumentId, ListQuery, Page, Refused, Row, StoreError, TieState, Uuid,
};
use http::{HeaderValue, StatusCode};
use tokio::sync::Semaphore;

use crate::catalog::Catalog;
use crate::deletes::Reach;
use crate::json::{Json, JsonError};
use crate::paging::{PAGE_MAX, PARTITIONS_MAX, PageToken, Paging};
use crate::plan::{self, Precondition, Save};
use crate::reading::Reading;
use crate::rights::AskedViews;
use crate::validate::{Document, Invalid, examine, json_path};
use crate::{
    DataApi, Served, blocking, deletes, filter, problem_of, refuse_snapshot, respond, rights,
};

/// Answers with one document.
pub async fn get(Served { api, access }: Served, call: Call) -> Result<Response, Problem> {
    let resource = api.resource(&call)?;
    let may_read = |client: &ApiClient| authorize(client, resource, Action::Read);
    let mut reading = Reading::begin(&access, &call, may_read)?;
    let id = id_of(&call)?;
    let row = loop {
        let found = within_reach(&api, reading.granted(), resource, id).await;
        if reading.holds()? {
            break found?;
        }
    };
    let precondition = Precondition::read(&call.headers)?;
    precondition.check_is(Some(row.change_version))?;
    if precondition.is_known(row.change_version) {
        return Ok(respond::not_modified(row.change_version));
    }
    Ok(respond::document(&api.catalog, &row))
}

/// Returns a document of a resource, within the reach of a grant.
async fn within_reach(
    api: &DataApi,
    grant: &Grant,
    resource: &Resource,
    id: Uuid,
) -> Result<Row, Problem> {
    let found = stored(api, grant, resource, id).await?;
    let (row, ties) = found.ok_or_else(|| Problem::of(Kind::NotFound))?;
    check_reach(api, grant, resource, &row, ties).await?;
    Ok(row)
}

/// Returns a document of a resource, if it exists. If the grant needs it, the document comes with
/// the state of the ties at the time of the read: cached ties hold only for that state.
pub(crate) async fn stored(
    api: &DataApi,
    grant: &Grant,
    resource: &Resource,
    id: Uuid,
) -> Result<Option<(Row, TieState)>, Problem> {
    let found = if grant.relationships.is_some() {
        api.store.document_and_ties(id).await
    } else {
        api.store.document(id).await.map(|row| row.map(|row| (row, TieState::default())))
    };
    let kind = api.catalog.kind(resource.id);
    Ok(found.map_err(problem_of)?.filter(|(row, _)| row.kind == kind))
}

/// Checks a stored document, read in a state of the ties, against a grant.
pub(crate) async fn check_reach(
    api: &DataApi,
    grant: &Grant,
    resource: &Resource,
    row: &Row,
    ties: TieState,
) -> Result<(), Problem> {
    let views = known_views(api, grant, resource, row).await?;
    plan::check_stored(&api.catalog, grant, resource, row, &views)?;
    let Some(relationships) = &grant.relationships else { return Ok(()) };
    let starts = plan::stored_starts(&api.catalog, resource, row);
    let mut asked =
        rights::questions(&api.catalog, resource, [&**relationships].into_iter(), &starts);
    asked.reached = api.store.reach_in(ties, asked.questions.clone()).await.map_err(problem_of)?;
    asked.check(&api.catalog, resource, relationships, Phase::Stored, &starts)?;
    Ok(())
}

/// Returns whether the views of a grant contain the bases of a stored document.
pub(crate) async fn known_views(
    api: &DataApi,
    grant: &Grant,
    resource: &Resource,
    row: &Row,
) -> Result<AskedViews, Problem> {
    let mut views = AskedViews::default();
    views.add(&api.catalog, resource, grant.views.iter(), &row.body, row.key);
    let mut answers = vec![];
    for (view, start) in views.open() {
        let test = rights::test(&api.catalog, view);
        let passed = api.store.pass(vec![*start], test).await.map_err(problem_of)?;
        answers.push(passed.iter().any(|passed| passed.is_passed));
    }
    views.know(answers);
    Ok(views)
}

/// Answers with a page of documents.
pub async fn list(Served { api, access }: Served, call: Call) -> Result<Response, Problem> {
    let resource = api.resource(&call)?;
    let may_read = |client: &ApiClient| authorize(client, resource, Action::Read);
    let mut reading = Reading::begin(&access, &call, may_read)?;
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
    Ok(respond::page(&api.catalog, &page.rows, next, link, total))
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

/// Returns the list of all documents of a resource within the reach of a grant.
pub(crate) fn reachable(api: &DataApi, resource: &Resource, grant: &Grant) -> ListQuery {
    let namespaces = grant.namespace_prefixes.iter();
    let views = grant.views.iter();
    ListQuery {
        conditions: namespaces.map(|prefixes| namespace_condition(resource, prefixes)).collect(),
        bounds: rights::bounds(&api.catalog, resource, grant),
        through: views.map(|bound| rights::through(&api.catalog, resource, bound)).collect(),
        ..ListQuery::all(api.catalog.kind(resource.id))
    }
}

/// Creates the document, or replaces the one that has the same identity.
pub async fn upsert(Served { api, access }: Served, mut call: Call) -> Result<Response, Problem> {
    let resource = api.resource(&call)?;
    authorize_upsert(call.client(), resource)?;
    let caller = Caller::of(&call, Scope::Data);
    let precondition = Precondition::read(&call.headers)?;
    let document = read_document(&api, &access, &caller, resource, &mut call, None).await?;
    let plan = |client: &ApiClient, document| {
        let grant = authorize_upsert(client, resource)?;
        Ok(plan::upsert(&api.catalog, document, grant, precondition.clone(), call.now))
    };
    let ran = caller
        .run(&access, &api.store, document, plan, Save::into_document, |problem| problem)
        .await;
    let ran = ran.map_err(refused)?;
    Ok(respond::written(&call.base_url, resource, ran.value, ran.change_version, false))
}

/// Replaces the document with this id.
pub async fn replace(Served { api, access }: Served, mut call: Call) -> Result<Response, Problem> {
    let resource = api.resource(&call)?;
    let grant = authorize(call.client(), resource, Action::Update)?;
    let caller = Caller::of(&call, Scope::Data);
    let Ok(id) = id_of(&call) else { return Err(no_id(lacks_body(&mut call).await)) };
    let precondition = precondition_of(&api, &grant, resource, id, &call).await?;
    let document = read_document(&api, &access, &caller, resource, &mut call, Some(id)).await?;
    let plan = |client: &ApiClient, document| {
        let grant = authorize(client, resource, Action::Update)?;
        Ok(plan::replace(&api.catalog, id, document, grant, precondition.clone(), call.now))
    };
    let ran = caller
        .run(&access, &api.store, document, plan, Save::into_document, |problem| problem)
        .await;
    let ran = ran.map_err(refused)?;
    Ok(respond::written(&call.base_url, resource, ran.value, ran.change_version, true))
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
    match Precondition::read(&call.headers) {
        Ok(precondition) => Ok(precondition),
        Err(problem) => match stored(api, grant, resource, id).await? {
            Some(_) => Err(problem),
            None => Err(Problem::of(Kind::NotFound)),
        },
    }
}

/// Deletes the document with this id, unless others refer to it.
pub async fn delete(Served { api, access }: Served, call: Call) -> Result<Response, Problem> {
    let resource = api.resource(&call)?;
    let grant = authorize(call.client(), resource, Action::Delete)?;
    let caller = Caller::of(&call, Scope::Data);
    let id = id_of(&call)?;
    let precondition = precondition_of(&api, &grant, resource, id, &call).await?;
    let plan = |client: &ApiClient, ()| {
        let grant = authorize(client, resource, Action::Delete)?;
        Ok(plan::delete(&api.catalog, resource, id, grant, precondition.clone(), call.now))
    };
    caller.run(&access, &api.store, (), plan, |_| (), |problem| problem).await.map_err(refused)?;
    Ok(homeroom_http::empty_response(StatusCode::NO_CONTENT))
}

/// Divides the documents of a resource that the caller may read and asks for into parts that can be
/// paged in parallel.
pub async fn partitions(Served { api, access }: Served, call: Call) -> Result<Response, Problem> {
    let resource = api.resource(&call)?;
    let may_read = |client: &ApiClient| authorize(client, resource, Action::Read);
    let mut reading = Reading::begin(&access, &call, may_read)?;
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
    Ok(json_response(StatusCode::OK, body.to_string()))
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

/// Refuses a method that an address of a resource does not support. The front door has already
/// checked for 401, and 404 comes first.
pub async fn not_allowed(
    (Served { api, .. }, allowed): (Served, &'static str),
    call: Call,
) -> Result<Response, Problem> {
    let resource = api.resource(&call)?;
    if call.path.ends_with("/deletes") || call.path.ends_with("/keyChanges") {
        tracked(resource)?;
    }
    Err(Problem::of(Kind::MethodNotAllowed)
        .error(format!("{} is not allowed here; allowed: {allowed}.", call.method))
        .header(http::header::ALLOW, HeaderValue::from_static(allowed)))
}

/// Lists deletions of documents that were not created again within the caller's reach.
pub async fn deletes(Served { api, access }: Served, call: Call) -> Result<Response, Problem> {
    let resource = tracked(api.resource(&call)?)?;
    let may_read = |client: &ApiClient| Reach::of(client, resource);
    let mut reading = Reading::begin(&access, &call, may_read)?;
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
    Ok(response)
}

/// Lists changes of identities: the list is empty as long as identities cannot change.
pub async fn key_changes(Served { api, .. }: Served, call: Call) -> Result<Response, Problem> {
    let resource = tracked(api.resource(&call)?)?;
    authorize(call.client(), resource, Action::ReadChanges)?;
    let paging = change_paging(&call.query()?)?;
    let mut response = json_response(StatusCode::OK, "[]");
    if paging.total_count {
        response.headers_mut().insert("total-count", 0.into());
    }
    Ok(response)
}

/// Answers with the range of change versions.
pub async fn available_change_versions(
    Served { api, .. }: Served,
    call: Call,
) -> Result<Response, Problem> {
    refuse_snapshot(&call)?;
    let newest = api.store.newest_change_version().await.map_err(problem_of)?;
    let body = format!("{{\"oldestChangeVersion\":0,\"newestChangeVersion\":{newest}}}");
    Ok(json_response(StatusCode::OK, body))
}

/// Refuses a resource whose changes are not tracked: the standard's enumerations have neither
/// deletions nor key changes.
fn tracked(resource: &Resource) -> Result<&Resource, Problem> {
    if resource.kind == ResourceKind::Enumeration {
        return Err(Problem::of(Kind::NotFound).detail("Changes of this resource are not tracked."));
    }
    Ok(resource)
}

fn change_paging(query: &Query) -> Result<Paging, Problem> {
    if query.get("pageToken").is_some() {
        return Err(Problem::of(Kind::ParameterValidationFailed)
            .error("deletes and keyChanges do not take pageToken; use offset and limit."));
    }
    Paging::read(query)
}

async fn read_document(
    api: &DataApi,
    access: &Access,
    caller: &Caller,
    resource: &Resource,
    call: &mut Call,
    id: Option<Uuid>,
) -> Result<Document, Problem> {
    if !call.header("content-type").is_some_and(is_json) {
        return Err(Problem::of(Kind::UnsupportedMediaType)
            .error("The Content-Type header is not application/json in UTF-8.")
            .hint("Send the header Content-Type: application/json, in UTF-8."));
    }
    let bytes = call.read_body().await?;
    // The body may have taken long to arrive; an unauthorized client learns nothing about it.
    caller.again(access)?;
    let parsed = if bytes.len() <= SMALL_BODY {
        parse(&api.catalog, resource, &bytes, id)?
    } else {
        // A long body does not occupy a worker, and at most as many are parsed as there are cores.
        let (catalog, resource) = (Arc::clone(&api.catalog), resource.id);
        let parse = move || parse(&catalog, catalog.model.resource(resource), &bytes, id);
        blocking::run(&LARGE_BODIES, parse).await??
    };
    match parsed {
        Ok(document) => Ok(document),
        Err(invalid) => Err(invalid_document(api, resource, invalid).await),
    }
}

/// The error for a request without a document.
const EMPTY_BODY: &str = "A non-empty request body is required.";
/// Bodies up to this size are parsed on the thread on which they arrive.
const SMALL_BODY: usize = 64 << 10;
/// Places for parsing bodies larger than [`SMALL_BODY`].
static LARGE_BODIES: Semaphore = Semaphore::const_new(2);

/// Returns whether a media type is JSON in UTF-8.
fn is_json(value: &str) -> bool {
    let mut parts = value.split(';').map(str::trim);
    let media = parts.next().unwrap_or("");
    media.eq_ignore_ascii_case("application/json")
        && parts.all(|parameter| match parameter.split_once('=') {
            Some((name, charset)) if name.trim().eq_ignore_ascii_case("charset") => {
                charset.trim().trim_matches('"').eq_ignore_ascii_case("utf-8")
            }
            _ => true,
        })
}

fn parse(
    catalog: &Catalog,
    resource: &Resource,
    bytes: &[u8],
    id: Option<Uuid>,
) -> Result<Result<Document, Invalid>, Problem> {
    if is_empty(bytes) {
        return Err(match id {
            None => Problem::of(Kind::BadRequest).error(EMPTY_BODY),
            Some(_) => Problem::of(Kind::DataValidationFailed)
                .violations([("$".to_owned(), vec![EMPTY_BODY.to_owned()])].into()),
        });
    }
    let json = Json::read(bytes).map_err(|error| not_json(resource, &error))?;
    // The id in the URL counts, whatever the body says.
    if let Json::Object(members) = &json
        && id.is_none()
        && Json::member(members, "id").is_some_and(|sent| *sent != Json::Null)
    {
        return Err(Problem::of(Kind::DataValidationFailed).error(
            "A document that is sent with POST must not have an id; the server gives it one.",
        ));
    }
    Ok(examine(catalog, resource, &json))
}

/// Refuses a body that is not JSON. The error is at the last value that had begun, unless that is
/// the whole body.
///
/// Source: Ed-Fi ODS/API 7.3 (`ErrorTranslator`), which reports a fault without a path as a bad
/// request.
fn not_json(resource: &Resource, error: &JsonError) -> Problem {
    let (detail, message) =
        ("The request body is not JSON.", format!("The body is not JSON at {error}."));
    if error.way.is_empty() {
        return Problem::of(Kind::BadRequest).detail(detail).error(message);
    }
    Problem::of(Kind::DataValidationFailed)
        .detail(detail)
        .violations([(json_path(resource, &error.way), vec![message])].into())
}

/// Returns every violation, including those of descriptors that do not exist.
async fn invalid_document(api: &DataApi, resource: &Resource, invalid: Invalid) -> Problem {
    let mut violations = invalid.violations;
    for descriptor in invalid.descriptors.iter().take(DESCRIPTORS_NAMED_MAX) {
        match api.store.target(descriptor.key).await {
            Ok(Some(_)) => {}
            Ok(None) => {
                let name = &api.catalog.model.resource(descriptor.descriptor).name;
                let messages = violations.entry(descriptor.path.json(resource)).or_default();
                messages.push(plan::unknown_descriptor(name));
            }
            Err(error) => return problem_of(error),
        }
    }
    Problem::of(Kind::DataValidationFailed).violations(violations)
}

/// Most descriptors of an invalid document that are looked up.
const DESCRIPTORS_NAMED_MAX: usize = 100;

fn id_of(call: &Call) -> Result<Uuid, Problem> {
    Uuid::read(call.params.get("id")).ok_or_else(|| no_id(false))
}

/// Refuses the id in the URL, and the body too if it is empty.
fn no_id(lacks_body: bool) -> Problem {
    let empty = lacks_body.then(|| ("$".to_owned(), vec![EMPTY_BODY.to_owned()]));
    let id = ("$.id".to_owned(), vec![filter::NO_ID.to_owned()]);
    Problem::of(Kind::DataValidationFailed)
        .detail("The id in the URL is not valid.")
        .violations(empty.into_iter().chain([id]).collect())
}

/// Returns whether a request comes with an empty body. A body that cannot be read is not empty.
async fn lacks_body(call: &mut Call) -> bool {
    call.read_body().await.is_ok_and(|bytes| is_empty(&bytes))
}

fn is_empty(body: &[u8]) -> bool {
    body.iter().all(u8::is_ascii_whitespace)
}

fn namespace_condition(resource: &Resource, prefixes: &[String]) -> Condition {
    homeroom_access::namespace_subject(resource).map_or(Condition::Never, |subject| {
        let at = subject.place.steps[0];
        let source = match subject.place.part {
            Some(part) => homeroom_model::ColumnSource::Part(at, part),
            None => homeroom_model::ColumnSource::Scalar(at),
        };
        Condition::StartsWith { path: resource.column_path(source), prefixes: prefixes.to_vec() }
    })
}

fn refused(refused: Refused<Problem>) -> Problem {
    match refused {
        Refused::Decision(problem) => problem,
        Refused::Store(error) => problem_of(error),
    }
}
