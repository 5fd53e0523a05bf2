//! A right that ends while a request is in progress: the decision before the body is made again
//! when the document is written.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use homeroom_access::{ClientRights, ItemKind, Manage};
use homeroom_gateway::{Listener, Times};
use homeroom_http::Timestamp;
use homeroom_store::StoreUrl;
use http::Method;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::app::documents::{course, on_each_store, school, student, uri, with};
use crate::app::{Client, TestApp};

/// A way for a right to end, the status of writes afterwards, and the resource that is written.
struct Way {
    name: &'static str,
    status: u16,
    of: &'static str,
}

const fn way(name: &'static str, status: u16, of: &'static str) -> Way {
    Way { name, status, of }
}

const WAYS: [Way; 10] = [
    way("the key is revoked", 401, "courses"),
    way("its secret ends", 401, "courses"),
    way("its older secret is revoked", 401, "courses"),
    way("it is suspended", 401, "courses"),
    way("it is removed", 401, "courses"),
    way("it gets another claim set", 403, "courses"),
    way("its claim set grants less", 403, "courses"),
    way("it loses its organizations", 403, "courses"),
    way("it loses its namespaces", 403, "assessments"),
    way("it loses its ownership tokens", 403, "students"),
];

/// Whether the change affects only PUT and DELETE, while creating is still allowed.
fn is_of_stored_only(way: &Way) -> bool {
    way.of == "students"
}

async fn manage(app: &TestApp, asked: Manage) {
    app.access.manage(asked, Timestamp::now()).await.unwrap();
}

/// Replaces the claim set of these keys by one with these actions.
async fn put_set(app: &TestApp, name: &str, actions: &[&str]) {
    let claim = |resource: &str, strategy: &str| {
        let actions: Vec<Value> = actions
            .iter()
            .map(|action| json!({"name": action, "authorizationStrategies": [strategy]}))
            .collect();
        let claim = format!("http://ed-fi.org/identity/claims/ed-fi/{resource}");
        json!({"claim": claim, "actions": actions})
    };
    let claims = [
        claim("course", "RelationshipsWithEdOrgsOnly"),
        claim("assessment", "NamespaceBased"),
        claim("student", "OwnershipBased"),
    ];
    let definition = json!({"name": name, "resourceClaims": claims});
    manage(app, Manage::PutClaimSet { name: name.into(), definition }).await;
}

async fn key(app: &TestApp) -> Client {
    put_set(app, "Mine", &["Create", "Read", "Update", "Delete"]).await;
    put_set(app, "Readers", &["Read"]).await;
    let asked = Manage::CreateKey {
        claim_set: Some("Mine".into()),
        name: None,
        scopes: vec![],
        education_organizations: vec![11],
        namespace_prefixes: vec!["uri://ours".into()],
        ownership_tokens: vec![],
        creator_token: Some(7),
    };
    app.client_with(asked).await
}

/// Ends a key's right in one way.
async fn end(client: &Client, way: &Way) {
    let (app, key) = (&client.app, client.key.clone());
    let rotate = |old_secret_seconds| Manage::RotateKey { key: key.clone(), old_secret_seconds };
    let mut change = match way.name {
        "the key is revoked" => {
            return manage(app, Manage::RevokeKey { key, old_secrets_only: false }).await;
        }
        "its secret ends" => return manage(app, rotate(Some(0))).await,
        "its older secret is revoked" => {
            manage(app, rotate(None)).await;
            return manage(app, Manage::RevokeKey { key, old_secrets_only: true }).await;
        }
        "its claim set grants less" => return put_set(app, "Mine", &["Read"]).await,
        _ => app.access.begin_change(Timestamp::now()).await.unwrap(),
    };
    let (number, rights) = change.look_up(|registry| {
        let applications = registry.items(ItemKind::Application).map(|(id, _)| id);
        let mut clients = applications.flat_map(|id| registry.clients_of(id));
        let found = clients.find(|found| found.client.key == key).unwrap();
        (found.application, ClientRights::from(&found.client))
    });
    match way.name {
        "it is suspended" => change.change_client(&key, number, "a", false).unwrap(),
        "it is removed" => change.remove_client(&key),
        "it gets another claim set" => {
            let claim_set = Some("Readers".into());
            change.grant(&key, &ClientRights { claim_set, ..rights });
        }
        "it loses its organizations" => {
            let education_organizations = vec![12];
            change.grant(&key, &ClientRights { education_organizations, ..rights });
        }
        "it loses its namespaces" => {
            let namespace_prefixes = vec!["uri://theirs".into()];
            change.grant(&key, &ClientRights { namespace_prefixes, ..rights });
        }
        "it loses its ownership tokens" => {
            let definition = json!({"applicationName": "another", "claimSetName": "Mine"});
            let another = change.put(ItemKind::Application, None, definition).unwrap();
            change.change_client(&key, another, "a", true).unwrap();
        }
        other => panic!("{other}"),
    }
    change.commit().await.unwrap();
}

