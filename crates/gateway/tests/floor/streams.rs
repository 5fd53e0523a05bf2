//! Bodies that are streams, in and out.

use std::sync::atomic::Ordering;
use std::time::Duration;

use bytes::Bytes;
use homeroom_client::{Client, Error, Settings};
use homeroom_http::RequestBody;
use http::Method;
use http_body_util::BodyExt as _;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use crate::part::{FRAME, SMALL_MAX, Zeros};
use crate::support::{LONG, Server, client, head};

/// More than all buffers of a connection hold together.
const LARGE: u64 = 64 << 20;

#[tokio::test]
async fn a_streamed_answer_arrives_whole() {
    let server = Server::start().await;

    let request = server.request(Method::GET, &format!("/floor/stream/{LARGE}"), &[]);
    let answer = client().send(request).await.unwrap();
    assert_eq!(answer.headers()["transfer-encoding"], "chunked");
    let mut answer = answer.into_body();
    let mut bytes = 0;
    while let Some(part) = answer.part().await.unwrap() {
        bytes += part.len() as u64;
    }

    assert_eq!(bytes, LARGE);
    assert_eq!(server.metric("homeroom_budget_used{budget=\"public_answers\"}"), 0);
}

#[tokio::test]
async fn a_reader_that_pauses_pauses_the_stream() {
    let server = Server::start().await;
    let get = format!("GET /floor/stream/{LARGE} HTTP/1.1\r\nhost: a\r\n\r\n");
    let mut stream = server.connect(&get).await;
    assert!(head(&mut stream).await.starts_with("HTTP/1.1 200 "));

    // What is sent stops growing although nobody reads.
    let mut before = u64::MAX;
    loop {
        tokio::time::sleep(Duration::from_millis(200)).await;
        let sent = server.seen.sent.load(Ordering::SeqCst);
        if sent == before {
            break;
        }
        before = sent;
    }

    assert!(before < LARGE / 2, "{before}");
    assert_eq!(server.metric("homeroom_budget_used{budget=\"public_answers\"}"), 128 << 10);
    let mut rest = 0;
    let mut buffer = vec![0; FRAME];
    while server.seen.sent.load(Ordering::SeqCst) < LARGE || rest < LARGE {
        rest += stream.read(&mut buffer).await.unwrap() as u64;
    }
    assert!(rest >= LARGE);
}

#[tokio::test]
async fn a_stream_that_fails_is_not_taken_for_the_whole() {
    let server = Server::start().await;

    let request = server.request(Method::GET, "/floor/broken", &[]);
    let whole = match client().send(request).await {
        Ok(answer) => answer.whole(1_024).await,
        // The connection may end before its head has been sent.
        Err(error) => Err(error),
    };

    assert!(whole.is_err(), "{whole:?}");
}

#[tokio::test]
async fn a_streamed_body_is_counted_and_no_more_of_it_is_in_memory_than_its_share() {
    for server in Server::on_each_store().await {
        let key = server.key().await;
        let headers = [("authorization", key.bearer.as_str())];

        let request = server
            .request(Method::PUT, "/floor/count", &headers)
            .stream(Zeros::new(LARGE, &server.seen), None);
        let answer = client().send(request).await.unwrap().whole(1_024).await.unwrap();

        assert_eq!((answer.status.as_u16(), &answer.body[..]), (200, &b"67108864"[..]));
        assert_eq!(server.seen.taken.load(Ordering::SeqCst), LARGE);
        assert_eq!(server.metric("homeroom_budget_refused_total{budget=\"bodies\"}"), 0);
        assert_eq!(server.metric("homeroom_budget_used{budget=\"bodies\"}"), 0);
    }
}

#[tokio::test]
async fn a_body_goes_through_while_it_arrives() {
    let server = Server::start().await;
    let key = server.key().await;
    let put = format!(
        "POST /floor/through HTTP/1.1\r\nhost: a\r\nauthorization: {}\r\ncontent-length: 8\r\n\r\nhalf",
        key.bearer
    );
    let mut stream = server.connect(&put).await;

    assert!(head(&mut stream).await.starts_with("HTTP/1.1 200 "));
    let mut part = [0; 4];
    stream.read_exact(&mut part).await.unwrap();
    assert_eq!(&part, b"half");
    stream.write_all(b"rest").await.unwrap();
    stream.read_exact(&mut part).await.unwrap();
    assert_eq!(&part, b"rest");
}

