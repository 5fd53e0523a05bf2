//! Routes that change while requests are answered.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use homeroom_access::{ApiClient, Call};
use homeroom_http::{
    BodyLimits, Guard, Problem, RequestBody, Response, Route, handler, json_response,
};
use homeroom_testkit::FULL_ACCESS;
use http::{Method, StatusCode};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use crate::support::{Server, client};

/// The routes of an API whose answers name a version.
pub fn api(base: &str, operations: usize, answer: &'static str) -> Vec<Route<ApiClient>> {
    let answer = handler(&answer, |answer: &'static str, _: Call| async move {
        Ok::<Response, Problem>(json_response(StatusCode::OK, answer))
    });
    (0..operations)
        .map(|number| {
            let template = format!("{base}/operation{number}/{{id}}");
            Route::new(Method::GET, template, Guard::Public, Arc::clone(&answer))
        })
        .collect()
}

#[tokio::test]
async fn a_published_api_answers_at_once_and_a_withdrawn_one_no_more() {
    let server = Server::start().await;
    let get = async || server.send(Method::GET, "/apis/pay/v1/operation0/1", &[], "").await;
    assert_eq!(get().await.status, 404);

    server.door.live().publish(api("/apis/pay/v1", 1, "1")).unwrap();
    assert_eq!(&get().await.body[..], b"1");
    server.door.live().publish(api("/apis/pay/v1", 1, "2")).unwrap();
    assert_eq!(&get().await.body[..], b"2");
    let wrong = server.send(Method::PUT, "/apis/pay/v1/operation0/1", &[], "").await;
    assert_eq!(wrong.status, 405);

    assert!(server.door.live().withdraw("/apis/pay/v1"));
    assert_eq!(get().await.status, 404);
}

/// The routes of an API whose callers need a token.
fn guarded(base: &str) -> Vec<Route<ApiClient>> {
    let guard = Guard::Token { scope: "data" };
    api(base, 1, "0").into_iter().map(|route| Route { guard, ..route }).collect()
}

#[tokio::test]
async fn no_change_of_routes_or_of_other_keys_makes_a_token_be_verified_again() {
    for server in Server::on_each_store().await {
        let key = server.key().await;
        let headers = [("authorization", key.bearer.as_str())];
        let get = async |number: usize| {
            let path = format!("/apis/api{number}/v1/operation0/1");
            server.send(Method::GET, &path, &headers, "").await.status
        };
        for number in 0..2 {
            server.door.live().publish(guarded(&format!("/apis/api{number}/v1"))).unwrap();
            assert_eq!(get(number).await, 200);
        }
        let verified = server.metric("homeroom_credentials_verified_total");

        for _ in 0..3 {
            server.door.live().publish(guarded("/apis/api0/v1")).unwrap();
            server.door.live().withdraw("/apis/api1/v1");
            server.door.live().publish(guarded("/apis/api1/v1")).unwrap();
            server.app.key_for(Some(FULL_ACCESS), &["data"]).await;
            assert_eq!([get(0).await, get(1).await], [200, 200]);
        }

        assert_eq!(server.metric("homeroom_credentials_verified_total"), verified);
        let other = server.key().await;
        let headers = [("authorization", other.bearer.as_str())];
        server.send(Method::GET, "/apis/api0/v1/operation0/1", &headers, "").await;
        assert_eq!(server.metric("homeroom_credentials_verified_total"), verified + 1);
    }
}

/// The route of an API that says whether a body was there when it was called, and how long it is.
fn bodies(base: &str) -> Vec<Route<ApiClient>> {
    let answer = handler(&(), |(), mut call: Call| async move {
        let is_there = matches!(call.body, RequestBody::Bytes(_));
        let length = call.read_body().await?.len();
        Ok(json_response(StatusCode::OK, format!("{is_there} {length}")))
    });
    let guard = Guard::Token { scope: "data" };
    let route = Route::new(Method::POST, format!("{base}/bodies"), guard, answer);
    vec![route.with_body(BodyLimits::of_bytes(1 << 20))]
}

