//! The Admin API in this process, called through the front door.
#![allow(dead_code, reason = "each test file uses its part of it")]

use std::fmt;
use std::sync::Arc;

use homeroom_access::{Access, AccessConfig, ApiClient, Manage};
use homeroom_gateway::{FrontDoor, Limits, Metrics};
use homeroom_http::{Guard, RequestBody, Route, Timestamp, empty_response, handler};
use homeroom_model::{Model, format, link, shipped};
use homeroom_store::{Options, Store, StoreUrl, trial};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request};
use http_body_util::BodyExt as _;
use serde_json::{Value, json};

/// Base path of everything that is managed.
pub const BASE: &str = "/adminapi/v2";

/// A Homeroom with the Admin API, tokens, and one guarded path for data.
#[derive(Clone)]
pub struct TestApp {
    name: Arc<str>,
    pub store: Store,
    pub access: Arc<Access>,
    door: Arc<FrontDoor>,
}

impl fmt::Display for TestApp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

/// An answer with its body read.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub headers: HeaderMap,
    pub text: String,
}

impl Answer {
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// Returns the id at the end of the `Location` header.
    pub fn id(&self) -> i64 {
        let location = self.headers.get("location").unwrap_or_else(|| panic!("{self:?}"));
        location.to_str().unwrap().rsplit('/').next().unwrap().parse().unwrap()
    }

    /// Returns the members that have a violation, each with its first message.
    pub fn violations(&self) -> Vec<(String, String)> {
        assert_eq!(self.status, 400, "{self:?}");
        let body = self.json();
        let errors = body["errors"].as_object().unwrap_or_else(|| panic!("{self:?}"));
        let first = |messages: &Value| messages[0].as_str().unwrap().to_owned();
        errors.iter().map(|(member, messages)| (member.clone(), first(messages))).collect()
    }

    /// Asserts that the named members have violations, and no others.
    pub fn assert_invalid(&self, members: &[&str]) {
        let violations = self.violations();
        let mut found: Vec<&str> = violations.iter().map(|(member, _)| member.as_str()).collect();
        let mut members = members.to_vec();
        found.sort_unstable();
        members.sort_unstable();
        assert_eq!(found, members, "{self:?}");
        let body = self.json();
        assert_eq!(self.headers["content-type"], "application/problem+json");
        assert_eq!((&body["title"], &body["status"]), (&json!("Validation failed"), &json!(400)));
        assert!(!body["validationErrors"].as_object().unwrap().is_empty(), "{self:?}");
    }
}

pub fn model() -> Arc<Model> {
    let source = format::read(shipped("5.2.0").unwrap()).unwrap();
    Arc::new(link(&[source]).unwrap())
}

impl TestApp {
    /// Creates one app on each kind of store that is available here.
    pub async fn on_each_store() -> Vec<Self> {
        let mut apps = vec![];
        for (name, store) in trial::on_each(&[]).unwrap() {
            apps.push(Self::on(&name, store).await);
        }
        apps
    }

    /// Creates an app on a store.
    pub async fn on(name: &str, store: Store) -> Self {
        let config = AccessConfig::default();
        let access = Access::open(store.clone(), model(), config, Timestamp::now()).await.unwrap();
        let mut routes = homeroom_access::routes(&access);
        routes.extend(homeroom_admin::routes(&access));
        routes.push(Route {
            method: Method::GET,
            template: "/data",
            guard: Guard::Token { scope: "data" },
            body_limit: 0,
            handler: handler(&(), |(), _: homeroom_access::Call| async {
                Ok(empty_response(http::StatusCode::NO_CONTENT))
            }),
        });
        let metrics = Arc::new(Metrics::new("0.0.0"));
        let door = FrontDoor::new(routes, Arc::clone(&access), metrics, Limits::default()).unwrap();
        Self { name: name.into(), store, access, door: Arc::new(door) }
    }

    /// Creates another node on the same store. It knows the current keys and claim sets, and sees
    /// later changes only when it refreshes.
    pub async fn another_node(&self) -> Self {
        let store = match self.store.url() {
            // An SQLite file belongs to one process: its nodes share the store.
            StoreUrl::Sqlite(_) => self.store.clone(),
            url @ StoreUrl::Postgres(_) => Store::open(&Options::new(url.clone())).unwrap(),
        };
        Self::on(&self.name, store).await
    }

    pub fn routes(&self) -> &[Route<ApiClient>] {
        self.door.routes()
    }

