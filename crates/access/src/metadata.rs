//! Where clients find out how to get tokens, and how to verify them.
//!
//! Source: RFC 8414.

use std::sync::Arc;

use homeroom_http::{Problem, Response, json_response};
use http::StatusCode;
use serde_json::{Value, json};

use crate::access::Access;
use crate::client::Call;
use crate::introspect::INTROSPECT;
use crate::oauth::TOKEN;
use crate::revoke::REVOKE;

/// The path of the metadata.
pub(crate) const METADATA: &str = "/.well-known/oauth-authorization-server";

/// The path of the public keys.
pub(crate) const KEYS: &str = "/.well-known/jwks.json";

pub(crate) async fn get_metadata(access: Arc<Access>, call: Call) -> Result<Response, Problem> {
    let document = metadata(&access.issuer(&call.base_url));
    Ok(json_response(StatusCode::OK, document.to_string()))
}

fn metadata(issuer: &str) -> Value {
    let ways = json!(["client_secret_basic", "client_secret_post"]);
    json!({
        "issuer": issuer,
        "token_endpoint": format!("{issuer}{TOKEN}"),
        "token_endpoint_auth_methods_supported": ways,
        "grant_types_supported": ["client_credentials"],
        // The member is required, and there is no authorization endpoint: no type answers with anything.
        "response_types_supported": ["none"],
        "jwks_uri": format!("{issuer}{KEYS}"),
        "introspection_endpoint": format!("{issuer}{INTROSPECT}"),
        "introspection_endpoint_auth_methods_supported": ways,
        "revocation_endpoint": format!("{issuer}{REVOKE}"),
        "revocation_endpoint_auth_methods_supported": ways,
    })
}

pub(crate) async fn get_keys(access: Arc<Access>, _call: Call) -> Result<Response, Problem> {
    Ok(json_response(StatusCode::OK, access.tokens.key_set().to_string()))
}
