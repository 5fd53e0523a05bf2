//! The version of the Admin API, the single tenant, and registration, which is not offered.

use homeroom_access::Call;
use homeroom_http::{Kind, Problem, Response, json_response};
use http::StatusCode;
use serde_json::json;

use crate::manager::Admin;
use crate::refusal::Refusal;

/// The version of the Admin API whose paths and members are served.
const API_VERSION: &str = "2.3";

/// The name of the single tenant; the Ed-Fi Admin API uses it when it runs without tenants.
const TENANT: &str = "default";

/// Answers GET of the version of this part.
pub(crate) fn get(_: &Admin, _: &Call) -> Result<Response, Refusal> {
    let body = json!({"version": API_VERSION, "build": env!("CARGO_PKG_VERSION")});
    Ok(json_response(StatusCode::OK, body.to_string()))
}

/// Refuses the paths of the first version of the Admin API, in the form that its clients know.
pub(crate) fn first_version(_: &Admin, _: &Call) -> Result<Response, Refusal> {
    let body = json!({"message": "wrong api version for this instance mode."});
    Ok(json_response(StatusCode::BAD_REQUEST, body.to_string()))
}

/// Answers GET of all tenants.
pub(crate) fn list_tenants(_: &Admin, _: &Call) -> Result<Response, Refusal> {
    Ok(json_response(StatusCode::OK, json!([{"tenantName": TENANT}]).to_string()))
}

/// Answers GET of one tenant.
pub(crate) fn get_tenant(_: &Admin, call: &Call) -> Result<Response, Refusal> {
    if !call.params.get("tenantName").eq_ignore_ascii_case(TENANT) {
        let detail = format!("This server has one tenant, '{TENANT}'.");
        return Err(Problem::of(Kind::NotFound).detail(detail).into());
    }
    Ok(json_response(StatusCode::OK, json!({"tenantName": TENANT}).to_string()))
}

/// Refuses POST of a self-registered client, since a client that may register may do everything.
pub(crate) fn register(_: &Admin, _: &Call) -> Result<Response, Refusal> {
    Err(Problem::of(Kind::AccessDenied)
        .detail("Keys for management are created on the server only.")
        .hint("Ask the server's operator to run: homeroom keys create --scope admin")
        .into())
}
