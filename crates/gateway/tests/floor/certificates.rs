//! Clients that show certificates instead of secrets.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use homeroom_access::Manage;
use homeroom_gateway::{Identity, Tls, fingerprint_of};
use homeroom_http::Timestamp;
use homeroom_testkit::tls::{Authority, Certified};
use homeroom_testkit::{FULL_ACCESS, Folder, TestApp};
use serde_json::Value;

use crate::support::Server;

/// The moment of changes, which needs only to be some moment.
const NOW: Timestamp = Timestamp(1_795_000_000_000_000);

/// A server whose clients may show certificates of an authority.
struct Certifying {
    server: Server,
    authority: Arc<Authority>,
    folder: Folder,
}

impl Certifying {
    fn on(app: TestApp) -> Self {
        let (folder, authority) = (Folder::new(), Arc::new(Authority::new()));
        let own = authority.certify("localhost");
        let file = |name: &str, text: &str| -> PathBuf { folder.write(name, text) };
        let identity = Identity {
            names: vec![],
            certificate: file("server.pem", &own.certificate),
            key: file("server.key", &own.key),
        };
        let tls = Tls::new(vec![identity], Some(file("clients.pem", &authority.pem))).unwrap();
        Self { server: Server::on(app, |door| door, Some(tls)), authority, folder }
    }

    async fn on_each_store() -> Vec<Self> {
        TestApp::empty_on_each_store().await.into_iter().map(Self::on).collect()
    }

    async fn start() -> Self {
        Self::on(TestApp::empty_on_each_store().await.swap_remove(0))
    }

    /// Registers a certificate with a key, or removes it.
    async fn set(&self, key: &str, shown: &Certified, remove: bool) -> Result<Value, String> {
        let file = self.folder.write("shown.pem", &shown.certificate);
        let sha256 = fingerprint_of(&file).unwrap().to_string();
        let set = Manage::SetCertificate { key: key.to_owned(), sha256, remove };
        self.server.app.access.manage(set, NOW).await.map_err(|error| error.to_string())
    }

    async fn post(
        &self,
        path: &str,
        shown: Option<&Certified>,
        headers: &[(&str, &str)],
        body: &str,
    ) -> (u16, Value, String) {
        post(&self.authority, self.server.address, path, shown, headers, body).await.unwrap()
    }
}

/// Posts a body over a connection of its own; returns status, body and head of the answer.
async fn post(
    authority: &Arc<Authority>,
    address: SocketAddr,
    path: &str,
    shown: Option<&Certified>,
    headers: &[(&str, &str)],
    body: &str,
) -> Result<(u16, Value, String), String> {
    let headers: Vec<String> =
        headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
    let headers = headers.concat();
    let request = format!(
        "POST {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n{headers}content-length: \
         {}\r\n\r\n{body}",
        body.len()
    );
    let (authority, shown) = (Arc::clone(authority), shown.cloned());
    let asking = move || authority.ask(address, shown.as_ref(), &request);
    let answer = tokio::task::spawn_blocking(asking).await.unwrap();
    let answer = answer.map_err(|error| error.to_string())?;
    let (head, body) = answer.split_once("\r\n\r\n").ok_or(answer.clone())?;
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap();
    Ok((status, serde_json::from_str(body).unwrap_or(Value::Null), head.to_lowercase()))
}

#[tokio::test]
async fn a_registered_certificate_stands_for_its_key_until_it_is_removed() {
    for it in Certifying::on_each_store().await {
        let (key, secret) = it.server.app.key_for(Some(FULL_ACCESS), &["data"]).await;
        let (own, other) = (it.authority.certify("client"), it.authority.certify("other"));
        let whoami = async |shown| it.post("/floor/whoami", shown, &[], "four").await;
        assert_eq!(whoami(Some(&own)).await.0, 401, "it is not registered");

        it.set(&key, &own, false).await.unwrap();

        for _ in 0..2 {
            let (status, body, _) = whoami(Some(&own)).await;
            assert_eq!((status, &body["key"]), (200, &Value::from(&*key)));
        }
        assert_eq!(whoami(Some(&other)).await.0, 401);
        assert_eq!(whoami(None).await.0, 401);
        // A header is of this request, so it comes before what the connection has shown.
        let right = format!("Basic {}", BASE64.encode(format!("{key}:{secret}")));
        let wrong = format!("Basic {}", BASE64.encode(format!("{key}:wrong")));
        for (header, status) in [(right, 200), (wrong, 401)] {
            let headers = [("authorization", header.as_str())];
            assert_eq!(it.post("/floor/whoami", Some(&own), &headers, "").await.0, status);
        }

        it.set(&key, &own, true).await.unwrap();
        assert_eq!(whoami(Some(&own)).await.0, 401);
    }
}

