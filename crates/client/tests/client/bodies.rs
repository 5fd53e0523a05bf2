//! Bodies as a whole and as streams, in both directions; requests that nobody waits for.

use std::sync::{Arc, Mutex};

use homeroom_client::{Error, Request};
use http::Method;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::sync::{Notify, oneshot};

use crate::support::{Server, answer, channel, client, read_request, send};

#[tokio::test]
async fn an_answer_beyond_the_limit_is_refused() {
    let server = Server::answering(|_, _| answer(200, "", "12345")).await;
    let chunked = Server::answering(|_, _| {
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n12345\r\n0\r\n\r\n".to_owned()
    })
    .await;
    let client = client(|_| {});
    for server in [server, chunked] {
        let five = client.send(server.get()).await.unwrap().whole(5).await.unwrap();
        assert_eq!(&five.body[..], b"12345");

        let four = client.send(server.get()).await.unwrap().whole(4).await.unwrap_err();
        assert!(matches!(four, Error::TooLarge { limit: 4, .. }), "{four}");
    }
}

#[tokio::test]
async fn what_has_arrived_with_its_head_is_at_hand_and_nothing_of_the_rest_is_lost() {
    let rest = Arc::new(Notify::new());
    let told = Arc::clone(&rest);
    let server = Server::start(move |_, mut stream| {
        let rest = Arc::clone(&told);
        async move {
            read_request(&mut stream).await;
            stream.write_all(answer(200, "", "whole").as_bytes()).await.unwrap();
            read_request(&mut stream).await;
            let (first, second) = (answer(200, "", "parted"), "parted".len() / 2);
            let (first, second) = first.split_at(first.len() - second);
            stream.write_all(first.as_bytes()).await.unwrap();
            rest.notified().await;
            stream.write_all(second.as_bytes()).await.unwrap();
            read_request(&mut stream).await;
            let broken = answer(200, "", "broken");
            stream.write_all(&broken.as_bytes()[..broken.len() - 1]).await.unwrap();
        }
    })
    .await;
    let client = client(|_| {});
    let ask = async || client.send(server.get()).await.unwrap();

    let (headers, whole) = ask().await.into_parts();
    assert_eq!(headers["content-length"], "5");
    assert_eq!(whole.at_hand(5).await.unwrap(), "whole");

    let body = ask().await.into_body().at_hand(5).await.expect_err("it is longer than asked for");
    let mut parted = body.at_hand(6).await.expect_err("half of it is there");
    rest.notify_one();
    let mut read = Vec::new();
    while let Some(part) = parted.part().await.unwrap() {
        read.extend_from_slice(&part);
    }
    assert_eq!(read, b"parted");

    let mut broken = ask().await.into_body().at_hand(6).await.expect_err("its end is missing");
    let mut read = Vec::new();
    let error = loop {
        match broken.part().await {
            Ok(part) => read.extend_from_slice(&part.expect("it does not end")),
            Err(error) => break error,
        }
    };
    assert!(matches!(error, Error::Failed { .. }), "{error}");
    assert!(b"broken".starts_with(&read));
    assert_eq!(server.accepted(), 1);
}

#[tokio::test]
async fn debug_output_omits_headers_and_body() {
    let headers = "Location: /hidden\r\nSet-Cookie: hidden\r\n";
    let server = Server::answering(move |_, _| answer(200, headers, "hidden")).await;

    let answer = client(|_| {}).send(Request::get(server.url("/shown?hidden"))).await.unwrap();

    let head = format!("{answer:?}");
    let whole = format!("{:?}", answer.whole(9).await.unwrap());
    assert!(head.contains("200") && head.contains("/shown"), "{head}");
    for text in [head, whole] {
        assert!(text.contains('6') && !text.contains("hidden"), "{text}");
    }
}

#[tokio::test]
async fn bodies_are_streamed_in_both_directions() {
    let server = Server::start(|_, mut stream| async move {
        let mut text = String::new();
        while !text.ends_with("\r\n\r\n") {
            text.push(char::from(stream.read_u8().await.unwrap()));
        }
        assert!(text.to_ascii_lowercase().contains("transfer-encoding: chunked"), "{text}");
        let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
        stream.write_all(head.as_bytes()).await.unwrap();
        // Whatever comes goes back at once.
        let mut bytes = [0; 1024];
        while let Ok(count @ 1..) = stream.read(&mut bytes).await {
            stream.write_all(&bytes[..count]).await.unwrap();
        }
    })
    .await;
    let client = client(|_| {});
    let (sender, body) = channel();
    sender.send(Ok("first".into())).await.unwrap();

    let request = Request::new(Method::PUT, server.url("/")).stream(body, None);
    let mut answer = client.send(request).await.unwrap().into_body();

    assert_eq!(answer.part().await.unwrap().unwrap(), "first");
    sender.send(Ok("second".into())).await.unwrap();
    assert_eq!(answer.part().await.unwrap().unwrap(), "second");
    drop(sender);
    assert_eq!(answer.part().await.unwrap(), None);
}

