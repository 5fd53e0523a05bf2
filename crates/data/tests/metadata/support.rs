//! Models and calls for the tests of the metadata.

use std::sync::Arc;

use bytes::Bytes;
use homeroom_data::metadata::{Metadata, routes};
use homeroom_http::{Call, Params, RequestBody, Timestamp};
use homeroom_model::{Model, format, link, shipped as shipped_text};
use http::{HeaderMap, HeaderName, HeaderValue, Method};
use http_body_util::BodyExt;

/// Compares a value, as JSON, with its snapshot.
pub fn snapshot(name: &str, value: &impl serde::Serialize) {
    snapshot_text(name, &serde_json::to_string_pretty(value).unwrap());
}

/// Compares a text with its snapshot.
pub fn snapshot_text(name: &str, text: &str) {
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path("snapshots");
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| insta::assert_snapshot!(name, text));
}

/// A model of a few resources.
pub fn small() -> Arc<Model> {
    let source = format::read(include_str!("small.model")).unwrap();
    Arc::new(link(&[source]).unwrap())
}

/// The shipped model.
pub fn shipped() -> Arc<Model> {
    let source = format::read(shipped_text("5.2.0").unwrap()).unwrap();
    Arc::new(link(&[source]).unwrap())
}

/// Sends a GET to the route whose template fits the path.
pub async fn ask(
    state: &Metadata,
    path: &str,
    headers: &[(&str, &str)],
) -> (u16, HeaderMap, Bytes) {
    let (route, params) = routes::<()>(state)
        .into_iter()
        .filter_map(|route| placeholders(route.template, path).map(|params| (route, params)))
        .min_by_key(|(_, params)| params.len())
        .unwrap_or_else(|| panic!("no route for {path}"));
    let mut all = HeaderMap::new();
    for (name, value) in headers {
        let name: HeaderName = name.parse().unwrap();
        all.insert(name, HeaderValue::from_str(value).unwrap());
    }
    let call = Call {
        method: Method::GET,
        path: path.into(),
        query: String::new(),
        headers: all,
        params: Params(params),
        client: None,
        request_id: "0".repeat(32),
        correlation_id: "0".repeat(32),
        base_url: "http://127.0.0.1:8080".into(),
        now: Timestamp(0),
        body: RequestBody::Bytes(Bytes::new()),
        body_limit: route.body_limit,
    };
    let response =
        (route.handler)(call).await.unwrap_or_else(|problem| problem.into_response("test"));
    let (parts, body) = response.into_parts();
    (parts.status.as_u16(), parts.headers, body.collect().await.unwrap().to_bytes())
}

/// A body as text.
pub fn text(body: &Bytes) -> &str {
    std::str::from_utf8(body).unwrap()
}

fn placeholders(template: &str, path: &str) -> Option<Vec<(String, String)>> {
    let (template, path): (Vec<_>, Vec<_>) =
        (template.split('/').collect(), path.split('/').collect());
    if template.len() != path.len() {
        return None;
    }
    let mut found = vec![];
    for (expected, actual) in template.iter().zip(&path) {
        match expected.strip_prefix('{').and_then(|name| name.strip_suffix('}')) {
            Some(name) => found.push((name.to_owned(), (*actual).to_owned())),
            None if expected == actual => {}
            None => return None,
        }
    }
    Some(found)
}
