//! Methods that an address does not have.

use homeroom_access::Call;
use homeroom_http::{Kind, Problem, Response};
use http::HeaderValue;

use super::tracked::tracked;
use crate::DataState;

/// Refuses a method that an address of a resource does not support. The front door has already
/// checked for 401, and 404 comes first.
pub async fn not_allowed(
    (DataState { api, .. }, allowed): (DataState, &'static str),
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
