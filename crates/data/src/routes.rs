//! The routes of the data API.

use std::sync::Arc;

use homeroom_access::{ANY_SCOPE, Access, ApiClient, TOKEN_REQUEST_BYTES_MAX};
use homeroom_document::DOCUMENT_BYTES_MAX;
use homeroom_http::{BodyLimits, Guard, Route, handler, other_methods};
use http::Method;

use crate::api::{DataApi, DataState, SCOPE};
use crate::batch;
use crate::request::{changes, not_allowed, read, write};
use crate::token_info;

/// Returns the routes of the data API, for callers that `access` recognizes.
pub fn routes(api: &DataApi, access: &Arc<Access>) -> Vec<Route<ApiClient>> {
    const MANY: &str = "/data/v3/{schema}/{endpoint}";
    const ONE: &str = "/data/v3/{schema}/{endpoint}/{id}";
    const PARTITIONS: &str = "/data/v3/{schema}/{endpoint}/partitions";
    const DELETES: &str = "/data/v3/{schema}/{endpoint}/deletes";
    const KEY_CHANGES: &str = "/data/v3/{schema}/{endpoint}/keyChanges";
    const BATCH: &str = "/data/v3/batch";
    let api = &DataState { api: api.clone(), access: Arc::clone(access) };
    let route = |method: Method, template: &'static str, body_bytes, handler| {
        // Both name a resource, and no document.
        let logged: &[&str] =
            if template.starts_with(MANY) { &["schema", "endpoint"] } else { &[] };
        Route::new(method, template, Guard::Token { scope: SCOPE }, handler)
            .with_body(BodyLimits::of_bytes(body_bytes))
            .logging(logged)
    };
    let other = |template, allowed: &'static str| {
        let state = (api.clone(), allowed);
        route(other_methods(), template, 0, handler(&state, not_allowed))
    };
    vec![
        route(Method::GET, MANY, 0, handler(api, read::list)),
        route(Method::POST, MANY, DOCUMENT_BYTES_MAX, handler(api, write::upsert)),
        other(MANY, "GET, HEAD, POST"),
        route(Method::GET, ONE, 0, handler(api, read::get)),
        route(Method::PUT, ONE, DOCUMENT_BYTES_MAX, handler(api, write::replace)),
        route(Method::DELETE, ONE, 0, handler(api, write::delete)),
        other(ONE, "DELETE, GET, HEAD, PUT"),
        route(Method::GET, PARTITIONS, 0, handler(api, read::partitions)),
        other(PARTITIONS, "GET, HEAD"),
        route(Method::GET, DELETES, 0, handler(api, changes::deletes)),
        other(DELETES, "GET, HEAD"),
        route(Method::GET, KEY_CHANGES, 0, handler(api, changes::key_changes)),
        other(KEY_CHANGES, "GET, HEAD"),
        route(Method::POST, BATCH, 0, handler(api, batch::post)).with_body(batch::BODY),
        route(
            Method::GET,
            "/changeQueries/v1/availableChangeVersions",
            0,
            handler(api, changes::available_change_versions),
        ),
        Route::new(
            Method::POST,
            "/oauth/token_info",
            Guard::Token { scope: ANY_SCOPE },
            handler(api, token_info::post),
        )
        .with_body(BodyLimits::of_bytes(TOKEN_REQUEST_BYTES_MAX)),
    ]
}
