//! Upstreams that speak HTTP/2.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use homeroom_testkit::tls::Authority;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

use crate::support::{Place, Server, eventually};
use crate::upstreams::{api, publish};

/// What an upstream has seen.
#[derive(Default)]
struct Seen {
    connections: AtomicUsize,
    /// Bytes of bodies.
    read: AtomicUsize,
    /// Method and path of each request.
    lines: Mutex<Vec<String>>,
}

impl Seen {
    fn take(&self) -> Vec<String> {
        std::mem::take(&mut self.lines.lock().unwrap())
    }
}

/// An upstream within TLS that offers both versions and knows only HTTP/2: it sends bodies back as they arrive,
/// and resets what is asked for below `/reset` and `/half`.
fn echo(authority: &Authority) -> (SocketAddr, Arc<Seen>) {
    let own = authority.certify("127.0.0.1");
    let chain = vec![CertificateDer::from_pem_slice(own.certificate.as_bytes()).unwrap()];
    let key = PrivateKeyDer::from_pem_slice(own.key.as_bytes()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .unwrap();
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    let acceptor = tokio_rustls::TlsAcceptor::from(Arc::new(config));
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let address = listener.local_addr().unwrap();
    let seen = Arc::new(Seen::default());
    let kept = Arc::clone(&seen);
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async move {
            let listener = tokio::net::TcpListener::from_std(listener).unwrap();
            while let Ok((stream, _)) = listener.accept().await {
                let (acceptor, seen) = (acceptor.clone(), Arc::clone(&kept));
                tokio::spawn(async move {
                    let Ok(stream) = acceptor.accept(stream).await else { return };
                    let Ok(mut connection) = h2::server::handshake(stream).await else { return };
                    seen.connections.fetch_add(1, Ordering::Relaxed);
                    while let Some(Ok((request, respond))) = connection.accept().await {
                        tokio::spawn(answer(request, respond, Arc::clone(&seen)));
                    }
                });
            }
        });
    });
    (address, seen)
}

async fn answer(
    request: http::Request<h2::RecvStream>,
    mut respond: h2::server::SendResponse<Bytes>,
    seen: Arc<Seen>,
) {
    let path = request.uri().path().to_owned();
    let length = request.headers().get("content-length").cloned();
    seen.lines.lock().unwrap().push(format!("{} {path}", request.method()));
    let mut body = request.into_body();
    if path.ends_with("/reset") {
        respond.send_reset(h2::Reason::INTERNAL_ERROR);
        return;
    }
    let is_cut = path.ends_with("/half");
    let mut head = http::Response::new(());
    if is_cut {
        head.headers_mut().insert("content-length", 100.into());
    } else if let Some(length) = length.filter(|_| path.ends_with("/sized")) {
        head.headers_mut().insert("content-length", length);
    }
    let Ok(mut out) = respond.send_response(head, false) else { return };
    if is_cut {
        _ = out.send_data("half".into(), false);
        tokio::time::sleep(Duration::from_millis(100)).await;
        out.send_reset(h2::Reason::INTERNAL_ERROR);
        return;
    }
    while let Some(Ok(bytes)) = body.data().await {
        _ = body.flow_control().release_capacity(bytes.len());
        seen.read.fetch_add(bytes.len(), Ordering::Relaxed);
        _ = out.send_data(bytes, false);
    }
    _ = out.send_data(Bytes::new(), true);
}

/// A server with an API `two`, whose upstream speaks HTTP/2.
fn published() -> (Place, Server, Arc<Seen>) {
    let place = Place::new();
    let authority = Authority::new();
    let (address, seen) = echo(&authority);
    let trusted = place.write("authority.pem", &authority.pem);
    let server = Server::start_with(&place, &[("SSL_CERT_FILE", trusted.to_str().unwrap())]);
    let rules = "breaker = {failures = 1000}\nretries = {share = 1.0}";
    publish(&place, &api("two", &[format!("https://{address}")], rules));
    (place, server, seen)
}

#[test]
fn calls_of_both_versions_go_to_an_upstream_by_http_2_over_one_connection() {
    let (_place, server, seen) = published();
    let mut client = server.client();

    for number in 0..20 {
        let body = "x".repeat(number * 1_000);
        let answer =
            client.send("POST", "/apis/two/v1/sized?y", &[], Some(body.as_bytes())).unwrap();
        assert_eq!((answer.status, answer.text()), (200, body));
    }

    assert_eq!(seen.take().len(), 20);
    assert_eq!(seen.connections.load(Ordering::Relaxed), 1);
}

#[test]
fn a_body_is_passed_on_by_http_2_while_it_arrives_and_so_is_the_answer() {
    let (_place, server, seen) = published();
    let mut wire = server.wire();
    wire.send("POST /apis/two/v1/x HTTP/1.1\r\nhost: a\r\nconnection: close\r\ncontent-length: 400000\r\n\r\n");

    wire.send("x".repeat(200_000));
    eventually("the first half is there", || seen.read.load(Ordering::Relaxed) == 200_000);
    let mut begun = vec![0; 15];
    wire.read_exactly(&mut begun);
    wire.send("y".repeat(200_000));
    let rest = String::from_utf8(wire.rest()).unwrap();
    let (_, body) = rest.split_once("\r\n\r\n").unwrap();

    assert_eq!(begun, b"HTTP/1.1 200 OK");
    assert_eq!(body.matches('y').count(), 200_000);
    assert_eq!(seen.read.load(Ordering::Relaxed), 400_000);
}

#[test]
fn a_stream_that_is_reset_costs_its_call_alone() {
    let (_place, server, seen) = published();
    let mut client = server.client();

    let get = client.get("/apis/two/v1/reset");
    let gets = seen.take();
    let post = client.send("POST", "/apis/two/v1/reset", &[], Some(b"x")).unwrap();
    let posts = seen.take();
    let mut wire = server.wire();
    wire.send("GET /apis/two/v1/half HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n");
    let half = String::from_utf8_lossy(&wire.rest()).into_owned();

    assert_eq!((get.status, gets.len()), (502, 2), "{gets:?}");
    assert_eq!((post.status, posts.len()), (502, 1), "it may have arrived: {posts:?}");
    assert!(half.starts_with("HTTP/1.1 200") && half.ends_with("\r\n\r\nhalf"), "cut off: {half}");
    assert_eq!(client.send("POST", "/apis/two/v1/sized", &[], Some(b"x")).unwrap().status, 200);
    assert_eq!(seen.connections.load(Ordering::Relaxed), 1, "the connection goes on");
}
