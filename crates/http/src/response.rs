//! Answers with their whole body in memory.

use bytes::Bytes;
use http_body_util::Full;

/// An answer with its whole body in memory.
pub type Response = http::Response<Full<Bytes>>;

/// Builds an answer with a JSON body.
///
/// # Panics
///
/// Never: status and header are constants.
pub fn json_response(status: http::StatusCode, body: impl Into<Bytes>) -> Response {
    let mut response = http::Response::new(Full::new(body.into()));
    *response.status_mut() = status;
    response.headers_mut().insert(
        http::header::CONTENT_TYPE,
        http::HeaderValue::from_static("application/json; charset=utf-8"),
    );
    response
}

/// Builds an answer without a body.
pub fn empty_response(status: http::StatusCode) -> Response {
    let mut response = http::Response::new(Full::default());
    *response.status_mut() = status;
    response
}
