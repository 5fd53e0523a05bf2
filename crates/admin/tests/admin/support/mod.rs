//! Clients of the Admin API.
#![allow(dead_code, reason = "each test file uses its part of it")]

use homeroom_testkit::{Answer, TestApp};
use http::Method;
use serde_json::{Value, json};

/// Base path of everything that is managed.
pub const BASE: &str = "/adminapi/v2";

/// Returns whether a template is one of the Admin API, and not of published APIs beside it, nor of
/// its first version, which is only refused.
pub fn is_own(template: &str) -> bool {
    let other = ["/adminapi/gateway", "/adminapi/v1"];
    template.starts_with("/adminapi") && !other.iter().any(|other| template.starts_with(other))
}

/// A path that every key for data may read.
pub const DATA: &str = "/changeQueries/v1/availableChangeVersions";

/// A caller with a token.
#[derive(Clone)]
pub struct Client {
    pub app: TestApp,
    pub authorization: String,
}

/// Returns a client with a token of a key.
pub async fn client_of(app: &TestApp, key: &str, secret: &str) -> Client {
    let answer = app.ask_token("/oauth/token", key, secret, "").await;
    with_token(app, &answer)
}

/// Returns a client that may manage.
pub async fn manager(app: &TestApp) -> Client {
    let (key, secret) = app.key_for(None, &["admin"]).await;
    let more = "&scope=edfi_admin_api/full_access";
    let answer = app.ask_token("/adminapi/connect/token", &key, &secret, more).await;
    with_token(app, &answer)
}

fn with_token(app: &TestApp, answer: &Answer) -> Client {
    assert_eq!(answer.status, 200, "{answer:?}");
    let token = answer.json()["access_token"].as_str().unwrap().to_owned();
    Client { app: app.clone(), authorization: format!("Bearer {token}") }
}

impl Client {
    /// Sends a method to a path below [`BASE`], to [`DATA`], or to a whole path of the Admin API.
    pub async fn send(&self, method: Method, path: &str, body: &str) -> Answer {
        let whole = if path == DATA || path.starts_with("/adminapi") {
            path.to_owned()
        } else {
            format!("{BASE}{path}")
        };
        let mut headers = vec![("authorization", self.authorization.as_str())];
        if !body.is_empty() {
            headers.push(("content-type", "application/json"));
        }
        self.app.send(method, &whole, &headers, body.to_owned()).await
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
        id_of(&answer)
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

/// Returns the id at the end of the `Location` header.
pub fn id_of(answer: &Answer) -> i64 {
    answer.header("location").rsplit('/').next().unwrap().parse().unwrap()
}

/// Returns the members that have a violation, each with its first message.
pub fn violations(answer: &Answer) -> Vec<(String, String)> {
    assert_eq!(answer.status, 400, "{answer:?}");
    let body = answer.json();
    let errors = body["errors"].as_object().unwrap_or_else(|| panic!("{answer:?}"));
    let first = |messages: &Value| messages[0].as_str().unwrap().to_owned();
    errors.iter().map(|(member, messages)| (member.clone(), first(messages))).collect()
}

/// Asserts that the named members have violations, and no others.
pub fn assert_invalid(answer: &Answer, members: &[&str]) {
    let violations = violations(answer);
    let mut found: Vec<&str> = violations.iter().map(|(member, _)| member.as_str()).collect();
    let mut members = members.to_vec();
    found.sort_unstable();
    members.sort_unstable();
    assert_eq!(found, members, "{answer:?}");
    let body = answer.json();
    assert_eq!(answer.header("content-type"), "application/problem+json");
    assert_eq!((&body["title"], &body["status"]), (&json!("Validation failed"), &json!(400)));
    assert!(!body["validationErrors"].as_object().unwrap().is_empty(), "{answer:?}");
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