/// Returns a document of a resource; `text` is the value of the member that an update changes.
fn document(of: &str, text: &str) -> Value {
    match of {
        "courses" => with(course(11, "k"), "courseTitle", text),
        "students" => with(student("s"), "firstName", text),
        _ => json!({
            "assessmentIdentifier": "1",
            "namespace": "uri://ours/a",
            "assessmentTitle": text,
            "academicSubjects": [{"academicSubjectDescriptor": uri("AcademicSubjectDescriptor", "Mathematics")}],
        }),
    }
}

/// Returns the writes to try on a stored document: method, path and body.
fn writes(way: &Way, path: &str) -> Vec<(Method, String, String)> {
    let all = format!("/ed-fi/{}", way.of);
    let changed = document(way.of, "Changed").to_string();
    let writes = [
        (
            Method::POST,
            all.clone(),
            document(way.of, "Changed").to_string().replace("\"k\"", "\"new\""),
        ),
        (Method::POST, all, changed.clone()),
        (Method::PUT, path.to_owned(), changed),
        (Method::DELETE, path.to_owned(), String::new()),
    ];
    let from = usize::from(is_of_stored_only(way));
    writes.into_iter().skip(from).collect()
}

#[tokio::test]
async fn a_right_ended_on_another_node_permits_no_further_write() {
    for owner in on_each_store().await {
        let app = &owner.app;
        owner.create("/ed-fi/schools", &school(11)).await;
        for way in &WAYS {
            for at in 0..writes(way, "").len() {
                let client = key(app).await;
                let path =
                    client.create(&format!("/ed-fi/{}", way.of), &document(way.of, "A")).await;
                let late = Client { app: app.another_node().await, ..client.clone() };
                assert_eq!(late.get(&path).await.status, 200);
                end(&client, way).await;
                let before = owner.newest().await;
                let (method, to, body) = writes(way, &path).swap_remove(at);

                let answer = late.send(method.clone(), &to, &[], body).await;

                let what = format!("{app}: {} before {method} {to}: {answer:?}", way.name);
                assert_eq!(answer.status, way.status, "{what}");
                assert_eq!(owner.newest().await, before, "{what}");
                assert_eq!(owner.delete(&path).await.status, 204);
            }
        }
    }
}

#[tokio::test]
async fn a_right_that_ends_while_the_body_arrives_permits_no_write() {
    for owner in on_each_store().await {
        let app = &owner.app;
        let address = serve(app);
        owner.create("/ed-fi/schools", &school(11)).await;
        for way in &WAYS {
            for at in 0..writes(way, "").len() - 1 {
                let client = key(app).await;
                let path =
                    client.create(&format!("/ed-fi/{}", way.of), &document(way.of, "A")).await;
                let before = owner.newest().await;
                let (method, to, body) = writes(way, &path).swap_remove(at);
                let mut sent = Slow::begin(address, &client, &method, &to, &body).await;

                end(&client, way).await;
                let answer = sent.finish(&body).await;

                let what = format!("{app}: {} before {method} {to}: {answer}", way.name);
                assert!(answer.starts_with(&format!("HTTP/1.1 {} ", way.status)), "{what}");
                assert_eq!(owner.newest().await, before, "{what}");
                assert_eq!(owner.delete(&path).await.status, 204);
            }
        }
    }
}

#[tokio::test]
async fn a_write_succeeds_although_other_keys_lose_their_rights_meanwhile() {
    for owner in on_each_store().await {
        let app = &owner.app;
        let late = Client { app: app.another_node().await, ..owner.clone() };
        let address = serve(app);
        let body = student("slow").to_string();
        let mut sent = Slow::begin(address, &owner, &Method::POST, "/ed-fi/students", &body).await;
        let other = app.client("FullAccess").await;
        manage(app, Manage::RevokeKey { key: other.key, old_secrets_only: false }).await;

        let slow = sent.finish(&body).await;

        assert!(slow.starts_with("HTTP/1.1 201 "), "{app}: {slow}");
        let changes = async {
            for _ in 0..20 {
                app.key("FullAccess", &[]).await;
            }
        };
        let writes = async {
            for number in 0..60 {
                late.create("/ed-fi/students", &student(&number.to_string())).await;
            }
        };
        tokio::join!(changes, writes);
    }
}

