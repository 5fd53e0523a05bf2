//! Credentials of every kind, pages of other origins, and the limit of each client.
#![expect(clippy::disallowed_methods, reason = "the pauses between readings are timed")]

use std::sync::Arc;
use std::time::{Duration, Instant};

use homeroom_gateway::{AccessLog, Limits, LoggedRequests, Rate};
use homeroom_http::{Cors, Timestamp};
use homeroom_store::StoreUrl;
use homeroom_testkit::{FULL_ACCESS, Folder, TestApp};
use http::Method;
use serde_json::{Value, json};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;

use crate::support::{Credentials, Server, head};

/// The moment of a revocation, which needs only to be some moment.
const NOW: i64 = 1_795_000_000_000_000;

fn basic(key: &str, secret: &str) -> String {
    format!("Basic {}", BASE64.encode(format!("{key}:{secret}")))
}

/// Asks who it is with these headers; returns status and body.
async fn whoami(server: &Server, headers: &[(&str, &str)], body: &str) -> (u16, Value) {
    let answer = server.send(Method::POST, "/floor/whoami", headers, body).await;
    (answer.status.as_u16(), serde_json::from_slice(&answer.body).unwrap())
}

#[tokio::test]
async fn a_client_is_recognized_by_each_credential_that_the_route_accepts() {
    for server in Server::on_each_store().await {
        let Credentials { key, secret, bearer } = server.key().await;
        let (basic, api_key) = (basic(&key, &secret), format!("{key}.{secret}"));
        let verified = || server.metric("homeroom_credentials_verified_total");
        let mut counts = vec![verified()];
        for _ in 0..3 {
            for headers in
                [("authorization", &bearer), ("authorization", &basic), ("x-api-key", &api_key)]
            {
                let headers = [(headers.0, headers.1.as_str())];
                let (status, body) = whoami(&server, &headers, "four").await;
                assert_eq!((status, body), (200, json!({"key": key, "bytes": 4})), "{headers:?}");
            }
            counts.push(verified());
        }
        // The token, and the secret in one form or both.
        assert!((2..=3).contains(&(counts[1] - counts[0])), "{}: {counts:?}", server.app);
        assert_eq!(counts[1..], [counts[1]; 3], "each is verified once");
    }
}

