//! `about` and `ping`.

use homeroom_access::Call;
use homeroom_http::{Problem, Response};
use serde_json::json;

use super::answer::{Api, json};

pub(crate) async fn about(_api: Api, _call: Call) -> Result<Response, Problem> {
    let body = json!({ "version": env!("CARGO_PKG_VERSION"), "distribution": "Homeroom" });
    Ok(json(&body))
}

pub(crate) async fn ping(_api: Api, call: Call) -> Result<Response, Problem> {
    let body = json!({ "apiMessage": "API is alive", "currentTime": call.now.to_string() });
    Ok(json(&body))
}
