//! Connections are kept and shared within limits.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use homeroom_client::Request;
use tokio::io::AsyncWriteExt as _;
use tokio::sync::{Barrier, Notify};

use crate::support::{LONG, SHORT, Server, answer, client, read_request, send};

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
async fn what_comes_unasked_on_a_kept_connection_is_no_answer_and_nothing_is_sent_there() {
    for waits in [false, true] {
        let asked = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&asked);
        let server = Server::start(move |number, mut stream| {
            let count = Arc::clone(&count);
            async move {
                read_request(&mut stream).await;
                let own = answer(200, "", &number.to_string());
                let planted = answer(200, "", "planted");
                let [first, second] =
                    if waits { [own, planted] } else { [own + &planted, String::new()] };
                stream.write_all(first.as_bytes()).await.unwrap();
                tokio::time::sleep(SHORT / 4).await;
                _ = stream.write_all(second.as_bytes()).await;
                while read_request(&mut stream).await.is_some() {
                    count.fetch_add(1, Ordering::SeqCst);
                }
            }
        })
        .await;
        let client = client(|_| {});

        for number in 0..3 {
            let sent = send(&client, Request::post(server.url("/"), "a")).await;
            assert_eq!(sent.unwrap(), (200, number.to_string()), "{waits}");
            tokio::time::sleep(SHORT).await;
        }
        assert_eq!((server.accepted(), asked.load(Ordering::SeqCst)), (3, 0), "{waits}");
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
async fn a_connection_that_has_rested_for_too_long_is_closed() {
    let ended = Arc::new(Notify::new());
    let tell = Arc::clone(&ended);
    let server = Server::start(move |_, mut stream| {
        let tell = Arc::clone(&tell);
        async move {
            while read_request(&mut stream).await.is_some() {
                stream.write_all(answer(200, "", "x").as_bytes()).await.unwrap();
            }
            tell.notify_one();
        }
    })
    .await;
    let client = client(|settings| settings.pool.idle = SHORT);

    for number in 1..=2 {
        send(&client, server.get()).await.unwrap();
        tokio::time::timeout(LONG, ended.notified()).await.unwrap();
        assert_eq!(server.accepted(), number);
    }
}

#[tokio::test]
async fn an_answer_that_comes_in_pieces_is_read_whole() {
    for (head, parts, is_kept) in [
        ("Transfer-Encoding: chunked", ["2\r\nab", "\r\n1\r\nc", "\r\n0\r\n\r\n"], true),
        ("Content-Length: 3", ["a", "b", "c"], true),
        ("Connection: close", ["ab", "", "c"], false),
    ] {
        let server = Server::start(move |_, mut stream| async move {
            while read_request(&mut stream).await.is_some() {
                let head = format!("HTTP/1.1 200 OK\r\n{head}\r\n\r\n");
                for part in std::iter::once(head.as_str()).chain(parts) {
                    stream.write_all(part.as_bytes()).await.unwrap();
                    tokio::time::sleep(SHORT / 10).await;
                }
                if !is_kept {
                    return;
                }
            }
        })
        .await;
        let client = client(|_| {});

        for _ in 0..3 {
            assert_eq!(send(&client, server.get()).await.unwrap(), (200, "abc".into()), "{head}");
        }

        assert_eq!(server.accepted(), if is_kept { 1 } else { 3 }, "{head}");
    }
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
