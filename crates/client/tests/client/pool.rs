//! Connections are kept and shared within limits.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use homeroom_client::Request;
use tokio::io::AsyncWriteExt as _;
use tokio::sync::{Barrier, Notify};

use crate::support::{SHORT, Server, answer, client, read_request, send};

#[tokio::test]
async fn a_connection_serves_one_request_after_the_other() {
    let server = Server::answering(|_, _| answer(200, "", "")).await;
    let keeping = client(|_| {});
    let closing = client(|settings| settings.pool.idle_per_origin = 0);

    for _ in 0..5 {
        send(&keeping, server.get()).await.unwrap();
    }
    assert_eq!(server.accepted(), 1);
    for _ in 0..5 {
        send(&closing, server.get()).await.unwrap();
    }
    assert_eq!(server.accepted(), 6);
}

#[tokio::test]
async fn a_kept_connection_that_the_server_closed_is_renewed() {
    let closed = Arc::new(Notify::new());
    let tell = Arc::clone(&closed);
    let server = Server::start(move |_, mut stream| {
        let tell = Arc::clone(&tell);
        async move {
            read_request(&mut stream).await;
            stream.write_all(answer(200, "", "").as_bytes()).await.unwrap();
            drop(stream);
            tell.notify_one();
        }
    })
    .await;
    let client = client(|_| {});

    for number in 1..=3 {
        // POST is not repeated once it was sent: this works because nothing was.
        let sent = send(&client, Request::post(server.url("/"), "a")).await;
        assert_eq!(sent.unwrap().0, 200);
        closed.notified().await;
        tokio::time::sleep(SHORT).await;
        assert_eq!(server.accepted(), number);
    }
}

#[tokio::test]
async fn an_idle_connection_can_be_kept_without_a_limit() {
    let server = Server::answering(|_, _| answer(200, "", "")).await;
    let client = client(|settings| settings.pool.idle = Duration::MAX);

    for _ in 0..3 {
        send(&client, server.get()).await.unwrap();
        tokio::time::sleep(SHORT).await;
    }

    assert_eq!(server.accepted(), 1);
}

#[tokio::test]
async fn no_more_requests_are_in_progress_than_the_limit() {
    let (now, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let (in_progress, highest) = (Arc::clone(&now), Arc::clone(&most));
    // No request is answered before three have arrived.
    let three = Arc::new(Barrier::new(3));
    let server = Server::start(move |_, mut stream| {
        let (now, most) = (Arc::clone(&in_progress), Arc::clone(&highest));
        let three = Arc::clone(&three);
        async move {
            while read_request(&mut stream).await.is_some() {
                most.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                three.wait().await;
                now.fetch_sub(1, Ordering::SeqCst);
                stream.write_all(answer(200, "", "x").as_bytes()).await.unwrap();
            }
        }
    })
    .await;
    let client = client(|settings| settings.pool.requests_per_origin = 3);

    let sent: Vec<_> = (0..51)
        .map(|_| {
            let (client, request) = (client.clone(), server.get());
            tokio::spawn(async move { send(&client, request).await })
        })
        .collect();
    for one in sent {
        one.await.unwrap().unwrap();
    }

    assert_eq!(most.load(Ordering::SeqCst), 3);
}