    /// Sends a request unchanged.
    pub async fn send(
        &self,
        method: Method,
        path: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> Answer {
        let mut request = Request::builder().method(method).uri(path).body(()).unwrap();
        request.headers_mut().insert("host", HeaderValue::from_static("homeroom.test"));
        for (name, value) in headers {
            let name = HeaderName::from_bytes(name.as_bytes()).unwrap();
            request.headers_mut().append(name, HeaderValue::from_bytes(value.as_bytes()).unwrap());
        }
        let (head, ()) = request.into_parts();
        let body = RequestBody::Bytes(body.to_owned().into());
        let (head, body) = self.door.answer(head, body).await.into_parts();
        let bytes = body.collect().await.unwrap().to_bytes();
        Answer {
            status: head.status.as_u16(),
            headers: head.headers,
            text: String::from_utf8(bytes.to_vec()).unwrap(),
        }
    }

    /// Creates a key by a command and returns it with its secret.
    pub async fn key(&self, claim_set: Option<&str>, scopes: &[&str]) -> (String, String) {
        let asked = Manage::CreateKey {
            claim_set: claim_set.map(String::from),
            name: Some("by command".into()),
            scopes: scopes.iter().map(|scope| (*scope).into()).collect(),
            education_organizations: vec![1, 2],
            namespace_prefixes: vec!["uri://command".into()],
            ownership_tokens: vec![],
            creator_token: None,
        };
        let made = self.access.manage(asked, Timestamp::now()).await.unwrap();
        let text = |name: &str| made[name].as_str().unwrap().to_owned();
        (text("key"), text("secret"))
    }

    /// Requests a token at a path.
    pub async fn ask_token(&self, path: &str, key: &str, secret: &str, more: &str) -> Answer {
        let form = [("content-type", "application/x-www-form-urlencoded")];
        let body =
            format!("grant_type=client_credentials&client_id={key}&client_secret={secret}{more}");
        self.send(Method::POST, path, &form, &body).await
    }

    /// Returns a client with a token of a key.
    pub async fn client_of(&self, key: &str, secret: &str) -> Client {
        let answer = self.ask_token("/oauth/token", key, secret, "").await;
        assert_eq!(answer.status, 200, "{answer:?}");
        let token = answer.json()["access_token"].as_str().unwrap().to_owned();
        Client { app: self.clone(), authorization: format!("Bearer {token}") }
    }

    /// Returns a client that may manage.
    pub async fn admin(&self) -> Client {
        let (key, secret) = self.key(None, &["admin"]).await;
        let more = "&scope=edfi_admin_api/full_access";
        let answer = self.ask_token("/adminapi/connect/token", &key, &secret, more).await;
        assert_eq!(answer.status, 200, "{answer:?}");
        let token = answer.json()["access_token"].as_str().unwrap().to_owned();
        Client { app: self.clone(), authorization: format!("Bearer {token}") }
    }
}

/// A caller with a token.
#[derive(Clone)]
pub struct Client {
    pub app: TestApp,
    pub authorization: String,
}

impl Client {
    /// Sends a method to a path below [`BASE`], or to any other path.
    pub async fn send(&self, method: Method, path: &str, body: &str) -> Answer {
        let whole = if path.starts_with("/data") || path.starts_with("/adminapi") {
            path.to_owned()
        } else {
            format!("{BASE}{path}")
        };
        let mut headers = vec![("authorization", self.authorization.as_str())];
        if !body.is_empty() {
            headers.push(("content-type", "application/json"));
        }
        self.app.send(method, &whole, &headers, body).await
    }

    pub async fn get(&self, path: &str) -> Answer {
        self.send(Method::GET, path, "").await
    }

    /// Returns the body at a path, which must exist.
    pub async fn read(&self, path: &str) -> Value {
        let answer = self.get(path).await;
        assert_eq!(answer.status, 200, "{path}: {answer:?}");
        answer.json()
    }

    pub async fn post(&self, path: &str, body: &Value) -> Answer {
        self.send(Method::POST, path, &body.to_string()).await
    }

    pub async fn put(&self, path: &str, body: &Value) -> Answer {
        self.send(Method::PUT, path, &body.to_string()).await
    }

    pub async fn delete(&self, path: &str) -> Answer {
        self.send(Method::DELETE, path, "").await
    }

    /// Creates an item and returns its id.
    pub async fn create(&self, path: &str, body: &Value) -> i64 {
        let answer = self.post(path, body).await;
        assert_eq!(answer.status, 201, "{path} {body}: {answer:?}");
        answer.id()
    }

    /// Creates an application with its own vendor and returns its id, key and secret.
    pub async fn application(&self, claim_set: &str) -> (i64, String, String) {
        let vendor = self.create("/vendors", &vendor()).await;
        let asked = application(vendor, claim_set);
        let answer = self.post("/applications", &asked).await;
        assert_eq!(answer.status, 201, "{answer:?}");
        let made = answer.json();
        let text = |name: &str| made[name].as_str().unwrap().to_owned();
        (made["id"].as_i64().unwrap(), text("key"), text("secret"))
    }
}

/// Returns a valid vendor.
pub fn vendor() -> Value {
    json!({
        "company": "Acme",
        "namespacePrefixes": "uri://acme.org,uri://acme.example",
        "contactName": "Ada",
        "contactEmailAddress": "ada@acme.org",
    })
}

/// Returns a valid application.
pub fn application(vendor: i64, claim_set: &str) -> Value {
    json!({
        "applicationName": "Gradebook",
        "vendorId": vendor,
        "claimSetName": claim_set,
        "educationOrganizationIds": [255_901, 255_902],
        "odsInstanceIds": [1],
    })
}
