//! Bodies of requests whose answer is there before they are sent.

use std::time::Duration;

use homeroom_client::{Client, Phase, Request};
use http::Method;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::time::timeout;

use crate::support::{Channel, LONG, SHORT, Server, answer, channel, client, endless, send};

/// A server that refuses each request once it has the head, and reads nothing of the body.
async fn refusing() -> Server {
    Server::start(|_, mut stream| async move {
        let mut text = String::new();
        while !text.ends_with("\r\n\r\n") {
            text.push(char::from(stream.read_u8().await.unwrap()));
        }
        stream.write_all(answer(413, "", "too large").as_bytes()).await.unwrap();
        tokio::time::sleep(2 * LONG).await;
    })
    .await
}

/// Sends a body, and reads the answer to its end.
async fn refused(client: &Client, server: &Server, body: Channel) {
    let request = Request::new(Method::PUT, server.url("/")).stream(body, None);
    assert_eq!(send(client, request).await.unwrap(), (413, "too large".to_owned()));
}

#[tokio::test]
async fn an_upload_that_nobody_reads_ends_even_if_its_answer_has_arrived() {
    let server = refusing().await;
    let client = client(|settings| {
        settings.pool.requests_per_origin = 1;
        settings.times.send = SHORT;
    });
    let (sender, body) = channel();
    let upload = tokio::spawn(endless(sender));

    refused(&client, &server, body).await;

    timeout(LONG, upload).await.expect("the body is dropped").unwrap();
    assert_eq!(send(&client, server.get()).await.unwrap().0, 413, "the place is free");
}

#[tokio::test]
async fn a_stalled_request_stream_ends_even_if_its_answer_has_arrived() {
    let server = refusing().await;
    let client = client(|settings| settings.times.send = SHORT);
    let (sender, body) = channel();
    sender.send(Ok("begun".into())).await.unwrap();

    refused(&client, &server, body).await;

    timeout(LONG, sender.closed()).await.expect("the body is dropped");
}

#[tokio::test]
async fn a_dripping_upload_ends_at_the_limit_of_the_whole_request() {
    let server = refusing().await;
    let client = client(|settings| settings.times.total = Some(10 * SHORT));
    let (sender, body) = channel();
    let upload = tokio::spawn(async move {
        while sender.send(Ok("a".into())).await.is_ok() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    });

    refused(&client, &server, body).await;

    timeout(LONG, upload).await.expect("the body is dropped").unwrap();
}

#[tokio::test]
async fn a_request_is_in_progress_until_its_upload_ends() {
    let server = refusing().await;
    let client = client(|settings| {
        settings.pool.requests_per_origin = 1;
        settings.pool.idle_per_origin = 0;
        settings.times.wait = SHORT;
    });
    let (sender, body) = channel();
    sender.send(Ok("begun".into())).await.unwrap();

    refused(&client, &server, body).await;

    let error = send(&client, server.get()).await.unwrap_err();
    assert_eq!(error.phase(), Some(Phase::Wait), "{error}");
    drop(sender);
    assert_eq!(send(&client, server.get()).await.unwrap().0, 413);
}

#[tokio::test]
async fn an_answer_that_is_dropped_before_its_end_ends_the_upload() {
    let server = Server::start(|_, mut stream| async move {
        let head = "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf";
        _ = stream.read_u8().await;
        stream.write_all(head.as_bytes()).await.unwrap();
        while let Ok(1..) = stream.read(&mut [0; 64]).await {}
    })
    .await;
    let client = client(|_| {});
    let (sender, body) = channel();
    sender.send(Ok("begun".into())).await.unwrap();
    let request = Request::new(Method::PUT, server.url("/")).stream(body, None);

    drop(client.send(request).await.unwrap());

    timeout(LONG / 2, sender.closed()).await.expect("the body is dropped");
}