#[tokio::test]
async fn a_body_is_there_if_all_of_it_came_with_its_head_and_arrives_otherwise() {
    let server = Server::start().await;
    server.door.live().publish(bodies("/apis/pay/v1")).unwrap();
    let bearer = server.key().await.bearer;
    let asked = async |headers: &str, parts: &[&str], breaks_off: bool| {
        let head = format!(
            "POST /apis/pay/v1/bodies HTTP/1.1\r\nhost: a\r\nauthorization: {bearer}\r\n\
             connection: close\r\n{headers}\r\n\r\n"
        );
        let mut stream = server.connect(&format!("{head}{}", parts[0])).await;
        if headers.contains("expect") {
            assert_eq!(crate::support::head(&mut stream).await, "HTTP/1.1 100 Continue\r\n\r\n");
        }
        for part in &parts[1..] {
            tokio::time::sleep(Duration::from_millis(20)).await;
            stream.write_all(part.as_bytes()).await.unwrap();
        }
        if breaks_off {
            stream.shutdown().await.unwrap();
        }
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        let status = answer.split(' ').nth(1).unwrap_or_default().to_owned();
        (status, answer.split("\r\n\r\n").nth(1).unwrap_or_default().to_owned())
    };
    let (long, longer) = ("x".repeat(4 << 10), "x".repeat(17 << 10));
    let [of_long, of_longer] =
        [&long, &longer].map(|text| format!("content-length: {}", text.len()));

    for (headers, parts, expected) in [
        ("content-length: 5", &["whole"][..], "true 5"),
        (of_long.as_str(), &[long.as_str()], "true 4096"),
        (of_longer.as_str(), &[longer.as_str()], "false 17408"),
        ("content-length: 8", &["half", "rest"], "false 8"),
        ("content-length: 9", &["one", "two", "six"], "false 9"),
        ("content-length: 4", &["", "late"], "false 4"),
        ("content-length: 5\r\nexpect: 100-continue", &["", "asked"], "false 5"),
        ("transfer-encoding: chunked", &["2\r\nab\r\n0\r\n\r\n"], "false 2"),
    ] {
        let expected = ("200".to_owned(), expected.to_owned());
        assert_eq!(asked(headers, parts, false).await, expected, "{headers} {}", parts.len());
    }
    for parts in [&["part"][..], &["pa", "rt"]] {
        let (status, _) = asked("content-length: 5", parts, true).await;
        assert_ne!(status, "200", "it broke off: {parts:?}");
    }
    assert_eq!(server.metric("homeroom_budget_used{budget=\"in_flight\"}"), 0);
    assert_eq!(server.metric("homeroom_budget_used{budget=\"awaited\"}"), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn changes_of_one_of_many_apis_fail_no_request() {
    let server = Arc::new(Server::start().await);
    for number in 0..500 {
        let base = format!("/apis/api{number}/v1");
        server.door.live().publish(api(&base, 10, "0")).unwrap();
    }
    let (is_over, changed) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
    let changing = {
        let (server, is_over, changed) =
            (Arc::clone(&server), Arc::clone(&is_over), Arc::clone(&changed));
        tokio::spawn(async move {
            while !is_over.load(Ordering::Relaxed) {
                for number in [7, 8] {
                    let base = format!("/apis/api{number}/v1");
                    server.door.live().publish(api(&base, 10, "1")).unwrap();
                    changed.fetch_add(1, Ordering::Relaxed);
                    tokio::task::yield_now().await;
                }
            }
        })
    };

    let client = client();
    for number in 0..2_000 {
        let path = format!("/apis/api{}/v1/operation{}/1", number % 10, number % 7);
        let request = server.request(Method::GET, &path, &[]);
        let answer = client.send(request).await.unwrap().whole(100).await.unwrap();
        assert_eq!(answer.status, 200, "{path}");
    }

    is_over.store(true, Ordering::Relaxed);
    changing.await.unwrap();
    assert!(changed.load(Ordering::Relaxed) > 100, "{changed:?}");
    assert_eq!(server.door.live().len(), 500);
}
