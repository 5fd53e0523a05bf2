//! Routes that change while requests are answered.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use homeroom_access::{ApiClient, Call};
use homeroom_http::{Guard, Problem, Response, Route, handler, json_response};
use homeroom_testkit::FULL_ACCESS;
use http::{Method, StatusCode};

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