#[tokio::test]
async fn a_failing_request_stream_is_reported_as_the_callers_own_error() {
    let server = Server::answering(|_, _| answer(200, "", "")).await;
    let client = client(|_| {});
    let (sender, body) = channel();
    sender.send(Err(std::io::Error::other("the disk is gone"))).await.unwrap();

    let request = Request::new(Method::PUT, server.url("/")).stream(body, None);
    let error = send(&client, request).await.unwrap_err();

    assert!(matches!(error, Error::OwnBody { .. }), "{error}");
    assert!(error.with_causes().contains("the disk is gone"), "{}", error.with_causes());
}

#[tokio::test]
async fn a_stream_must_have_its_declared_length() {
    let server = Server::answering(|_, request| answer(200, "", request)).await;
    let client = client(|_| {});
    for (length, is_right) in [(9, true), (10, false), (8, false)] {
        let (sender, body) = channel();
        let parts = tokio::spawn(async move {
            for part in ["four", "five5"] {
                _ = sender.send(Ok(part.into())).await;
            }
        });

        let request = Request::new(Method::PUT, server.url("/")).stream(body, Some(length));
        let sent = send(&client, request).await;

        parts.await.unwrap();
        match sent {
            Ok((_, text)) => {
                assert!(is_right && text.contains("content-length: 9\r\n"), "{length}: {text}");
                assert!(text.ends_with("\r\n\r\nfourfive5"), "{text}");
            }
            Err(error) => {
                assert!(!is_right && matches!(error, Error::OwnBody { .. }), "{length}: {error}");
            }
        }
    }
}

#[tokio::test]
async fn headers_that_describe_the_body_cannot_be_set_by_hand() {
    let server = Server::answering(|_, _| answer(200, "", "")).await;
    let client = client(|_| {});
    for name in ["Content-Length", "transfer-encoding", "HOST", "Connection", "Keep-Alive"] {
        let error = client.send(server.get().header(name, "9").unwrap()).await.unwrap_err();

        assert!(matches!(error, Error::OwnHeader { .. }), "{name}: {error}");
    }
    let error = client.send(Request::new(Method::CONNECT, server.url("/"))).await.unwrap_err();
    assert!(matches!(error, Error::Method { .. }), "{error}");
    assert_eq!(server.accepted(), 0);
}

#[tokio::test]
async fn a_cancelled_request_closes_its_connection() {
    let (arrived, closed) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let (told, seen) = (Arc::clone(&arrived), Arc::clone(&closed));
    let server = Server::start(move |_, mut stream| {
        let (told, seen) = (Arc::clone(&told), Arc::clone(&seen));
        async move {
            read_request(&mut stream).await;
            told.notify_one();
            while let Ok(1..) = stream.read(&mut [0; 64]).await {}
            seen.notify_one();
        }
    })
    .await;
    let client = client(|_| {});

    tokio::select! {
        _ = client.send(server.get()) => panic!("nobody answers"),
        () = arrived.notified() => {}
    }

    closed.notified().await;
}

#[tokio::test]
async fn a_dropped_answer_closes_its_connection() {
    let (closed, is_closed) = oneshot::channel();
    let closed = Mutex::new(Some(closed));
    let server = Server::start(move |_, mut stream| {
        let closed = closed.lock().unwrap().take();
        async move {
            read_request(&mut stream).await;
            stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 999\r\n\r\nfirst").await.unwrap();
            while let Ok(1..) = stream.read(&mut [0; 64]).await {}
            closed.unwrap().send(()).unwrap();
        }
    })
    .await;
    let client = client(|_| {});

    let mut body = client.send(server.get()).await.unwrap().into_body();
    assert_eq!(body.part().await.unwrap().unwrap(), "first");
    drop(body);

    is_closed.await.unwrap();
}