#[tokio::test]
async fn a_certificate_that_has_moved_to_another_key_counts_from_the_next_request() {
    for it in Certifying::on_each_store().await {
        let (first, _) = it.server.app.key_for(Some(FULL_ACCESS), &["data"]).await;
        let (second, _) = it.server.app.key_for(Some(FULL_ACCESS), &["data"]).await;
        let own = it.authority.certify("client");
        for key in [&first, &second, &first] {
            it.set(key, &own, false).await.unwrap();

            let (status, body, _) = it.post("/floor/whoami", Some(&own), &[], "").await;
            assert_eq!((status, &body["key"]), (200, &Value::from(&**key)));

            it.set(key, &own, true).await.unwrap();
        }
    }
}

#[tokio::test]
async fn a_route_for_certificates_ignores_headers_and_says_what_it_wants() {
    let it = Certifying::start().await;
    let (key, secret) = it.server.app.key_for(Some(FULL_ACCESS), &["data"]).await;
    let own = it.authority.certify("client");
    it.set(&key, &own, false).await.unwrap();
    let basic = format!("Basic {}", BASE64.encode(format!("{key}:{secret}")));
    let headers = [("authorization", basic.as_str()), ("x-api-key", "a.b")];

    let (status, body, _) = it.post("/floor/certified", Some(&own), &headers, "").await;
    assert_eq!((status, &body["key"]), (200, &Value::from(&*key)));
    let (status, _, head) = it.post("/floor/certified", None, &headers, "").await;
    assert_eq!(status, 401);
    assert!(head.contains("www-authenticate: certificate "), "{head}");
}

#[tokio::test]
async fn a_key_gets_a_token_by_its_certificate_and_the_token_ends_with_it() {
    for it in Certifying::on_each_store().await {
        let (key, _) = it.server.app.key_for(Some(FULL_ACCESS), &["data"]).await;
        let (theirs, _) = it.server.app.key_for(Some(FULL_ACCESS), &["data"]).await;
        let own = it.authority.certify("client");
        it.set(&key, &own, false).await.unwrap();
        let ask = async |key: &str, shown| {
            let form = [("content-type", "application/x-www-form-urlencoded")];
            let body = format!("grant_type=client_credentials&client_id={key}");
            it.post("/oauth/token", shown, &form, &body).await
        };

        let (status, body, _) = ask(&key, Some(&own)).await;
        assert_eq!(status, 200, "{body}");
        let bearer = format!("Bearer {}", body["access_token"].as_str().unwrap());
        let headers = [("authorization", bearer.as_str())];
        let whoami = async || it.post("/floor/whoami", None, &headers, "").await.0;
        assert_eq!(whoami().await, 200, "the token works on any connection");
        let (status, body, _) = ask(&theirs, Some(&own)).await;
        assert_eq!((status, &body["error"]), (401, &Value::from("invalid_client")));
        let (status, body, _) = ask(&key, None).await;
        assert_eq!((status, &body["error"]), (401, &Value::from("invalid_request")));

        it.set(&key, &own, true).await.unwrap();
        assert_eq!(whoami().await, 401);
        assert_eq!(ask(&key, Some(&own)).await.0, 401);
    }
}

#[tokio::test]
async fn a_certificate_has_one_key_and_a_key_has_few() {
    let it = Certifying::start().await;
    let (key, _) = it.server.app.key_for(Some(FULL_ACCESS), &["data"]).await;
    let (theirs, _) = it.server.app.key_for(Some(FULL_ACCESS), &["data"]).await;
    let all: Vec<Certified> = (0..5).map(|_| it.authority.certify("client")).collect();

    for shown in &all[..4] {
        it.set(&key, shown, false).await.unwrap();
    }
    let again = it.set(&key, &all[0], false).await.unwrap();
    assert_eq!(again["certificates"].as_array().unwrap().len(), 4);
    let fifth = it.set(&key, &all[4], false).await.unwrap_err();
    assert!(fifth.contains("already has 4"), "{fifth}");
    for remove in [false, true] {
        let taken = it.set(&theirs, &all[0], remove).await.unwrap_err();
        assert!(taken.contains(&key), "{taken}");
    }

    let revoke = Manage::RevokeKey { key: key.clone(), old_secrets_only: false };
    it.server.app.access.manage(revoke, NOW).await.unwrap();
    assert_eq!(it.post("/floor/whoami", Some(&all[0]), &[], "").await.0, 401);
    assert!(it.set(&theirs, &all[0], false).await.is_ok(), "a revoked key has none");
}

#[tokio::test]
async fn a_certificate_of_another_authority_ends_the_connection_until_the_authority_is_named() {
    let it = Certifying::start().await;
    let (key, _) = it.server.app.key_for(Some(FULL_ACCESS), &["data"]).await;
    let another = Authority::new();
    let shown = another.certify("client");
    it.set(&key, &shown, false).await.unwrap();
    let ask = async || {
        post(&it.authority, it.server.address, "/floor/whoami", Some(&shown), &[], "").await
    };
    assert!(ask().await.is_err());
    assert_eq!(it.post("/floor/whoami", None, &[], "").await.0, 401, "others may connect");

    it.folder.write("clients.pem", format!("{}{}", it.authority.pem, another.pem));

    let named = async {
        loop {
            if let Ok((status, ..)) = ask().await {
                return status;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    let named = tokio::time::timeout(Duration::from_mins(1), named).await;
    assert_eq!(named.expect("the file is read again"), 200);
}
