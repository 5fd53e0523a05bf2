//! Each phase has its time limit, and each failure says in which phase it happened.

use std::io;
use std::time::Duration;

use homeroom_client::{Client, Error, Phase, Request, Resolver, Trust, Url};
use http::Method;
use tokio::io::AsyncWriteExt as _;
use tokio::net::{TcpSocket, TcpStream};

use crate::support::{LONG, SHORT, Server, answer, channel, client, read_request, send};

/// Returns the phase that took too long.
async fn late(client: &Client, request: Request) -> Option<Phase> {
    match send(client, request).await {
        Err(Error::TimedOut { phase, .. }) => Some(phase),
        _ => None,
    }
}

/// A server that takes connections and says nothing.
async fn silent() -> Server {
    Server::start(|_, stream| async move {
        let _open = stream;
        tokio::time::sleep(LONG).await;
    })
    .await
}

#[tokio::test]
async fn waiting_for_a_free_slot_has_a_time_limit() {
    let server = silent().await;
    let client = client(|settings| {
        settings.pool.requests_per_origin = 1;
        settings.times.wait = SHORT;
    });
    let first = tokio::spawn({
        let (client, request) = (client.clone(), server.get());
        async move { client.send(request).await }
    });
    while server.accepted() == 0 {
        tokio::task::yield_now().await;
    }

    assert_eq!(late(&client, server.get()).await, Some(Phase::Wait));

    first.abort();
}

#[tokio::test]
async fn resolving_a_name_has_a_time_limit() {
    let client = client(|settings| {
        settings.resolver = Resolver::given(|_| std::future::pending());
        settings.times.resolve = SHORT;
    });
    let url = Url::parse("http://school.test/").unwrap();

    assert_eq!(late(&client, Request::get(url)).await, Some(Phase::Resolve));
}

#[tokio::test]
async fn connecting_has_a_time_limit() {
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let listener = socket.listen(1).unwrap();
    let address = listener.local_addr().unwrap();
    // The system completes no more connections than the queue has room for.
    let mut open = vec![];
    while let Ok(stream) = tokio::time::timeout(SHORT, TcpStream::connect(address)).await {
        open.push(stream.unwrap());
    }
    let client = client(|settings| settings.times.connect = SHORT);
    let url = Url::parse(&format!("http://{address}/")).unwrap();

    assert_eq!(late(&client, Request::get(url)).await, Some(Phase::Connect));
}

#[tokio::test]
async fn a_tls_handshake_has_a_time_limit() {
    let server = silent().await;
    let made = rcgen::generate_simple_self_signed(vec!["127.0.0.1".to_owned()]).unwrap();
    let client = client(|settings| {
        settings.trust = Trust::Bundle(made.cert.pem().into_bytes());
        settings.times.tls = SHORT;
    });
    let url = Url::parse(&format!("https://{}/", server.address)).unwrap();

    assert_eq!(late(&client, Request::get(url)).await, Some(Phase::Tls));
}

#[tokio::test]
async fn sending_a_body_that_nobody_reads_has_a_time_limit() {
    let server = silent().await;
    let client = client(|settings| settings.times.send = SHORT);

    let request = Request::post(server.url("/"), vec![b'a'; 64 << 20]);

    assert_eq!(late(&client, request).await, Some(Phase::Send));
}

#[tokio::test]
async fn a_stalled_request_stream_has_a_time_limit() {
    let server = silent().await;
    let client = client(|settings| settings.times.send = SHORT);
    let (sender, body) = channel();
    sender.send(Ok("begun".into())).await.unwrap();

    let request = Request::new(Method::PUT, server.url("/")).stream(body, None);

    assert_eq!(late(&client, request).await, Some(Phase::Send));
}

#[tokio::test]
async fn waiting_for_an_answer_has_a_time_limit() {
    let server = silent().await;
    let client = client(|settings| settings.times.answer = SHORT);

    assert_eq!(late(&client, server.get()).await, Some(Phase::Answer));
    assert_eq!(late(&client, Request::post(server.url("/"), "a")).await, Some(Phase::Answer));
}

