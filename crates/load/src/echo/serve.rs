//! Connections and requests of an echo.
#![expect(clippy::disallowed_methods, reason = "a planted freeze counts from the first request")]

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::PoisonError;
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::header::{CONTENT_TYPE, RETRY_AFTER};
use http::{HeaderValue, Request, Response, StatusCode};
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::body::{Body as _, Incoming};
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

use super::counts::Ending;
use super::shared::EchoState;
use super::stream::Freezing;

/// The longest body that is read, in bytes.
const BODY_BYTES_MAX: usize = 64 * 1024 * 1024;

/// The time within which a TLS handshake must finish.
const HANDSHAKE_MAX: Duration = Duration::from_secs(10);

/// Accepts connections until the echo is dropped.
pub async fn accept(listener: TcpListener, shared: Arc<EchoState>) {
    let acceptor = shared.options.tls.clone().map(TlsAcceptor::from);
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = shared.over.notified() => return,
        };
        let Ok((stream, _)) = accepted else {
            // The usual cause is too many open files; some will be closed soon.
            tokio::time::sleep(Duration::from_millis(10)).await;
            continue;
        };
        _ = stream.set_nodelay(true);
        let (shared, acceptor) = (shared.clone(), acceptor.clone());
        tokio::spawn(async move {
            let stream = Freezing::new(stream, shared.clone());
            match acceptor {
                None => connection(stream, shared).await,
                Some(acceptor) => {
                    let handshake = tokio::time::timeout(HANDSHAKE_MAX, acceptor.accept(stream));
                    if let Ok(Ok(stream)) = handshake.await {
                        connection(stream, shared).await;
                    }
                }
            }
        });
    }
}

async fn connection<S>(stream: S, shared: Arc<EchoState>)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let service = service_fn(move |request| {
        let shared = shared.clone();
        async move { Ok::<_, Infallible>(answer(request, &shared).await) }
    });
    let mut builder = auto::Builder::new(TokioExecutor::new());
    builder.http1().pipeline_flush(true);
    // A client that closes its connection is not an error.
    _ = builder.serve_connection(TokioIo::new(stream), service).await;
}

async fn answer(request: Request<Incoming>, shared: &EchoState) -> Response<Full<Bytes>> {
    if request.uri().path() == "/_lab/counts" {
        return json(&shared.counts.as_json());
    }
    let since = shared.counts.arrive();
    let media = request.headers().get(CONTENT_TYPE).cloned();
    let posted = if request.body().is_end_stream() {
        Bytes::new()
    } else {
        match Limited::new(request.into_body(), BODY_BYTES_MAX).collect().await {
            Ok(body) => body.to_bytes(),
            Err(_) => return failed(shared, StatusCode::PAYLOAD_TOO_LARGE),
        }
    };
    if let Some(queue) = &shared.queue {
        let first = shared.counts.first().unwrap_or_else(Instant::now);
        let place = queue.lock().unwrap_or_else(PoisonError::into_inner).arrive(since);
        match place {
            Ok(done) => tokio::time::sleep_until((first + done).into()).await,
            Err(wait) => return shed(shared, wait),
        }
    }
    if !shared.options.delay.is_zero() {
        tokio::time::sleep(shared.options.delay).await;
    }
    if let Some((share, status)) = shared.options.errors
        && shared.next_fails(share)
    {
        let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        return failed(shared, status);
    }
    shared.counts.end(Ending::Answered);
    let is_fixed = shared.options.body_bytes.is_some();
    let mut response =
        Response::new(Full::new(if is_fixed { shared.body.clone() } else { posted }));
    if let (Some(media), false) = (media, is_fixed) {
        response.headers_mut().insert(CONTENT_TYPE, media);
    }
    response
}

fn shed(shared: &EchoState, wait: Duration) -> Response<Full<Bytes>> {
    shared.counts.end(Ending::Shed);
    let mut response = Response::new(Full::default());
    *response.status_mut() = StatusCode::SERVICE_UNAVAILABLE;
    let seconds = wait.as_secs() + u64::from(wait.subsec_nanos() > 0);
    response.headers_mut().insert(RETRY_AFTER, HeaderValue::from(seconds.max(1)));
    response
}

fn failed(shared: &EchoState, status: StatusCode) -> Response<Full<Bytes>> {
    shared.counts.end(Ending::Failed);
    let mut response = Response::new(Full::default());
    *response.status_mut() = status;
    response
}

fn json(value: &serde_json::Value) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(value.to_string().into()));
    let media = HeaderValue::from_static("application/json");
    response.headers_mut().insert(CONTENT_TYPE, media);
    response
}
