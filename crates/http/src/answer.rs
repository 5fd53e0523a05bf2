//! Answers with documents: their headers, their coding, and 304 for a caller that has them.

use http::{HeaderValue, StatusCode, header};
use serde_json::Value;

use crate::accept::takes_gzip;
use crate::call::Call;
use crate::entity_tag::EntityTags;
use crate::problem::{Kind, Problem};
use crate::response::{Body, Response, empty_response};
use crate::template::{Coding, Copy};

/// Media type of JSON documents.
pub const JSON: &str = "application/json; charset=utf-8";

/// Answers with a document that is small enough to be written each time.
///
/// # Errors
///
/// As for [`text_answer`].
pub fn json_answer<C>(call: &Call<C>, document: &Value) -> Result<Response, Problem> {
    text_answer(call, &Copy::of(document.to_string()), JSON)
}

/// Returns the coding that the caller prefers.
pub fn coding_of<C>(call: &Call<C>) -> Coding {
    let lines = call.headers.get_all(header::ACCEPT_ENCODING).iter();
    if takes_gzip(lines.filter_map(|line| line.to_str().ok())) {
        Coding::Gzip
    } else {
        Coding::Identity
    }
}

/// Answers with the copy that matches the caller's codings.
///
/// # Errors
///
/// As for [`text_answer`].
pub fn coded_answer<C>(
    call: &Call<C>,
    copy: &Copy,
    media: &'static str,
) -> Result<Response, Problem> {
    let mut response = text_answer(call, copy, media)?;
    response.headers_mut().insert(header::VARY, HeaderValue::from_static("Accept-Encoding"));
    Ok(response)
}

/// Answers with a copy, or with 304 if the caller already has it.
///
/// # Errors
///
/// 412 where `If-Match` names other versions; 400 for a malformed entity tag.
///
/// # Panics
///
/// Never: a tag is hexadecimal digits in quotes.
pub fn text_answer<C>(
    call: &Call<C>,
    copy: &Copy,
    media: &'static str,
) -> Result<Response, Problem> {
    let tag = copy.etag.trim_matches('"');
    let wanted = EntityTags::read(&call.headers, &header::IF_MATCH)?;
    if wanted.is_some_and(|tags| !tags.name(tag)) {
        return Err(Problem::of(Kind::OptimisticLockFailed));
    }
    let known =
        EntityTags::read(&call.headers, &header::IF_NONE_MATCH)?.is_some_and(|tags| tags.name(tag));
    let mut response = if known {
        empty_response(StatusCode::NOT_MODIFIED)
    } else {
        let mut response = http::Response::new(Body::from(copy.bytes.clone()));
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(media));
        if copy.coding == Coding::Gzip {
            headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
        }
        response
    };
    let headers = response.headers_mut();
    headers.insert(
        header::ETAG,
        HeaderValue::from_str(&copy.etag).expect("a tag is hexadecimal digits in quotes"),
    );
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    Ok(response)
}