#[tokio::test]
async fn the_time_for_an_answer_begins_anew_on_a_kept_connection() {
    let server = Server::start(|_, mut stream| async move {
        for _ in 0..3 {
            read_request(&mut stream).await;
            tokio::time::sleep(6 * SHORT).await;
            stream.write_all(answer(200, "", "x").as_bytes()).await.unwrap();
        }
        tokio::time::sleep(LONG).await;
    })
    .await;
    let client = client(|settings| settings.times.answer = 10 * SHORT);

    for _ in 0..3 {
        assert_eq!(send(&client, server.get()).await.unwrap().0, 200);
    }

    assert_eq!(late(&client, server.get()).await, Some(Phase::Answer));
    assert_eq!(server.accepted(), 1);
}

#[tokio::test]
async fn an_answer_has_a_time_limit_although_early_hints_never_end() {
    let server = Server::start(|_, mut stream| async move {
        read_request(&mut stream).await;
        let hints = "HTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\n".repeat(1_000);
        while stream.write_all(hints.as_bytes()).await.is_ok() {}
    })
    .await;
    let client = client(|settings| settings.times.answer = SHORT);

    assert_eq!(late(&client, server.get()).await, Some(Phase::Answer));
}

#[tokio::test]
async fn each_part_of_an_answer_has_a_time_limit() {
    let server = Server::start(|_, mut stream| async move {
        read_request(&mut stream).await;
        stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf").await.unwrap();
        tokio::time::sleep(LONG).await;
    })
    .await;
    let client = client(|settings| settings.times.body = SHORT);

    assert_eq!(late(&client, server.get()).await, Some(Phase::Body));
}

#[tokio::test]
async fn a_dripping_answer_ends_at_the_limit_of_the_whole_request() {
    let server = Server::start(|_, mut stream| async move {
        read_request(&mut stream).await;
        stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 99999\r\n\r\n").await.unwrap();
        while stream.write_all(b"a").await.is_ok() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    })
    .await;
    let dripping = client(|settings| settings.times.total = Some(3 * SHORT));
    let silent = silent().await;
    let waiting = client(|settings| settings.times.total = Some(SHORT));

    assert_eq!(late(&dripping, server.get()).await, Some(Phase::Total));
    assert_eq!(late(&waiting, silent.get()).await, Some(Phase::Total));
}

#[tokio::test]
async fn a_failure_says_where_it_happened() {
    let free = Server::start(|_, _| async {}).await.address.port();
    let unused = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    assert_ne!(unused.port(), free);
    let client = client(|_| {});
    let raw = |text: &'static str| {
        Server::start(move |_, mut stream| async move {
            read_request(&mut stream).await;
            stream.write_all(text.as_bytes()).await.unwrap();
        })
    };
    let url = Url::parse(&format!("http://{unused}/")).unwrap();
    let refused = send(&client, Request::get(url)).await.unwrap_err();
    assert_eq!(refused.phase(), Some(Phase::Connect));
    assert_eq!(refused.io(), Some(io::ErrorKind::ConnectionRefused));
    for (text, phase) in [
        ("", Phase::Answer),
        ("hello\r\n\r\n", Phase::Answer),
        ("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf", Phase::Body),
    ] {
        let server = raw(text).await;

        let error = send(&client, server.get()).await.unwrap_err();

        assert!(matches!(error, Error::Failed { .. }), "{text:?}: {error}");
        assert_eq!(error.phase(), Some(phase), "{text:?}: {error}");
    }
}

#[tokio::test]
async fn no_error_shows_a_query_or_a_credential() {
    let unused = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let large = Server::answering(|_, _| answer(200, "", "large")).await;
    let client = client(|settings| settings.times.answer = SHORT);
    let silent = silent().await;
    for (address, limit) in [(unused, 9), (large.address, 1), (silent.address, 9)] {
        let url = Url::parse(&format!("http://{address}/shown?a=hidden")).unwrap();
        let request = Request::get(url).header("Authorization", "Bearer hidden").unwrap();
        let shown = format!("{request:?}");

        let error = match client.send(request).await {
            Ok(answer) => answer.whole(limit).await.unwrap_err(),
            Err(error) => error,
        };

        let text = format!("{shown} {error:?} {}", error.with_causes());
        assert!(text.contains("/shown") && !text.contains("hidden"), "{text}");
    }
}