#[tokio::test]
async fn whoever_has_the_secret_of_a_launch_takes_nothing_from_strangers() {
    let server = Server::start().await;
    let used =
        |budget: &str| server.metric(&format!("homeroom_budget_used{{budget=\"{budget}\"}}"));
    for (path, own, others) in [
        ("/floor/show/opensesame/67108864", "answers", "public_answers"),
        ("/floor/stream/67108864", "public_answers", "answers"),
    ] {
        let before = used(others);
        let mut unread = server.connect(&format!("GET {path} HTTP/1.1\r\nhost: a\r\n\r\n")).await;
        assert!(head(&mut unread).await.starts_with("HTTP/1.1 200 "), "{path}");

        assert!(used(own) > 0, "{path}");
        assert_eq!((before, used(others)), (0, 0), "{path}");
        drop(unread);
        for _ in 0..1_000 {
            if used(own) == 0 {
                break;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }
}

#[tokio::test]
async fn whatever_is_refused_below_the_prefix_of_a_part_is_in_its_form() {
    for server in Server::on_each_store().await {
        let Credentials { key, secret, .. } = server.key().await;
        let own = basic(&key, &secret);
        let (key, secret) = server.app.key_for(None, &["learning"]).await;
        let other = basic(&key, &secret);
        let full = Limits { in_flight: 0, ..Limits::default() };
        let full = Server::within(server.app.clone(), full, |door| door, None);
        for (server, method, path, authorization, status) in [
            (&server, Method::POST, "/floor/whoami", &other, 403),
            (&server, Method::GET, "/floor/none", &own, 404),
            (&server, Method::GET, "/floor/stream/many", &own, 404),
            (&server, Method::POST, "/floor/whoami", &own, 415),
            (&full, Method::GET, "/floor/stream/1", &own, 503),
        ] {
            let headers = [
                ("authorization", authorization.as_str()),
                ("content-type", "application/xml"),
                ("correlationid", "mine"),
            ];
            let answer = server.send(method, path, &headers, "").await;

            assert_eq!(answer.status, status, "{path}: {answer:?}");
            let body: Value = serde_json::from_slice(&answer.body).unwrap();
            assert!(body["message"].is_string(), "{path}: {body}");
            assert_eq!(body["id"], "mine", "{path}");
        }
    }
}

#[tokio::test]
async fn credentials_may_be_in_a_small_form() {
    let server = Server::start().await;
    let Credentials { key, secret, .. } = server.key().await;
    let form = [("content-type", "application/x-www-form-urlencoded; charset=utf-8")];
    let value = basic(&key, &secret).replace('+', "%2B").replace('=', "%3D").replace(' ', "+");
    let body = format!("Authorization={value}&content=x");

    let (status, answer) = whoami(&server, &form, &body).await;
    assert_eq!((status, &answer), (200, &json!({"key": key, "bytes": body.len()})));
    let api_key = format!("{key}.{secret}");
    let beside = [form[0], ("x-api-key", api_key.as_str())];
    let (status, _) = whoami(&server, &beside, "content=x").await;
    assert_eq!(status, 200, "a header counts before a form");

    let (status, _) = whoami(&server, &form, "Authorization=Basic+x&content=x").await;
    assert_eq!(status, 401);
    let (status, _) = whoami(&server, &form, "content=x").await;
    assert_eq!(status, 401);
    let long = format!("{body}{}", "x".repeat(20 << 10));
    let (status, _) = whoami(&server, &form, &long).await;
    assert_eq!(status, 413, "of a stranger, little is read");
}

#[tokio::test]
async fn wrong_credentials_are_refused_in_the_form_of_the_part() {
    let server = Server::start().await;
    let Credentials { key, secret, bearer } = server.key().await;
    for (name, value) in [
        ("authorization", basic(&key, "wrong")),
        ("authorization", basic("unknown", &secret)),
        ("authorization", "Basic".into()),
        ("authorization", "Basic nonsense".into()),
        ("authorization", format!("Basic {}", "x".repeat(4_000))),
        ("authorization", "Digest x".into()),
        ("authorization", format!("{bearer}x")),
        ("x-api-key", format!("{key}.wrong")),
        ("x-api-key", key.clone()),
        ("x-other", "x".into()),
    ] {
        let answer =
            server.send(Method::POST, "/floor/whoami", &[(name, value.as_str())], "").await;

        assert_eq!(answer.status, 401, "{value}: {answer:?}");
        assert!(answer.headers.contains_key("www-authenticate"), "{value}");
        let body: Value = serde_json::from_slice(&answer.body).unwrap();
        assert_eq!(body["message"], "Authentication Failed", "{value}");
    }
    let answer = server.send(Method::POST, "/floor/whoami", &[], "").await;
    assert!(answer.headers["www-authenticate"].to_str().unwrap().starts_with("Basic "));
}

#[tokio::test]
async fn whatever_refuses_a_token_request_speaks_as_oauth_clients_expect() {
    let rate = Rate { per_second: 0.01, burst: 5 };
    let server = Server::start_with(|door| door.with_rate(rate), None).await;
    let form = [("content-type", "application/x-www-form-urlencoded"), ("correlationid", "mine")];
    let long = "x".repeat((16 << 10) + 1);
    let ask = "grant_type=client_credentials&client_id=a&client_secret=b";
    for (path, method, body, status, error) in [
        ("/oauth/token", Method::GET, "", 405, "invalid_request"),
        ("/oauth/token/", Method::PUT, ask, 405, "invalid_request"),
        ("/oauth/token", Method::POST, &long, 413, "invalid_request"),
        ("/adminapi/connect/token", Method::POST, &long, 413, "invalid_request"),
        ("/oauth/token", Method::POST, ask, 401, "invalid_client"),
        ("/oauth/token", Method::POST, ask, 429, "temporarily_unavailable"),
        ("/adminapi/connect/token", Method::POST, ask, 429, "temporarily_unavailable"),
    ] {
        let answer = server.send(method.clone(), path, &form, body).await;

        assert_eq!(answer.status, status, "{method} {path}: {answer:?}");
        let media = answer.headers["content-type"].to_str().unwrap();
        assert!(media.starts_with("application/json"), "{method} {path}: {media}");
        assert_eq!(answer.headers["cache-control"], "no-store", "{method} {path}");
        assert_eq!(answer.headers.contains_key("allow"), status == 405, "{method} {path}");
        assert_eq!(answer.headers.contains_key("retry-after"), status == 429, "{method} {path}");
        let body: Value = serde_json::from_slice(&answer.body).unwrap();
        assert_eq!(body["error"], error, "{method} {path}");
        assert!(body["error_description"].as_str().is_some_and(|text| text.len() > 10), "{body}");
        if status != 401 {
            assert_eq!(body["correlationId"], "mine", "{method} {path}");
        }
    }
}

#[tokio::test]
async fn a_route_for_tokens_accepts_nothing_else() {
    let server = Server::start().await;
    let Credentials { key, secret, bearer } = server.key().await;
    let put = async |name: &str, value: &str| {
        let answer = server.send(Method::PUT, "/floor/count", &[(name, value)], "x").await;
        answer.status.as_u16()
    };

    assert_eq!(put("authorization", &basic(&key, &secret)).await, 401);
    assert_eq!(put("x-api-key", &format!("{key}.{secret}")).await, 401);
    assert_eq!(put("authorization", &bearer).await, 200);
}

#[tokio::test]
async fn a_revoked_key_is_refused_at_its_next_request_however_it_is_shown() {
    for server in Server::on_each_store().await {
        let Credentials { key, secret, .. } = server.key().await;
        let (basic, api_key) = (basic(&key, &secret), format!("{key}.{secret}"));
        let all = [("authorization", basic.as_str()), ("x-api-key", api_key.as_str())];
        for headers in all {
            assert_eq!(whoami(&server, &[headers], "").await.0, 200);
        }

        let revoke = homeroom_access::Manage::RevokeKey { key, old_secrets_only: false };
        server.app.access.manage(revoke, Timestamp(NOW)).await.unwrap();

        for headers in all {
            assert_eq!(whoami(&server, &[headers], "").await.0, 401);
        }
    }
}

#[tokio::test]
async fn a_key_works_at_its_first_use_on_a_node_that_has_not_heard_of_it() {
    // Only a database has several nodes.
    let is_shared = |app: &TestApp| matches!(app.data.store.url(), StoreUrl::Postgres(_));
    for app in TestApp::empty_on_each_store().await.into_iter().filter(is_shared) {
        let other = Server::on(app.another_node().await, |door| door, None);
        let (key, secret) = app.key_for(Some(FULL_ACCESS), &["data"]).await;

        let (status, _) = whoami(&other, &[("authorization", &basic(&key, &secret))], "").await;
        assert_eq!(status, 200, "{app}");
        let (key, secret) = app.key_for(Some(FULL_ACCESS), &["data"]).await;
        let bearer = other.bearer(&key, &secret).await;
        assert_eq!(whoami(&other, &[("authorization", &bearer)], "").await.0, 200, "{app}");
    }
}

#[tokio::test]
async fn many_unknown_keys_cause_few_readings() {
    // Only there is the registry read again.
    let is_shared = |app: &TestApp| matches!(app.data.store.url(), StoreUrl::Postgres(_));
    for app in TestApp::empty_on_each_store().await.into_iter().filter(is_shared) {
        let server = Arc::new(Server::on(app, |door| door, None));
        let stranger = |number: usize| {
            let server = Arc::clone(&server);
            async move {
                let unknown = basic(&format!("unknown{number}"), "secret");
                whoami(&server, &[("authorization", &unknown)], "").await.0
            }
        };

        let begun = Instant::now();
        for number in 0..21 {
            assert_eq!(stranger(number).await, 401);
        }
        let one_by_one = begun.elapsed();
        let begun = Instant::now();
        let all: Vec<_> = (100..500).map(|number| tokio::spawn(stranger(number))).collect();
        for stranger in all {
            assert_eq!(stranger.await.unwrap(), 401);
        }
        let together = begun.elapsed();

        assert!(one_by_one >= Duration::from_secs(1), "20 a second: {one_by_one:?}");
        assert!(together < Duration::from_secs(10), "one for all that wait: {together:?}");
    }
}

#[tokio::test]
async fn a_secret_in_the_path_lets_its_bearer_in_and_the_rest_arrives_as_sent() {
    let server = Server::start().await;
    let get = async |path: &str| server.send(Method::GET, path, &[], "").await;

    let answer = get("/floor/play/opensesame/A/b%2Fc/").await;
    assert_eq!((answer.status.as_u16(), &answer.body[..]), (200, &b"\"A/b%2Fc/\""[..]));
    assert_eq!(get("/floor/play/wrong/a").await.status, 404);
    let wrong = server.send(Method::POST, "/floor/play/wrong/a", &[], "").await;
    assert_eq!(wrong.status, 405);
}

#[tokio::test]
async fn pages_of_the_named_origins_may_call_and_others_may_not() {
    let cors = Cors { origins: vec!["https://app.test".into()], ..Cors::default() };
    let server = Server::start_with(|door| door.with_cors(cors.clone()), None).await;
    let asked = |origin| {
        [
            ("origin", origin),
            ("access-control-request-method", "PUT"),
            ("access-control-request-headers", "authorization"),
        ]
    };

    let granted =
        server.send(Method::OPTIONS, "/floor/through", &asked("https://app.test"), "").await;
    assert_eq!(granted.status, 204, "{granted:?}");
    assert_eq!(granted.headers["access-control-allow-methods"], "PUT, POST");
    let refused =
        server.send(Method::OPTIONS, "/floor/through", &asked("https://no.test"), "").await;
    assert_eq!(refused.status, 401, "{refused:?}");
    let nowhere = server.send(Method::OPTIONS, "/floor/none", &asked("https://app.test"), "").await;
    assert_eq!(nowhere.status, 404, "{nowhere:?}");

    let origin = [("origin", "https://app.test")];
    for (path, status) in [("/floor/stream/10", 200), ("/floor/none", 404)] {
        let answer = server.send(Method::GET, path, &origin, "").await;
        assert_eq!(answer.status, status);
        assert_eq!(answer.headers["access-control-allow-origin"], "https://app.test", "{path}");
    }
    let shut = Server::start().await;
    let answer = shut.send(Method::GET, "/floor/stream/10", &origin, "").await;
    assert!(!answer.headers.contains_key("access-control-allow-origin"));
}

#[tokio::test]
async fn each_client_has_its_own_limit_of_requests() {
    let rate = Rate { per_second: 0.01, burst: 3 };
    let server = Server::start_with(|door| door.with_rate(rate), None).await;
    let first = server.app.key_for(Some(FULL_ACCESS), &["data"]).await;
    let second = server.app.key_for(Some(FULL_ACCESS), &["data"]).await;

    for (key, secret) in [first, second] {
        let headers = [("authorization", &*basic(&key, &secret))];
        for number in 0..5 {
            let answer = server.send(Method::POST, "/floor/whoami", &headers, "").await;
            let expected = if number < 3 { 200 } else { 429 };
            assert_eq!(answer.status, expected, "{number}: {answer:?}");
            assert_eq!(answer.headers.contains_key("retry-after"), number >= 3, "{number}");
        }
    }
    let strangers = async || server.send(Method::GET, "/floor/stream/1", &[], "").await.status;
    assert_eq!([strangers().await, strangers().await, strangers().await], [200, 200, 200]);
    assert_eq!(strangers().await, 429);
}

#[tokio::test]
async fn whoever_is_refused_is_limited_by_the_address() {
    let strange = [
        ("/floor/whoami", Method::POST, "", 401),
        ("/floor/whoami", Method::POST, "Bearer x", 401),
        ("/floor/whoami", Method::POST, "Basic eDp4", 401),
        ("/floor/count", Method::PUT, "Bearer x", 401),
        ("/floor/count", Method::PATCH, "", 401),
        ("/floor/stream/1", Method::PUT, "", 405),
        ("/floor/play/wrong/a", Method::GET, "", 404),
        ("/floor/nowhere", Method::GET, "", 404),
    ];
    for (path, method, authorization, status) in strange {
        let rate = Rate { per_second: 0.01, burst: 2 };
        let server = Server::start_with(|door| door.with_rate(rate), None).await;
        let headers = [("authorization", authorization)];
        let headers = if authorization.is_empty() { &[][..] } else { &headers };
        for expected in [status, status, 429, 429] {
            let answer = server.send(method.clone(), path, headers, "").await;
            assert_eq!(answer.status, expected, "{method} {path} {authorization}: {answer:?}");
            assert_eq!(answer.headers.contains_key("retry-after"), expected == 429);
        }
        assert_eq!(server.metric("homeroom_client_rate_refused_total"), 2, "{method} {path}");
    }
}

#[tokio::test]
async fn where_an_address_guesses_too_much_only_what_was_proved_before_is_looked_at() {
    let rate = Rate { per_second: 0.01, burst: 4 };
    for app in TestApp::empty_on_each_store().await {
        let server = Server::on(app, |door| door.with_rate(rate), None);
        let Credentials { key, secret, bearer } = server.key().await;
        let (other, its_secret) = server.app.key_for(Some(FULL_ACCESS), &["data"]).await;
        let api_key = format!("{key}.{secret}");
        assert_eq!(whoami(&server, &[("x-api-key", &api_key)], "").await.0, 200);

        // The token request of the same address has counted once.
        let guess = basic(&other, "wrong");
        for status in [401, 401, 401, 429] {
            assert_eq!(whoami(&server, &[("authorization", &guess)], "").await.0, status);
        }

        assert_eq!(whoami(&server, &[("x-api-key", &api_key)], "").await.0, 200, "a good caller");
        assert_eq!(whoami(&server, &[("authorization", &bearer)], "").await.0, 200, "a token");
        let right = basic(&other, &its_secret);
        let guessed = whoami(&server, &[("authorization", &right)], "").await;
        assert_eq!(guessed.0, 429, "a right guess looks like a wrong one");
        let form = [("content-type", "application/x-www-form-urlencoded")];
        let value = right.replace('+', "%2B").replace('=', "%3D").replace(' ', "+");
        let guessed = whoami(&server, &form, &format!("Authorization={value}")).await;
        assert_eq!(guessed.0, 429, "in a form too");
        assert_eq!(whoami(&server, &[("authorization", &bearer)], "").await.0, 200);
        assert_eq!(whoami(&server, &[("authorization", &bearer)], "").await.0, 429, "by its key");
    }
}

#[tokio::test]
async fn the_log_has_ids_and_no_values() {
    let folder = Folder::new();
    let path = folder.path().join("requests.jsonl");
    let server = Server::start_with(
        |door| {
            let file = std::fs::File::create(&path).unwrap();
            door.with_log(AccessLog::new(LoggedRequests::All, Box::new(file)).unwrap())
        },
        None,
    )
    .await;
    let Credentials { key, bearer, .. } = server.key().await;
    let headers = [("authorization", bearer.as_str()), ("correlationid", "mine")];
    server.send(Method::PUT, "/floor/count?name=Ada", &headers, "Ada").await;
    server.send(Method::GET, "/floor/play/opensesame/Ada", &[], "").await;

    let Server { door, .. } = server;
    drop(door);
    let mut text = String::new();
    for _ in 0..1_000 {
        text = std::fs::read_to_string(&path).unwrap();
        if text.lines().count() == 3 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }

    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let of = |name: &str| lines.iter().map(|line| line[name].clone()).collect::<Vec<_>>();
    assert_eq!(of("route"), ["/oauth/token", "/floor/count", "/floor/play/{launch}/{*rest}"]);
    assert_eq!(of("status"), [200, 200, 200]);
    assert_eq!(lines[1]["key"], *key);
    assert_eq!(lines[1]["correlation_id"], "mine");
    assert!(!text.contains("Ada") && !text.contains("opensesame"), "{text}");
}
