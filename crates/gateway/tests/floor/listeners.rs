//! TLS, versions of HTTP, other protocols.

use std::sync::Arc;
use std::time::Duration;

use homeroom_client::{Phase, Request, Url, Versions};
use homeroom_gateway::{Identity, Limits, Tls};
use homeroom_testkit::{Folder, TestApp};
use http::Method;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use crate::support::{LONG, Server, head, tls_client};

/// Makes a certificate of localhost in a folder; returns it as PEM text.
fn renew(folder: &Folder) -> String {
    let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
    // As tools do that renew certificates: both files are replaced, one after the other.
    for (name, text) in [("a.key", made.signing_key.serialize_pem()), ("a.pem", made.cert.pem())] {
        let new = folder.write("new", text);
        std::fs::rename(new, folder.path().join(name)).unwrap();
    }
    made.cert.pem()
}

/// Reads the certificate of a folder.
fn tls_of(folder: &Folder) -> Tls {
    let file = |name: &str| folder.path().join(name);
    let identity = Identity { names: vec![], certificate: file("a.pem"), key: file("a.key") };
    Tls::new(vec![identity], None).unwrap()
}

fn secure(server: &Server, path: &str) -> Url {
    Url::parse(&format!("https://localhost:{}{path}", server.address.port())).unwrap()
}

#[tokio::test]
async fn both_versions_of_http_are_served_within_tls() {
    let folder = Folder::new();
    let pem = renew(&folder);
    let tls = tls_of(&folder);
    let server = Server::start_with(|door| door, Some(tls)).await;
    for versions in [Versions::Negotiated, Versions::Http1] {
        let client = tls_client(&pem, versions);
        let answer = client.send(Request::get(secure(&server, "/floor/stream/1000000"))).await;

        assert_eq!(answer.unwrap().whole(1 << 20).await.unwrap().body.len(), 1_000_000);
    }
    let mut bare = server.connect("GET / HTTP/1.1\r\nhost: a\r\n\r\n").await;
    let mut answer = vec![];
    _ = bare.read_to_end(&mut answer).await;
    assert!(!answer.starts_with(b"HTTP/"), "without TLS nothing is answered");
}

