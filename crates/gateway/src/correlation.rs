//! The ids of a request: the server's own, and the one by which its caller correlates.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use homeroom_http::{Query, Response};
use http::header::{HeaderName, HeaderValue};
use http::{HeaderMap, request};

/// Header by which clients correlate; it is returned in the body and as a header.
const CORRELATION_ID: HeaderName = HeaderName::from_static("correlationid");

/// An alternative spelling of the same header.
const CORRELATION_ID_TOO: HeaderName = HeaderName::from_static("correlation-id");

/// The same as a query parameter, matched in any case.
const CORRELATION_PARAMETER: &str = "correlationId";

/// Header that carries the server's own id of a request.
const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// Returns the trace id of a `traceparent`, or a new id.
pub(crate) fn request_id(headers: &HeaderMap) -> String {
    headers
        .get("traceparent")
        .and_then(|value| value.to_str().ok())
        .and_then(|value| value.split('-').nth(1))
        .filter(|id| id.len() == 32 && id.bytes().all(|byte| byte.is_ascii_hexdigit()))
        .map_or_else(new_request_id, str::to_owned)
}

/// Returns a new id: a random part for this process, then a counter, so that no request waits for
/// the system's randomness.
fn new_request_id() -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    static PROCESS: OnceLock<String> = OnceLock::new();
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let process = || format!("{:016x}", uuid::Uuid::new_v4().as_u64_pair().0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let mut id = String::with_capacity(32);
    id.push_str(PROCESS.get_or_init(process));
    let digit = |at: u32| DIGITS[((number >> (4 * at)) & 0xf) as usize];
    id.extend((0..16).rev().map(|at| char::from(digit(at))));
    id
}

/// Returns the caller's correlation id from the headers or the query string, if it has at most 128
/// printable characters.
pub(crate) fn correlation_id(head: &request::Parts) -> Option<String> {
    let fits = |id: &&str| {
        !id.is_empty() && id.len() <= 128 && id.bytes().all(|byte| byte.is_ascii_graphic())
    };
    let mut named = [CORRELATION_ID, CORRELATION_ID_TOO].into_iter();
    let of_headers = named.find_map(|name| head.headers.get(name)?.to_str().ok().filter(fits));
    if let Some(id) = of_headers {
        return Some(id.to_owned());
    }
    let query = head.uri.query().filter(|query| query.len() >= CORRELATION_PARAMETER.len())?;
    let name = CORRELATION_PARAMETER.as_bytes();
    // Most requests have none, so their query strings are not decoded.
    query.as_bytes().windows(name.len()).find(|part| part.eq_ignore_ascii_case(name))?;
    Query::read(query).ok()?.get(CORRELATION_PARAMETER).filter(fits).map(str::to_owned)
}

/// Adds the headers that every answer has, the ids among them.
pub(crate) fn finish(
    mut response: Response,
    request_id: String,
    correlation_id: String,
) -> Response {
    let headers = response.headers_mut();
    headers.insert(http::header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.entry(http::header::REFERRER_POLICY).or_insert(HeaderValue::from_static("no-referrer"));
    for (name, id) in [(REQUEST_ID, request_id), (CORRELATION_ID, correlation_id)] {
        if let Ok(id) = HeaderValue::try_from(id) {
            headers.insert(name, id);
        }
    }
    response
}
