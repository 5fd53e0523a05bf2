//! Writes rows as JSON answers with their headers.

use homeroom_http::{Response, empty_response, json_response};
use homeroom_store::{Gap, Link, References, Row, Uuid};
use http::{HeaderName, HeaderValue, StatusCode, header};

use crate::catalog::Catalog;
use crate::plan::{Effect, Written};
use homeroom_http::Timestamp;
use homeroom_model::Resource;

/// Header with the token of the next page.
const NEXT_PAGE_TOKEN: HeaderName = HeaderName::from_static("next-page-token");
/// Header with the total number of documents in a list.
const TOTAL_COUNT: HeaderName = HeaderName::from_static("total-count");

/// Writes a document as clients read it: with id, links, empty collections, `ETag` and the time of
/// its last change.
pub fn write_document(out: &mut Vec<u8>, catalog: &Catalog, row: &Row) {
    out.extend_from_slice(b"{\"id\":\"");
    out.extend_from_slice(&row.uuid.hex());
    out.push(b'"');
    let resource = catalog.resource(row.kind);
    let empties = resource.map(|resource| catalog.empties(resource.id));
    match empties.filter(|empties| !empties.is_empty()) {
        None => write_members(out, catalog, row, |_| "", std::iter::empty()),
        Some(empties) => {
            let text = |gap| empties.text(gap);
            match References::gaps(&row.references) {
                Some((shape, gaps)) if shape == empties.shape() => {
                    write_members(out, catalog, row, text, gaps);
                }
                _ => {
                    let found = empties.find(&row.body);
                    write_members(out, catalog, row, text, found.into_iter());
                }
            }
        }
    }
    out.extend_from_slice(b",\"_etag\":\"");
    out.extend_from_slice(row.change_version.to_string().as_bytes());
    out.extend_from_slice(b"\",\"_lastModifiedDate\":\"");
    out.extend_from_slice(Timestamp(row.modified).to_string().as_bytes());
    out.extend_from_slice(b"\"}");
}

/// Appends the members of a stored text, and inserts the links at their places and the missing
/// members at the gaps. Invalid places are skipped.
fn write_members<'e>(
    out: &mut Vec<u8>,
    catalog: &Catalog,
    row: &Row,
    text: impl Fn(Gap) -> &'e str,
    gaps: impl Iterator<Item = Gap>,
) {
    let body = row.body.as_bytes();
    let inner = body.len().saturating_sub(1);
    if inner > 1 {
        out.push(b',');
    }
    let mut at = 1;
    let mut links = References::links(&row.references).peekable();
    for gap in gaps {
        let offset = gap.offset as usize;
        while let Some(link) = links.next_if(|link| link.offset < gap.offset) {
            write_link(out, catalog, &body[..inner], &mut at, link);
        }
        if offset < at || offset > inner {
            continue;
        }
        out.extend_from_slice(&body[at..offset]);
        at = offset;
        let members = text(gap).as_bytes();
        let comma = usize::from(out.last() == Some(&b'{')).min(members.len());
        out.extend_from_slice(&members[comma..]);
    }
    for link in links {
        write_link(out, catalog, &body[..inner], &mut at, link);
    }
    out.extend_from_slice(&body[at.min(inner)..inner]);
}

/// Writes the text up to a link's place, then the link.
fn write_link(out: &mut Vec<u8>, catalog: &Catalog, body: &[u8], at: &mut usize, link: Link) {
    let offset = link.offset as usize;
    let Some(resource) = catalog.resource(link.kind) else { return };
    if offset < *at || offset > body.len() {
        return;
    }
    out.extend_from_slice(&body[*at..offset]);
    *at = offset;
    out.extend_from_slice(b",\"link\":{\"rel\":\"");
    out.extend_from_slice(resource.name.as_bytes());
    out.extend_from_slice(b"\",\"href\":\"/");
    out.extend_from_slice(resource.schema.as_bytes());
    out.push(b'/');
    out.extend_from_slice(resource.endpoint.as_bytes());
    out.push(b'/');
    out.extend_from_slice(&link.uuid.hex());
    out.extend_from_slice(b"\"}");
}

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
    let status = match (was_put, written.effect) {
        (true, _) => StatusCode::NO_CONTENT,
        (false, Effect::Created) => StatusCode::CREATED,
        (false, Effect::Updated | Effect::Unchanged) => StatusCode::OK,
    };
    let mut response = empty_response(status);
    if let Ok(location) = HeaderValue::try_from(location(base_url, resource, written.uuid)) {
        response.headers_mut().insert(header::LOCATION, location);
    }
    let version = match written.effect {
        Effect::Unchanged => written.version_before,
        Effect::Created | Effect::Updated => change_version,
    };
    set_etag(&mut response, version);
    response
}

fn location(base_url: &str, resource: &Resource, uuid: Uuid) -> String {
    format!("{base_url}/data/v3/{}/{}/{uuid}", resource.schema, resource.endpoint)
}

fn set_etag(response: &mut Response, version: i64) {
    if let Ok(etag) = HeaderValue::try_from(format!("\"{version}\"")) {
        response.headers_mut().insert(header::ETAG, etag);
    }
}