#[tokio::test]
async fn token_info_reports_the_rights_at_the_time_the_body_has_arrived() {
    for owner in on_each_store().await {
        let app = &owner.app;
        let address = serve(app);
        let client = key(app).await;
        let token = client.authorization.trim_start_matches("Bearer ");
        let body = json!({"token": token}).to_string();
        let mut sent =
            Slow::begin(address, &client, &Method::POST, "/oauth/token_info", &body).await;

        end(&client, &WAYS[0]).await;
        let answer = sent.finish(&body).await;

        assert!(answer.starts_with("HTTP/1.1 401 "), "{app}: {answer}");
    }
}

/// Serves an app on an address of this machine, until the test ends.
fn serve(app: &TestApp) -> SocketAddr {
    let listener = Listener::bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let address = listener.address();
    let times = Times { header: Duration::from_mins(1), drain: Duration::ZERO };
    tokio::spawn(listener.serve(Arc::clone(&app.front_door), std::future::pending(), times));
    address
}

/// A request whose body has not been sent yet.
struct Slow(TcpStream);

impl Slow {
    /// Sends the head, and waits until the server asks for the body, which shows that the client is
    /// authorized.
    async fn begin(
        to: SocketAddr,
        client: &Client,
        method: &Method,
        path: &str,
        body: &str,
    ) -> Self {
        let path = if path.starts_with("/ed-fi") { format!("/data/v3{path}") } else { path.into() };
        let mut stream = TcpStream::connect(to).await.unwrap();
        let head = format!(
            "{method} {path} HTTP/1.1\r\nhost: homeroom.test\r\nauthorization: {}\r\n\
             content-type: application/json\r\ncontent-length: {}\r\nexpect: 100-continue\r\n\
             connection: close\r\n\r\n",
            client.authorization,
            body.len()
        );
        stream.write_all(head.as_bytes()).await.unwrap();
        let mut wanted = vec![];
        while !wanted.ends_with(b"\r\n\r\n") {
            wanted.push(stream.read_u8().await.unwrap());
        }
        let wanted = String::from_utf8(wanted).unwrap();
        assert!(wanted.starts_with("HTTP/1.1 100 "), "{wanted}");
        Self(stream)
    }

    /// Sends the body; returns the answer.
    async fn finish(&mut self, body: &str) -> String {
        self.0.write_all(body.as_bytes()).await.unwrap();
        let mut answer = String::new();
        self.0.read_to_string(&mut answer).await.unwrap();
        answer
    }
}

#[tokio::test]
async fn a_read_that_waited_is_checked_against_the_current_rights() {
    let (mut waited, mut are_all_files) = (0, true);
    for owner in on_each_store().await {
        let app = &owner.app;
        let is_file = matches!(app.data.store.url(), StoreUrl::Sqlite(_));
        are_all_files &= is_file;
        owner.create("/ed-fi/schools", &school(11)).await;
        for (way, status) in [
            ("the key is revoked", 401),
            ("it gets another claim set", 200),
            ("it loses its organizations", 200),
        ] {
            for below in ["", "?totalCount=true", "/partitions"] {
                let client = key(app).await;
                let path = client.create("/ed-fi/courses", &document("courses", "A")).await;
                let to = format!("/ed-fi/courses{below}");
                let mut read = Box::pin(client.get(&to));
                let begun = std::future::poll_fn(|context| {
                    let polled = read.as_mut().poll(context);
                    std::task::Poll::Ready(polled.is_pending())
                });
                if !begun.await {
                    // The read of a small store may finish at once.
                    assert_eq!(owner.delete(&path).await.status, 204);
                    continue;
                }
                waited += 1;

                let way = WAYS.iter().find(|known| known.name == way).unwrap();
                end(&client, way).await;
                let answer = read.await;

                let what = format!("{app}: {} before {to}: {answer:?}", way.name);
                assert_eq!(answer.status, status, "{what}");
                if way.name == "it loses its organizations" && below != "/partitions" {
                    assert_eq!(answer.json(), json!([]), "{what}");
                }
                assert_eq!(owner.delete(&path).await.status, 204);
            }
        }
    }
    // On a database server, every read has to wait.
    assert!(waited > 0 || are_all_files, "no read has waited");
}
