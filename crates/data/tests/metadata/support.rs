//! Models and requests for the tests of the metadata.

use std::sync::Arc;

use bytes::Bytes;
use homeroom_data::metadata::{Metadata, routes};
use homeroom_gateway::{Found, Router};
use homeroom_http::{Call, Timestamp};
use homeroom_model::{Model, format, link, shipped as shipped_text, shipped_extension};
use homeroom_testkit::call;
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

/// Returns a model of a few resources.
pub fn small() -> Arc<Model> {
    let source = format::read(include_str!("small.model")).unwrap();
    Arc::new(link(&[source]).unwrap())
}

/// Returns the shipped model.
pub fn shipped() -> Arc<Model> {
    let source = format::read(shipped_text("5.2.0").unwrap()).unwrap();
    Arc::new(link(&[source]).unwrap())
}

/// Returns the models for laws about all resources.
pub fn models() -> [Arc<Model>; 2] {
    let older = format::read(shipped_text("4.0.0").unwrap()).unwrap();
    [Arc::new(link(&[older]).unwrap()), extended(&["tpdm", "sample", "homograph"])]
}

/// Returns the shipped model with extensions.
pub fn extended(names: &[&str]) -> Arc<Model> {
    let core = [shipped_text("5.2.0").unwrap()].into_iter();
    let extensions = names.iter().map(|name| shipped_extension(name, "5.2.0").unwrap());
    let sources: Vec<_> = core.chain(extensions).map(|t| format::read(t).unwrap()).collect();
    Arc::new(link(&sources).unwrap())
}

/// Sends a GET to the route of a path, which may have a query.
pub async fn ask(
    state: &Metadata,
    path: &str,
    headers: &[(&str, &str)],
) -> (u16, HeaderMap, Bytes) {
    let router = Router::new(routes::<()>(state)).unwrap();
    let (path, query) = path.split_once('?').unwrap_or((path, ""));
    let Found { route, params, .. } = router.find(&Method::GET, path).unwrap();
    let mut all = HeaderMap::new();
    for (name, value) in headers {
        let name: HeaderName = name.parse().unwrap();
        all.insert(name, HeaderValue::from_str(value).unwrap());
    }
    let call = Call {
        headers: all,
        query: query.to_owned(),
        params,
        body_limits: route.body,
        ..call(Method::GET, path, Timestamp(0))
    };
    let response =
        (route.handler)(call).await.unwrap_or_else(|problem| problem.into_response("test"));
    let (parts, body) = response.into_parts();
    (parts.status.as_u16(), parts.headers, body.collect().await.unwrap().to_bytes())
}

/// Returns a body as text.
pub fn text(body: &Bytes) -> &str {
    std::str::from_utf8(body).unwrap()
}
