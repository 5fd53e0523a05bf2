//! Upstreams within TLS: whose certificates are trusted, and connections that change their protocol.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::Stdio;
use std::sync::Arc;

use homeroom_testkit::tls::Authority;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

use crate::support::{Place, Server, Upstream};
use crate::upstreams::{api, publish};

/// A connection within TLS.
type Stream = rustls::StreamOwned<rustls::ServerConnection, TcpStream>;

/// Accepts connections within TLS, each of which `talk` answers. Returns the address.
fn serve(config: rustls::ServerConfig, talk: fn(Stream)) -> SocketAddr {
    let config = Arc::new(config);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let session = rustls::ServerConnection::new(Arc::clone(&config)).unwrap();
            std::thread::spawn(move || talk(Stream::new(session, stream)));
        }
    });
    address
}

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
    serve(config, |mut stream| {
        let (mut head, mut byte) = (vec![], [0]);
        while !head.ends_with(b"\r\n\r\n") {
            if stream.read_exact(&mut byte).is_err() {
                return;
            }
            head.push(byte[0]);
        }
        let agreed =
            "HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n";
        if stream.write_all(agreed.as_bytes()).is_err() {
            return;
        }
        while stream.read_exact(&mut byte).is_ok() && stream.write_all(&byte).is_ok() {}
    })
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

/// An upstream within TLS whose certificate names `upstream.example`, that asks for a certificate of an authority
/// and answers with the names that it was called and with the number of certificates that it was shown.
fn demanding(authority: &Authority) -> SocketAddr {
    let own = authority.certify("upstream.example");
    let chain = vec![CertificateDer::from_pem_slice(own.certificate.as_bytes()).unwrap()];
    let key = PrivateKeyDer::from_pem_slice(own.key.as_bytes()).unwrap();
    let mut roots = rustls::RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(authority.pem.as_bytes()).unwrap()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let verifier = rustls::server::WebPkiClientVerifier::builder_with_provider(
        Arc::new(roots),
        Arc::clone(&provider),
    );
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_client_cert_verifier(verifier.allow_unauthenticated().build().unwrap())
        .with_single_cert(chain, key)
        .unwrap();
    serve(config, |stream| {
        let mut stream = BufReader::new(stream);
        let (mut line, mut host) = (String::new(), String::new());
        while stream.read_line(&mut line).is_ok_and(|read| read > 2) {
            if let Some(value) = line.to_ascii_lowercase().strip_prefix("host:") {
                value.trim().clone_into(&mut host);
            }
            line.clear();
        }
        let stream = stream.get_mut();
        let name = stream.conn.server_name().unwrap_or("none").to_owned();
        let shown = stream.conn.peer_certificates().map_or(0, <[_]>::len);
        let body = format!("{name} {host} {shown}");
        let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n", body.len());
        _ = stream.write_all(format!("{head}connection: close\r\n\r\n{body}").as_bytes());
        stream.conn.send_close_notify();
        _ = stream.flush();
    })
}

#[test]
fn an_upstream_is_called_by_its_own_host_and_both_sides_show_certificates() {
    let place = Place::new();
    let server = Server::start(&place);
    let (authority, other) = (Authority::new(), Authority::new());
    let own = authority.certify("gateway.example");
    let at = |name: &str, text: &str| format!("file:{}", place.write(name, text).display());
    let ca = at("ca.pem", &authority.pem);
    let other = at("other.pem", &other.pem);
    let (certificate, key) = (at("own.pem", &own.certificate), at("own.key", &own.key));
    let urls = [0; 2].map(|_| format!("https://{}", demanding(&authority)));
    let host = "host = 'upstream.example'";
    let peers = [
        ("both", format!("{host}, ca = '{ca}', certificate = '{certificate}', key = '{key}'")),
        ("port", format!("host = 'upstream.example:8443', ca = '{ca}'")),
        ("nameless", format!("ca = '{ca}'")),
        ("strange", format!("{host}, ca = '{other}'")),
        ("system", host.to_owned()),
    ];
    let apis = peers.map(|(name, peer)| api(name, &urls, &format!("peer = {{{peer}}}")));
    let plain = Upstream::echo();
    let named = api("plain", &[plain.url()], "peer = {host = 'named.example:80'}");
    publish(&place, &(apis.concat() + &named));
    let mut client = server.client();
    let mut asked = |name: &str| {
        let answer = client.get(&format!("/apis/{name}/v1/x"));
        (answer.status, answer.text())
    };

    for _ in 0..4 {
        assert_eq!(asked("both"), (200, "upstream.example upstream.example 1".into()));
    }
    assert_eq!(asked("port"), (200, "upstream.example upstream.example:8443 0".into()));
    for name in ["nameless", "strange", "system"] {
        assert_eq!(asked(name).0, 503, "{name}");
    }
    for _ in 0..2 {
        assert_eq!(asked("plain").0, 200);
    }
    assert!(plain.take().iter().all(|seen| seen.values("host") == ["named.example"]));
    let export = place.done(&["gateway", "export"]);
    assert!(export.contains(&key) && !export.contains("BEGIN"), "{}", export);
    let log = server.log();
    assert!(!log.contains("PRIVATE KEY"), "{log}");
    let metrics = server.admin_client().get("/metrics").text();
    assert!(urls.iter().all(|url| metrics.contains(url)), "{metrics}");
}

#[test]
fn peers_that_make_no_sense_are_found_with_their_line() {
    let place = Place::new();
    let authority = Authority::new();
    let urls = ["https://127.0.0.1:9".to_owned()];
    let wrong = [
        "host = 'a/b', key = '-----BEGIN PRIVATE KEY-----'",
        "ca = 'ca.pem', certificate = 'env:HOMEROOM_API_C'",
    ];
    let [first, second] = wrong.map(|peer| format!("peer = {{{peer}}}"));
    let plain = api("plain", &["http://127.0.0.1:9".to_owned()], "peer = {ca = 'env:X'}");
    let file = [api("first", &urls, &first), api("second", &urls, &second), plain].concat();
    place.write("wrong.toml", &file);

    let lint = place.run(&["gateway", "lint", "wrong.toml"]);

    assert_eq!(lint.code, Some(1), "{lint:?}");
    for text in [
        "apis[0].peer.host",
        "apis[0].peer.key",
        "apis[0].peer.certificate",
        "apis[1].peer.ca",
        "apis[1].peer.key",
        "apis[2].peer.ca",
    ] {
        assert!(lint.stderr.contains(text), "{text}: {}", lint.stderr);
    }
    assert!(!lint.stderr.contains("BEGIN PRIVATE KEY"), "{}", lint.stderr);
    let server = Server::start(&place);
    let key = format!("file:{}", place.write("ca.pem", &authority.pem).display());
    for (peer, member) in [
        (format!("certificate = '{key}', key = '{key}'"), "peer.certificate"),
        ("ca = 'file:/no/such/file'".to_owned(), "peer.ca"),
    ] {
        place.write("apis.toml", api("a", &urls, &format!("peer = {{{peer}}}")));
        let applied = place.run(&["gateway", "apply", "apis.toml"]);
        assert_ne!(applied.code, Some(0), "{applied:?}");
        assert!(applied.stderr.contains(member), "{}", applied.stderr);
    }
    drop(server);
}
