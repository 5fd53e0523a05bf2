//! What is sent again, as the server sees it.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use homeroom_client::{BackOff, Client, Request, Retries};
use http::Method;

use crate::support::{Server, answer, channel, client, send};

fn persistent() -> Client {
    let soon = Duration::from_millis(1);
    client(|settings| {
        settings.retries =
            Retries { back_off: BackOff { first: soon, most: soon }, ..Retries::few() };
    })
}

/// A server that gives the same answer a few times, and 200 from then on. Also counts requests. An
/// empty answer closes the connection.
async fn failing(times: usize, with: String) -> (Server, Arc<AtomicUsize>) {
    let seen = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&seen);
    let server = Server::answering(move |number, _| {
        count.fetch_add(1, Ordering::SeqCst);
        if number < times { with.clone() } else { answer(200, "", "done") }
    })
    .await;
    (server, seen)
}

#[tokio::test]
async fn only_an_idempotent_request_is_retried() {
    for broken in [answer(503, "", "busy"), answer(429, "Retry-After: 0\r\n", ""), String::new()] {
        for (method, is_declared, requests) in [
            (Method::GET, false, 3),
            (Method::PUT, false, 3),
            (Method::POST, false, 1),
            (Method::POST, true, 3),
        ] {
            let (server, seen) = failing(2, broken.clone()).await;
            let request = Request::new(method.clone(), server.url("/")).body("body");
            let request = if is_declared { request.repeatable() } else { request };

            let sent = send(&persistent(), request).await;

            assert_eq!(seen.load(Ordering::SeqCst), requests, "{method} {broken:?}");
            let is_done = sent.is_ok_and(|(status, _)| status == 200);
            assert_eq!(is_done, requests == 3, "{method} {broken:?}");
        }
    }
}

#[tokio::test]
async fn exhausted_retries_return_the_last_answer() {
    let (server, seen) = failing(9, answer(503, "", "busy")).await;

    let last = send(&persistent(), server.get()).await.unwrap();

    assert_eq!((last.0, last.1.as_str(), seen.load(Ordering::SeqCst)), (503, "busy", 3));
}

#[tokio::test]
async fn a_request_is_not_retried_if_the_server_asks_for_too_long_a_pause() {
    let (server, seen) = failing(2, answer(503, "Retry-After: 3600\r\n", "")).await;

    let answer = send(&persistent(), server.get()).await.unwrap();

    assert_eq!((answer.0, seen.load(Ordering::SeqCst)), (503, 1));
}

#[tokio::test]
async fn a_request_is_not_retried_if_its_time_would_end_during_the_pause() {
    let (server, seen) = failing(2, answer(503, "Retry-After: 20\r\n", "busy")).await;
    let client = client(|settings| {
        settings.retries = Retries::few();
        settings.times.total = Some(Duration::from_secs(10));
    });

    let last = send(&client, server.get()).await.unwrap();

    assert_eq!((last.0, last.1.as_str(), seen.load(Ordering::SeqCst)), (503, "busy", 1));
}

#[tokio::test]
async fn a_streamed_body_is_sent_once() {
    let (server, seen) = failing(2, answer(503, "", "")).await;
    let (sender, body) = channel();
    drop(sender);
    let request = Request::new(Method::PUT, server.url("/")).stream(body, Some(0));

    let answer = send(&persistent(), request).await;

    assert_eq!((answer.unwrap().0, seen.load(Ordering::SeqCst)), (503, 1));
}

#[tokio::test]
async fn a_request_that_was_not_sent_is_retried_for_any_method() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let pause = Duration::from_millis(200);
    let client = client(|settings| {
        let back_off = BackOff { first: pause, most: pause };
        settings.retries = Retries { times: 50, back_off, ..Retries::few() };
    });
    let url = homeroom_client::Url::parse(&format!("http://{address}/")).unwrap();
    let sent = tokio::spawn(async move { send(&client, Request::post(url, "a")).await });
    tokio::time::sleep(pause).await;
    assert!(!sent.is_finished(), "nothing listens there yet");

    let _server = Server::start_at(&address.to_string(), |_, mut stream| async move {
        crate::support::read_request(&mut stream).await;
        let text = answer(200, "", "");
        tokio::io::AsyncWriteExt::write_all(&mut stream, text.as_bytes()).await.unwrap();
    })
    .await;

    assert_eq!(sent.await.unwrap().unwrap().0, 200);
}
