//! Helpers that the tests of this crate share.
#![allow(dead_code, reason = "each test file uses its part of it")]

use std::sync::Arc;

use bytes::Bytes;
use homeroom_access::{Access, AccessConfig, ApiClient, Call, Manage, routes};
use homeroom_http::{Problem, RequestBody, Response, Route, Timestamp};
use homeroom_model::{EXTENSIONS_SHIPPED, Model, format, link, shipped};
use homeroom_store::Store;
use homeroom_testkit::trial;
use http::{HeaderMap, HeaderName, HeaderValue, Method};
use http_body_util::BodyExt as _;
use serde_json::Value;

pub const NOW: Timestamp = Timestamp(1_795_250_901_000_000);

pub fn model() -> Arc<Model> {
    let source = format::read(shipped("5.2.0").unwrap()).unwrap();
    Arc::new(link(&[source]).unwrap())
}

/// Returns the shipped models: the older standard, and the current one with all extensions.
pub fn models() -> [Arc<Model>; 2] {
    let older = [format::read(shipped("4.0.0").unwrap()).unwrap()];
    let core = [shipped("5.2.0").unwrap()].into_iter();
    let extended: Vec<_> = core
        .chain(EXTENSIONS_SHIPPED.iter().map(|(.., text)| *text))
        .map(|text| format::read(text).unwrap())
        .collect();
    [Arc::new(link(&older).unwrap()), Arc::new(link(&extended).unwrap())]
}

pub fn store() -> Store {
    trial::on_one(&[]).unwrap()
}

pub async fn open(store: &Store) -> Arc<Access> {
    open_with(store, AccessConfig::default()).await
}

pub async fn open_with(store: &Store, config: AccessConfig) -> Arc<Access> {
    Access::open(store.clone(), model(), config, NOW).await.unwrap()
}

pub async fn access() -> Arc<Access> {
    open(&store()).await
}

/// A key and its secret.
#[derive(Debug, Clone)]
pub struct Credentials {
    pub key: String,
    pub secret: String,
}

pub fn new_key(claim_set: &str) -> Manage {
    Manage::CreateKey {
        claim_set: Some(claim_set.into()),
        name: Some("a test".into()),
        scopes: vec![],
        education_organizations: vec![],
        namespace_prefixes: vec![],
        ownership_tokens: vec![],
        creator_token: None,
    }
}

pub async fn create(access: &Access, asked: Manage) -> Credentials {
    let made = access.manage(asked, NOW).await.unwrap();
    Credentials { key: text(&made["key"]), secret: text(&made["secret"]) }
}

pub fn text(value: &Value) -> String {
    value.as_str().unwrap_or_else(|| panic!("{value} is not a text")).to_owned()
}

/// An answer with its body read.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub headers: HeaderMap,
    pub bytes: Bytes,
    pub body: Value,
}

async fn read(response: Response) -> Answer {
    let (parts, body) = response.into_parts();
    let bytes = body.collect().await.unwrap().to_bytes();
    Answer {
        status: parts.status.as_u16(),
        headers: parts.headers,
        body: serde_json::from_slice(&bytes).unwrap(),
        bytes,
    }
}

/// Calls a route of this part as the front door would.
pub async fn call(
    access: &Arc<Access>,
    method: Method,
    path: &str,
    headers: &[(&str, &str)],
    body: &str,
    now: Timestamp,
) -> Answer {
    let route = routes(access)
        .into_iter()
        .find(|route| route.template == path && route.methods.contains(&method))
        .unwrap_or_else(|| panic!("no route {method} {path}"));
    call_route(access, route, path, headers, body, now).await
}

/// Calls a route as the front door would.
pub async fn call_route(
    access: &Arc<Access>,
    route: Route<ApiClient>,
    path: &str,
    headers: &[(&str, &str)],
    body: &str,
    now: Timestamp,
) -> Answer {
    let authorization =
        headers.iter().find(|(name, _)| *name == "authorization").map(|(_, value)| *value);
    let client: Result<Option<Arc<ApiClient>>, Problem> = match route.guard {
        homeroom_http::Guard::Public => Ok(None),
        homeroom_http::Guard::Token { scope } => {
            access.recognize(authorization, scope, now).map(Some)
        }
        guard => panic!("{guard:?} is no guard of this part"),
    };
    let client = match client {
        Ok(client) => client,
        Err(problem) => return read((route.refusals.answer)(problem, "c")).await,
    };
    let mut map = HeaderMap::new();
    for (name, value) in headers {
        map.append(
            HeaderName::from_bytes(name.as_bytes()).unwrap(),
            HeaderValue::from_str(value).unwrap(),
        );
    }
    let call = Call {
        headers: map,
        client,
        foreign: None,
        correlation_id: "c".into(),
        body: RequestBody::Bytes(Bytes::copy_from_slice(body.as_bytes())),
        body_limits: route.body,
        ..homeroom_testkit::call(route.methods[0].clone(), path, now)
    };
    let answered = (route.handler)(call).await;
    read(answered.unwrap_or_else(|problem| (route.refusals.answer)(problem, "c"))).await
}

pub const FORM: (&str, &str) = ("content-type", "application/x-www-form-urlencoded");

/// Gets a token the way clients do.
pub async fn token(access: &Arc<Access>, credentials: &Credentials, now: Timestamp) -> String {
    let answer = ask_token(access, credentials, "", now).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    text(&answer.body["access_token"])
}

/// Asks for a token with credentials in the body; `more` is appended to the form.
pub async fn ask_token(
    access: &Arc<Access>,
    credentials: &Credentials,
    more: &str,
    now: Timestamp,
) -> Answer {
    let Credentials { key, secret } = credentials;
    let body =
        format!("grant_type=client_credentials&client_id={key}&client_secret={secret}{more}");
    call(access, Method::POST, "/oauth/token", &[FORM], &body, now).await
}

/// Returns the client of a token, or the status and type of the refusal.
pub fn recognize(
    access: &Access,
    token: &str,
    scope: &str,
    now: Timestamp,
) -> Result<Arc<ApiClient>, (u16, &'static str)> {
    access
        .recognize(Some(&format!("Bearer {token}")), scope, now)
        .map_err(|problem| (problem.kind.status().as_u16(), problem.kind.urn()))
}
