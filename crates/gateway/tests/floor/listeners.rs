//! TLS, versions of HTTP, other protocols.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use homeroom_client::{Phase, Request, Url, Versions};
use homeroom_gateway::{Identity, Limits, Tls};
use homeroom_testkit::{Folder, TestApp};
use http::Method;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use crate::support::{LONG, Server, head, tls_client};

/// A certificate of localhost and its key, as PEM text.
struct Made {
    certificate: String,
    key: String,
}

fn made() -> Made {
    let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
    Made { certificate: made.cert.pem(), key: made.signing_key.serialize_pem() }
}

/// Puts a certificate into a folder as tools do that renew certificates: both files are replaced, one after the
/// other.
fn put(folder: &Folder, made: &Made) {
    for (name, text) in [("a.key", &made.key), ("a.pem", &made.certificate)] {
        let new = folder.write("new", text);
        std::fs::rename(new, folder.path().join(name)).unwrap();
    }
}

/// Makes a certificate in a folder; returns it as PEM text.
fn renew(folder: &Folder) -> String {
    let made = made();
    put(folder, &made);
    made.certificate
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

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_certificate_that_changes_under_load_fails_no_request() {
    let folder = Folder::new();
    let (first, second) = (made(), made());
    put(&folder, &first);
    let server = Arc::new(Server::start_with(|door| door, Some(tls_of(&folder))).await);
    let both = format!("{}{}", first.certificate, second.certificate);
    let is_over = Arc::new(AtomicBool::new(false));
    let get = |server: &Server| Request::get(secure(server, "/floor/stream/1000"));
    // In each version of HTTP, somebody keeps a connection, and somebody opens one for each request.
    let cases = [Versions::Http1, Versions::Negotiated].map(|of| [(of, true), (of, false)]);
    let load = cases.into_iter().flatten().map(|(versions, is_kept)| {
        let (server, both, is_over) = (Arc::clone(&server), both.clone(), Arc::clone(&is_over));
        tokio::spawn(async move {
            let kept = tls_client(&both, versions);
            let mut answered = 0;
            while !is_over.load(Ordering::Relaxed) {
                let client = if is_kept { kept.clone() } else { tls_client(&both, versions) };
                match client.send(get(&server)).await {
                    Ok(answer) => {
                        assert_eq!(answer.whole(2_000).await.unwrap().body.len(), 1_000);
                        answered += 1;
                    }
                    Err(error) => panic!("{versions:?} {is_kept}, after {answered}: {error}"),
                }
            }
            answered
        })
    });
    let load: Vec<_> = load.collect();
    tokio::time::sleep(Duration::from_millis(200)).await;

    put(&folder, &second);
    let renewed = async {
        loop {
            match tls_client(&second.certificate, Versions::Http1).send(get(&server)).await {
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
    tokio::time::sleep(Duration::from_millis(500)).await;

    is_over.store(true, Ordering::Relaxed);
    for load in load {
        let answered = load.await.expect("no request fails");
        assert!(answered > 10, "{answered}");
    }
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