#[tokio::test]
async fn a_certificate_that_changes_under_load_fails_no_request() {
    let folder = Folder::new();
    let first = renew(&folder);
    let tls = tls_of(&folder);
    let server = Arc::new(Server::start_with(|door| door, Some(tls)).await);
    let old = tls_client(&first, Versions::Http1);
    let get = |server: &Server| Request::get(secure(server, "/floor/stream/1000"));
    let kept = {
        let (server, old) = (Arc::clone(&server), old.clone());
        tokio::spawn(async move {
            let mut answered = 0;
            let mut refused = None;
            // A connection that is open is kept with the certificate that it began with.
            while refused.is_none() && answered < 100_000 {
                match old.send(get(&server)).await {
                    Ok(answer) => {
                        answer.whole(2_000).await.unwrap();
                        answered += 1;
                    }
                    Err(error) => refused = Some(error),
                }
                if answered > 500 {
                    break;
                }
            }
            (answered, refused)
        })
    };
    let second = renew(&folder);
    let new = tls_client(&second, Versions::Http1);

    let renewed = async {
        loop {
            match new.send(get(&server)).await {
                Ok(answer) => return answer.whole(2_000).await.unwrap().body.len(),
                // The certificate before it is not trusted by this client.
                Err(error) if error.phase() == Some(Phase::Tls) => {
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
                Err(error) => panic!("{error}"),
            }
        }
    };

    assert_eq!(tokio::time::timeout(LONG, renewed).await.expect("it is read again"), 1_000);
    let (answered, refused) = kept.await.unwrap();
    assert!(answered > 500 && refused.is_none(), "{answered} {refused:?}");
}

#[tokio::test]
async fn a_connection_changes_to_another_protocol_and_is_left_alone() {
    let server = Server::start().await;
    let mut stream = server
        .connect(
            "GET /floor/socket HTTP/1.1\r\nhost: a\r\nconnection: upgrade\r\nupgrade: echo\r\n\r\n",
        )
        .await;
    let answer = head(&mut stream).await;
    assert!(answer.starts_with("HTTP/1.1 101 "), "{answer}");
    assert!(answer.to_lowercase().contains("upgrade: echo"), "{answer}");

    // What looks like a request that is refused on HTTP is just bytes here.
    let text = "POST / HTTP/1.1\r\ncontent-length: 5\r\ntransfer-encoding: chunked\r\n\r\n";
    for _ in 0..3 {
        stream.write_all(text.as_bytes()).await.unwrap();
        let mut back = vec![0; text.len()];
        stream.read_exact(&mut back).await.unwrap();
        assert_eq!(String::from_utf8(back).unwrap(), text);
    }
    let plain = server.send(Method::GET, "/floor/socket", &[], "").await;
    assert_eq!(plain.status, 400);
}

#[tokio::test]
async fn another_protocol_works_within_tls() {
    let folder = Folder::new();
    let pem = renew(&folder);
    let tls = tls_of(&folder);
    let server = Server::start_with(|door| door, Some(tls)).await;
    let trust = homeroom_client::Trust::Bundle(pem.into_bytes());
    let config = trust.read(Versions::Http1).unwrap().unwrap();
    let bare = tokio::net::TcpStream::connect(server.address).await.unwrap();
    let connector = tokio_rustls::TlsConnector::from(config);
    let mut stream = connector.connect("localhost".try_into().unwrap(), bare).await.unwrap();
    let ask =
        "GET /floor/socket HTTP/1.1\r\nhost: a\r\nconnection: upgrade\r\nupgrade: echo\r\n\r\n";
    stream.write_all(ask.as_bytes()).await.unwrap();
    let mut answer = vec![];
    while !answer.ends_with(b"\r\n\r\n") {
        answer.push(stream.read_u8().await.unwrap());
    }
    assert!(answer.starts_with(b"HTTP/1.1 101 "));

    stream.write_all(b"hello").await.unwrap();
    let mut back = [0; 5];
    stream.read_exact(&mut back).await.unwrap();

    assert_eq!(&back, b"hello");
}

#[tokio::test]
async fn a_connection_within_tls_is_answered_however_long_it_has_been_idle() {
    let folder = Folder::new();
    let pem = renew(&folder);
    let server = Server::start_with(|door| door, Some(tls_of(&folder))).await;
    let trust = homeroom_client::Trust::Bundle(pem.into_bytes());
    let config = trust.read(Versions::Http1).unwrap().unwrap();
    let bare = tokio::net::TcpStream::connect(server.address).await.unwrap();
    let connector = tokio_rustls::TlsConnector::from(config);
    let mut stream = connector.connect("localhost".try_into().unwrap(), bare).await.unwrap();
    for idle in [Duration::ZERO, Duration::from_millis(500), Duration::from_millis(2_500)] {
        tokio::time::sleep(idle).await;

        stream.write_all(b"GET /floor/stream/5 HTTP/1.1\r\nhost: a\r\n\r\n").await.unwrap();
        let mut answer = vec![];
        while !answer.ends_with(b"\r\n0\r\n\r\n") {
            answer.push(stream.read_u8().await.unwrap());
        }

        assert!(answer.starts_with(b"HTTP/1.1 200 "), "{idle:?}");
    }
}

#[tokio::test]
async fn a_connection_without_a_place_counts_as_refused_once() {
    let app = TestApp::empty_on_each_store().await.swap_remove(0);
    let limits = Limits { connections: 1, ..Limits::default() };
    let server = Server::within(app, limits, |door| door, None);
    let mut busy = server.connect("GET /floor/stream/67108864 HTTP/1.1\r\nhost: a\r\n\r\n").await;
    assert!(head(&mut busy).await.starts_with("HTTP/1.1 200 "));

    for refused in 1..=2 {
        let mut late = server.connect("GET /floor/stream/1 HTTP/1.1\r\nhost: a\r\n\r\n").await;
        let mut answer = vec![];
        _ = late.read_to_end(&mut answer).await;

        assert!(answer.is_empty(), "{answer:?}");
        let counted = server.metric("homeroom_budget_refused_total{budget=\"connections\"}");
        assert_eq!(counted, refused);
    }
}
