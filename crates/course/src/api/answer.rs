//! What the handlers share: the courses, and the forms of answers.

use homeroom_access::Call;
use homeroom_http::{Kind, Problem, Response};
use http::{HeaderValue, header};
use serde_json::Value;

use super::origins::Origins;
use crate::courses::Courses;

/// What the handlers share.
#[derive(Debug, Clone)]
pub(crate) struct Api {
    pub(crate) courses: Courses,
    pub(crate) origins: Origins,
}

/// Answers with JSON.
pub(crate) fn json(value: &Value) -> Response {
    homeroom_http::json_response(http::StatusCode::OK, value.to_string())
}

/// Answers without a body.
pub(crate) fn done() -> Response {
    homeroom_http::empty_response(http::StatusCode::NO_CONTENT)
}

/// Answers with JSON and the number of all items of a list.
pub(crate) fn counted(value: &Value, count: Option<i64>) -> Response {
    let mut response = json(value);
    if let Some(count) = count.and_then(|count| HeaderValue::try_from(count.to_string()).ok()) {
        response.headers_mut().insert("X-Total-Count", count);
    }
    response
}

/// Returns a problem for a value of the path that is no number.
pub(crate) fn number(call: &Call, name: &str) -> Result<i64, Problem> {
    call.params.get(name).parse().map_err(|_| Problem::of(Kind::NotFound))
}

/// Returns an answer as a file that browsers save.
pub(crate) fn as_file(mut response: Response, name: &str) -> Response {
    let plain: String = name
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.') { c } else { '_' })
        .collect();
    if let Ok(value) = HeaderValue::from_str(&format!("attachment; filename=\"{plain}\"")) {
        response.headers_mut().insert(header::CONTENT_DISPOSITION, value);
    }
    response
}
