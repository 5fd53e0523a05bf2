//! Redirects, as far as they are followed.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use homeroom_client::{BackOff, Error, Redirects, Request, Retries};
use http::Method;

use crate::support::{Server, answer, channel, client, send};

/// A server with a chain of redirects: `/307/3` leads to `/307/2` and so on, and `/0` answers with
/// the text of the request.
async fn chain() -> Server {
    Server::answering(|_, request| {
        let path = request.split(' ').nth(1).unwrap();
        let (status, left) = path[1..].split_once('/').unwrap();
        match left.parse::<u32>().unwrap() {
            0 => answer(200, "", request),
            left => {
                let location = format!("Location: /{status}/{}\r\n", left - 1);
                answer(status.parse().unwrap(), &location, "moved")
            }
        }
    })
    .await
}

#[tokio::test]
async fn a_redirect_is_returned_unless_the_policy_follows_it() {
    let server = chain().await;
    let plain = client(|_| {});
    let following = client(|settings| settings.redirects = Redirects::Followed(3));

    assert_eq!(send(&plain, Request::get(server.url("/302/1"))).await.unwrap().0, 302);
    assert_eq!(send(&following, Request::get(server.url("/302/3"))).await.unwrap().0, 200);
    let error = send(&following, Request::get(server.url("/302/4"))).await.unwrap_err();
    assert!(matches!(error, Error::Redirect { .. }), "{error}");
    assert_eq!(server.accepted(), 2, "the connection is kept from step to step");
}

#[tokio::test]
async fn the_status_decides_whether_a_redirect_keeps_method_and_body() {
    let server = chain().await;
    let client = client(|settings| settings.redirects = Redirects::Followed(3));

    let kept = send(&client, Request::post(server.url("/307/1"), "body")).await.unwrap().1;
    let left = send(&client, Request::post(server.url("/303/1"), "body")).await.unwrap().1;

    assert!(kept.starts_with("POST /307/0 ") && kept.ends_with("\r\n\r\nbody"), "{kept}");
    assert!(left.starts_with("GET /303/0 ") && left.ends_with("\r\n\r\n"), "{left}");
    let (sender, body) = channel();
    drop(sender);
    let streamed = Request::new(Method::PUT, server.url("/307/1")).stream(body, Some(0));
    let error = send(&client, streamed).await.unwrap_err();
    assert!(matches!(error, Error::Redirect { .. }), "{error}");
}

#[tokio::test]
async fn tries_are_counted_across_redirects() {
    let seen = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&seen);
    let server = Server::answering(move |number, _| {
        count.fetch_add(1, Ordering::SeqCst);
        match number {
            1 => answer(302, "Location: /next\r\n", ""),
            _ => answer(503, "", "busy"),
        }
    })
    .await;
    let soon = Duration::from_millis(1);
    let client = client(|settings| {
        settings.redirects = Redirects::Followed(1);
        let back_off = BackOff { first: soon, most: soon };
        settings.retries = Retries { back_off, ..Retries::few() };
    });

    assert_eq!(send(&client, server.get()).await.unwrap().0, 503);
    assert_eq!(seen.load(Ordering::SeqCst), 4, "503, 302, 503, 503: two of them are retries");
}

#[tokio::test]
async fn credentials_do_not_go_to_another_origin() {
    let other = chain().await;
    let location = format!("Location: {}\r\n", other.url("/200/0"));
    let first = Server::answering(move |_, _| answer(302, &location, "")).await;
    let client = client(|settings| settings.redirects = Redirects::Followed(1));

    let request = first.get().header("Authorization", "Bearer hidden").unwrap();
    let request = request.header("X-Api-Key", "hidden").unwrap();
    let text = send(&client, request.header("Accept", "a/b").unwrap()).await.unwrap().1;

    assert!(text.contains("accept: a/b") && !text.contains("hidden"), "{text}");
    assert!(text.contains(&format!("host: {}", other.address)), "{text}");
}

#[tokio::test]
async fn a_body_does_not_go_to_another_origin() {
    let other = chain().await;
    let location = format!("Location: {}\r\n", other.url("/200/0"));
    let first = Server::answering(move |_, _| answer(307, &location, "")).await;
    let client = client(|settings| settings.redirects = Redirects::Followed(1));

    let error = send(&client, Request::post(first.url("/"), "body")).await.unwrap_err();

    assert!(matches!(error, Error::Redirect { .. }), "{error}");
    assert_eq!(other.accepted(), 0);
    let empty = send(&client, Request::post(first.url("/"), "")).await.unwrap();
    assert!(empty.1.starts_with("POST /200/0 "), "{}", empty.1);
}
