//! TLS: whom the client trusts, and which version of HTTP it speaks.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use homeroom_client::{Client, Error, Phase, Request, Retries, Settings, Trust, Url, Versions};
use http::Method;
use http_body_util::Full;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use rustls::pki_types::PrivateKeyDer;
use tokio_rustls::TlsAcceptor;

use crate::support::{LONG, SHORT, Server, channel, client, endless, send};

/// Returns a new certificate for `localhost`, for a server and for those who trust it.
fn identity() -> (TlsAcceptor, Trust) {
    let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
    let key = PrivateKeyDer::try_from(made.signing_key.serialize_der()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![made.cert.der().clone()], key)
        .unwrap();
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    let trust = Trust::Bundle(made.cert.pem().into_bytes());
    (TlsAcceptor::from(Arc::new(config)), trust)
}

/// A server with a certificate for `localhost` of its own. It answers with the version of HTTP.
async fn secure() -> (Server, Trust) {
    let (acceptor, trust) = identity();
    let server = Server::start(move |_, stream| {
        let acceptor = acceptor.clone();
        async move {
            let Ok(stream) = acceptor.accept(stream).await else { return };
            let service = service_fn(|request: http::Request<hyper::body::Incoming>| async move {
                tokio::time::sleep(Duration::from_millis(20)).await;
                let version = Bytes::from(format!("{:?}", request.version()));
                Ok::<_, Infallible>(http::Response::new(Full::new(version)))
            });
            let builder = auto::Builder::new(TokioExecutor::new());
            _ = builder.serve_connection(TokioIo::new(stream), service).await;
        }
    })
    .await;
    (server, trust)
}

fn get(server: &Server, host: &str) -> Request {
    let port = server.address.port();
    Request::get(Url::parse(&format!("https://{host}:{port}/")).unwrap())
}

#[tokio::test]
async fn http_1_and_http_2_work_and_http_2_shares_a_connection() {
    let (server, trust) = secure().await;
    let second = client(|settings| settings.trust = trust.clone());
    let first = client(|settings| {
        settings.trust = trust;
        settings.versions = Versions::Http1;
    });

    let ask = |client: &Client| {
        let (client, request) = (client.clone(), get(&server, "localhost"));
        tokio::spawn(async move { send(&client, request).await.unwrap().1 })
    };
    assert_eq!(ask(&second).await.unwrap(), "HTTP/2.0");
    for one in [ask(&second), ask(&second), ask(&second)] {
        assert_eq!(one.await.unwrap(), "HTTP/2.0");
    }
    assert_eq!(server.accepted(), 1);
    assert_eq!(ask(&first).await.unwrap(), "HTTP/1.1");
}

#[tokio::test]
async fn a_server_that_is_not_trusted_gets_no_request() {
    let (server, trust) = secure().await;
    let (_, other) = secure().await;
    for (trust, host) in [(other, "localhost"), (trust, "127.0.0.1")] {
        let accepted = server.accepted();
        let client = client(|settings| {
            settings.trust = trust;
            settings.retries = Retries::few();
        });

        let error = send(&client, get(&server, host)).await.unwrap_err();

        assert!(matches!(error, Error::Failed { phase: Phase::Tls, .. }), "{host}: {error}");
        assert_eq!(server.accepted(), accepted + 1, "{host}: another try would end the same way");
    }
}

#[tokio::test]
async fn a_full_socket_below_tls_does_not_keep_a_connection_open() {
    let (acceptor, trust) = identity();
    let server = Server::start(move |_, stream| {
        let acceptor = acceptor.clone();
        async move {
            let Ok(_open) = acceptor.accept(stream).await else { return };
            tokio::time::sleep(2 * LONG).await;
        }
    })
    .await;
    let client = client(|settings| {
        settings.trust = trust;
        settings.versions = Versions::Http1;
        settings.times.send = SHORT;
    });
    let (sender, body) = channel();
    let upload = tokio::spawn(endless(sender));
    let mut request = get(&server, "localhost").stream(body, None);
    request.method = Method::PUT;

    let error = send(&client, request).await.unwrap_err();

    assert!(matches!(error, Error::TimedOut { phase: Phase::Send, .. }), "{error}");
    tokio::time::timeout(LONG, upload).await.expect("the body is dropped").unwrap();
}

#[tokio::test]
async fn an_http_2_upload_ends_if_its_answer_is_not_read() {
    let (acceptor, trust) = identity();
    let server = Server::start(move |_, stream| {
        let acceptor = acceptor.clone();
        async move {
            let Ok(stream) = acceptor.accept(stream).await else { return };
            let service = service_fn(|request: http::Request<hyper::body::Incoming>| async move {
                let (sender, body) = channel();
                sender.send(Ok("begun".into())).await.unwrap();
                tokio::spawn(async move {
                    let _open = (request, sender);
                    tokio::time::sleep(2 * LONG).await;
                });
                Ok::<_, Infallible>(http::Response::new(body))
            });
            let builder = auto::Builder::new(TokioExecutor::new());
            _ = builder.serve_connection(TokioIo::new(stream), service).await;
        }
    })
    .await;
    let client = client(|settings| settings.trust = trust);
    let (sender, body) = channel();
    sender.send(Ok("begun".into())).await.unwrap();
    let mut request = get(&server, "localhost").stream(body, None);
    request.method = Method::PUT;

    let mut answer = client.send(request).await.unwrap().into_body();
    assert_eq!(answer.part().await.unwrap().unwrap(), "begun");
    drop(answer);

    tokio::time::timeout(LONG / 2, sender.closed()).await.expect("the body is dropped");
}

#[tokio::test]
async fn a_client_without_trusted_certificates_refuses_https() {
    let (server, _) = secure().await;
    let client = Client::new(Settings::trusted(Duration::from_secs(30))).unwrap();

    assert!(matches!(Settings::for_operator(LONG).trust, Trust::Native));
    let error = send(&client, get(&server, "localhost")).await.unwrap_err();

    assert!(matches!(error, Error::Trust { .. }), "{error}");
    assert_eq!(server.accepted(), 0);
}
