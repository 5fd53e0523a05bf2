//! Upstreams within TLS: whose certificates are trusted, and connections that change their protocol.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener};
use std::process::Stdio;
use std::sync::Arc;

use homeroom_testkit::tls::Authority;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

use crate::support::{Place, Server};
use crate::upstreams::{api, publish};

/// An upstream within TLS that changes to another protocol and sends back what it gets.
fn secure(authority: &Authority) -> SocketAddr {
    let own = authority.certify("127.0.0.1");
    let chain = vec![CertificateDer::from_pem_slice(own.certificate.as_bytes()).unwrap()];
    let key = PrivateKeyDer::from_pem_slice(own.key.as_bytes()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .unwrap();
    let mut config = config;
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    let config = Arc::new(config);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let session = rustls::ServerConnection::new(Arc::clone(&config)).unwrap();
            std::thread::spawn(move || {
                let mut stream = rustls::StreamOwned::new(session, stream);
                let (mut head, mut byte) = (vec![], [0]);
                while !head.ends_with(b"\r\n\r\n") {
                    if stream.read_exact(&mut byte).is_err() {
                        return;
                    }
                    head.push(byte[0]);
                }
                let agreed = "HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n";
                if stream.write_all(agreed.as_bytes()).is_err() {
                    return;
                }
                while stream.read_exact(&mut byte).is_ok() && stream.write_all(&byte).is_ok() {}
            });
        }
    });
    address
}

#[test]
fn websocket_is_passed_to_an_upstream_within_tls_and_past_one_that_is_gone() {
    let place = Place::new();
    let authority = Authority::new();
    let trusted = place.write("authority.pem", &authority.pem);
    let server = Server::start_with(&place, &[("SSL_CERT_FILE", trusted.to_str().unwrap())]);
    let urls = ["https://127.0.0.1:9".to_owned(), format!("https://{}", secure(&authority))];
    publish(&place, &api("ws", &urls, ""));

    for _ in 0..2 {
        let mut wire = server.wire();
        wire.send(
            "GET /apis/ws/v1/x HTTP/1.1\r\nhost: a\r\nconnection: Upgrade\r\nupgrade: WebSocket\r\n\
             sec-websocket-key: x\r\nsec-websocket-version: 13\r\n\r\n",
        );
        assert_eq!(wire.answer().status, 101);
        wire.send("hello");
        let mut back = [0; 5];
        wire.read_exactly(&mut back);
        assert_eq!(&back, b"hello");
    }
}

#[test]
fn an_upstream_within_tls_is_asked_if_its_certificate_is_trusted() {
    let place = Place::new();
    let authority = Authority::new();
    let own = authority.certify("127.0.0.1");
    let trusted = place.write("authority.pem", &authority.pem);
    place.write("own.pem", own.certificate);
    place.write("own.key", own.key);
    let mut command = place.command(&[
        "lab",
        "echo",
        "--listen",
        "127.0.0.1:0",
        "--certificate",
        "own.pem",
        "--private-key",
        "own.key",
    ]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let url = line.trim().rsplit(' ').next().unwrap().to_owned();
    let server = Server::start_with(&place, &[("SSL_CERT_FILE", trusted.to_str().unwrap())]);
    publish(&place, &api("tls", &[url], ""));
    let mut client = server.client();

    let posted = client.send("POST", "/apis/tls/v1/x", &[], Some(b"hello")).unwrap();

    assert_eq!((posted.status, posted.text()), (200, "hello".to_owned()));
    server.stop();
    let without = Server::start(&place);
    assert_eq!(without.client().get("/apis/tls/v1/x").status, 503);
    _ = child.kill();
    _ = child.wait();
}
