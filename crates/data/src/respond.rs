//! Writes rows as JSON answers with their headers.

use homeroom_document::catalog::Catalog;
use homeroom_document::plan::{Effect, Written};
use homeroom_document::text::write_document;
use homeroom_http::{Response, empty_response, json_response};
use homeroom_store::{Row, Uuid};
use http::{HeaderName, HeaderValue, StatusCode, header};

use homeroom_model::Resource;

/// Header with the token of the next page.
const NEXT_PAGE_TOKEN: HeaderName = HeaderName::from_static("next-page-token");
/// Header with the total number of documents in a list.
const TOTAL_COUNT: HeaderName = HeaderName::from_static("total-count");

/// Returns the answer with one document.
pub fn document(catalog: &Catalog, row: &Row) -> Response {
    let mut out = Vec::with_capacity(row.body.len() + row.references.len() * 4 + 160);
    write_document(&mut out, catalog, row);
    let mut response = json_response(StatusCode::OK, out);
    set_etag(&mut response, row.change_version);
    response
}

/// Returns the 304 answer for a client that already has the stored version.
pub fn not_modified(version: i64) -> Response {
    let mut response = empty_response(StatusCode::NOT_MODIFIED);
    set_etag(&mut response, version);
    response
}

/// Returns a page of documents; `next` is the token of the next page, `link` its address.
pub fn page(
    catalog: &Catalog,
    rows: &[Row],
    next: Option<String>,
    link: Option<String>,
    total: Option<u64>,
) -> Response {
    let bytes: usize = rows.iter().map(|row| row.body.len() + row.references.len() * 4 + 160).sum();
    let mut out = Vec::with_capacity(bytes + 2);
    out.push(b'[');
    for (at, row) in rows.iter().enumerate() {
        if at > 0 {
            out.push(b',');
        }
        write_document(&mut out, catalog, row);
    }
    out.push(b']');
    let mut response = list(out, next, total);
    let headers = response.headers_mut();
    if let Some(Ok(link)) = link.map(HeaderValue::try_from) {
        headers.insert(header::LINK, link);
    }
    response
}

/// A list that is written already; `next` is the token of the next page.
pub fn list(body: Vec<u8>, next: Option<String>, total: Option<u64>) -> Response {
    let mut response = json_response(StatusCode::OK, body);
    let headers = response.headers_mut();
    if let Some(total) = total {
        headers.insert(TOTAL_COUNT, HeaderValue::from(total));
    }
    if let Some(Ok(next)) = next.map(HeaderValue::try_from) {
        headers.insert(NEXT_PAGE_TOKEN, next);
    }
    response
}

/// Returns the answer to POST and PUT: no body, the document's address and its version.
pub fn written(
    base_url: &str,
    resource: &Resource,
    written: Written,
    change_version: i64,
    was_put: bool,
) -> Response {
    let status = if was_put { StatusCode::NO_CONTENT } else { status_of_post(written.effect) };
    let mut response = empty_response(status);
    if let Ok(location) = HeaderValue::try_from(location(base_url, resource, written.uuid)) {
        response.headers_mut().insert(header::LOCATION, location);
    }
    set_etag(&mut response, version_of(written, change_version));
    response
}

/// Returns the status of a POST that had this effect.
pub fn status_of_post(effect: Effect) -> StatusCode {
    match effect {
        Effect::Created => StatusCode::CREATED,
        Effect::Updated | Effect::Unchanged => StatusCode::OK,
    }
}

/// Returns the version of a document that was written in this version.
pub fn version_of(written: Written, change_version: i64) -> i64 {
    match written.effect {
        Effect::Unchanged => written.version_before,
        Effect::Created | Effect::Updated => change_version,
    }
}

/// Returns the address of a document.
pub fn location(base_url: &str, resource: &Resource, uuid: Uuid) -> String {
    format!("{base_url}/data/v3/{}/{}/{uuid}", resource.schema, resource.endpoint)
}

fn set_etag(response: &mut Response, version: i64) {
    if let Ok(etag) = HeaderValue::try_from(format!("\"{version}\"")) {
        response.headers_mut().insert(header::ETAG, etag);
    }
}
