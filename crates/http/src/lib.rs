//! What every HTTP part of Homeroom shares: a [`Call`], the [`Route`] that leads to it, and the
//! [`Problem`] that answers a call that failed.
//!
//! This crate knows no client type: [`Call`] is generic over it, and the `access` crate names the
//! one that all parts use.

mod body;
mod call;
mod entity_tag;
mod problem;
mod query;
mod route;
mod time;

pub use body::{Admission, RequestBody};
pub use call::{Call, Params};
pub use entity_tag::{EntityTag, EntityTags};
pub use problem::{Kind, Problem, ProblemParts, Violations};
pub use query::{Query, QueryError};
pub use route::{Access, Handler, PUBLIC_BODY_BYTES_MAX, Route, handler, other_methods};
pub use time::Timestamp;

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