#[tokio::test]
async fn a_body_beyond_the_limit_is_refused_in_the_form_of_its_part() {
    let server = Server::start().await;
    let key = server.key().await;
    let headers = [("authorization", key.bearer.as_str())];
    let long = SMALL_MAX as u64 + 1;
    for length in [Some(long), None] {
        let request = server
            .request(Method::PUT, "/floor/slow", &headers)
            .stream(Zeros::new(long, &server.seen), length);
        let answer = client().send(request).await.unwrap().whole(1_024).await.unwrap();

        assert_eq!(answer.status, 413, "{length:?}");
        let body: serde_json::Value = serde_json::from_slice(&answer.body).unwrap();
        assert_eq!(body["message"], "Payload Too Large", "{length:?}");
        assert_eq!(body["id"], answer.headers["correlationid"].to_str().unwrap());
    }
}

#[tokio::test]
async fn a_body_that_drips_is_refused() {
    let server = Server::start().await;
    let key = server.key().await;
    let put = format!(
        "PUT /floor/slow HTTP/1.1\r\nhost: a\r\nauthorization: {}\r\ncontent-length: 100\r\n\r\n",
        key.bearer
    );
    let mut stream = server.connect(&put).await;

    let dripping = async {
        loop {
            stream.write_all(b"x").await.unwrap();
            let mut answer = [0; 12];
            let answered =
                tokio::time::timeout(Duration::from_millis(20), stream.read_exact(&mut answer));
            if answered.await.is_ok() {
                return answer;
            }
        }
    };

    let answer = tokio::time::timeout(LONG, dripping).await.expect("it is refused");
    assert_eq!(&answer, b"HTTP/1.1 408");
    assert!(server.seen.taken.load(Ordering::SeqCst) < 100);
}

#[tokio::test]
async fn an_upload_that_breaks_off_gives_its_share_back() {
    let server = Server::start().await;
    let key = server.key().await;
    let put = format!(
        "PUT /floor/count HTTP/1.1\r\nhost: a\r\nauthorization: {}\r\ncontent-length: 100\r\n\r\nsome",
        key.bearer
    );
    let stream = server.connect(&put).await;
    while server.seen.taken.load(Ordering::SeqCst) < 4 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert_eq!(server.metric("homeroom_budget_used{budget=\"bodies\"}"), 128 << 10);
    assert_eq!(server.metric("homeroom_budget_used{budget=\"awaited\"}"), 1);

    drop(stream);

    while server.metric("homeroom_budget_used{budget=\"bodies\"}") > 0 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert_eq!(server.metric("homeroom_budget_used{budget=\"awaited\"}"), 0);
}

#[tokio::test]
async fn a_server_that_stops_lets_a_stream_end() {
    let server = Server::start().await;
    let request = server.request(Method::GET, &format!("/floor/stream/{LARGE}"), &[]);
    let mut settings = Settings::trusted(LONG);
    settings.pool.idle_per_origin = 0;
    let answer = Client::new(settings).unwrap().send(request).await.unwrap();

    let ((), read) = tokio::join!(server.stop(), async {
        answer.into_body().collect().await.map(|body| body.to_bytes().len() as u64)
    });

    assert_eq!(read.map_err(|error: Error| error.to_string()), Ok(LARGE));
}

#[tokio::test]
async fn what_a_connection_holds_for_a_request_is_small() {
    let server = Server::start().await;
    let head = http::Request::new(()).into_parts().0;

    let answer = server.door.answer(head, RequestBody::Bytes(Bytes::new()));

    // A connection has room for one, and each request is moved there.
    assert!(size_of_val(&answer) <= 4 << 10, "{} bytes", size_of_val(&answer));
}
