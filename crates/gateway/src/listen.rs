//! Listening: connections with limits in time and size, and a drain at the end.

mod connection;
mod framing;
mod sending;

use std::convert::Infallible;
use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use homeroom_http::{Kind, Problem, RequestBody};
use http::header::HOST;
use http::{Request, Version, request};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use hyper_util::server::graceful::GracefulShutdown;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio::time::Instant;

use crate::front_door::FrontDoor;
use connection::{Answering, Connection};
use sending::Sending;

/// Most bytes of a request's header.
const HEADER_BYTES_MAX: usize = 64 << 10;
/// Most connections of one listener.
const CONNECTIONS_MAX: usize = 16_384;
/// Longest quiet on a connection on which nothing is being answered. Longer than what balancers
/// keep their side open, so that they close first.
const QUIET_TIME_MAX: Duration = Duration::from_secs(75);

/// An address that cannot be listened on.
#[derive(Debug, thiserror::Error)]
pub enum ListenError {
    /// Somebody else listens there.
    #[error("{0} is in use; stop what listens there or choose another address")]
    InUse(SocketAddr),
    /// It cannot be listened on for another reason.
    #[error("cannot listen on {0}: {1}")]
    Unusable(SocketAddr, std::io::Error),
}

/// Limits in time of a listener.
#[derive(Debug, Clone, Copy)]
pub struct Times {
    /// Longest time for a request's header to arrive, from its first byte.
    pub header: Duration,
    /// Longest wait for open requests at the end.
    pub drain: Duration,
}

/// A bound listener.
#[derive(Debug)]
pub struct Listener {
    socket: TcpListener,
    address: SocketAddr,
}

impl Listener {
    /// Binds an address.
    ///
    /// # Errors
    ///
    /// [`ListenError`] says what to do.
    pub async fn bind(address: SocketAddr) -> Result<Self, ListenError> {
        let socket = TcpListener::bind(address).await.map_err(|error| match error.kind() {
            std::io::ErrorKind::AddrInUse => ListenError::InUse(address),
            _ => ListenError::Unusable(address, error),
        })?;
        let address = socket.local_addr().map_err(|error| ListenError::Unusable(address, error))?;
        Ok(Self { socket, address })
    }

    /// The address, with the port that was chosen for port 0.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves until `stop` is done, then drains.
    pub async fn serve(self, door: Arc<FrontDoor>, stop: impl Future<Output = ()>, times: Times) {
        let mut builder = auto::Builder::new(TokioExecutor::new());
        builder
            .http1()
            .timer(TokioTimer::new())
            .header_read_timeout(None)
            .max_buf_size(HEADER_BYTES_MAX.max(8_192));
        builder.http2().timer(TokioTimer::new()).max_concurrent_streams(256);
        let graceful = GracefulShutdown::new();
        let places = Arc::new(Semaphore::new(CONNECTIONS_MAX));
        tokio::pin!(stop);
        loop {
            let place = tokio::select! {
                Ok(place) = Arc::clone(&places).acquire_owned() => place,
                () = &mut stop => break,
            };
            let accepted = tokio::select! {
                accepted = self.socket.accept() => accepted,
                () = &mut stop => break,
            };
            let connection = match accepted {
                Ok((connection, _)) => connection,
                Err(error) => {
                    tracing::warn!(%error, "a connection could not be accepted");
                    tokio::time::sleep(Duration::from_millis(20)).await;
                    continue;
                }
            };
            _ = connection.set_nodelay(true);
            let door = Arc::clone(&door);
            let answering = Answering::default();
            let sending = Sending::new(QUIET_TIME_MAX);
            let limits = connection::Times { header: times.header, quiet: QUIET_TIME_MAX };
            let connection =
                Connection::new(connection, place, answering.clone(), sending.clone(), limits);
            let service = service_fn(move |request: Request<Incoming>| {
                let (door, one) = (Arc::clone(&door), answering.one());
                let sending = sending.clone();
                async move {
                    let (head, body) = request.into_parts();
                    let answer = match malformed(&head) {
                        Some(fault) => FrontDoor::refuse(&head, fault),
                        None => door.answer(head, RequestBody::Incoming(body)).await,
                    };
                    drop(one);
                    Ok::<_, Infallible>(sending.follow(answer, Instant::now()))
                }
            });
            let served = builder.serve_connection(TokioIo::new(connection), service).into_owned();
            let served = graceful.watch(served);
            tokio::spawn(async move {
                if let Err(error) = served.await {
                    tracing::trace!(%error, "a connection ended early");
                }
            });
        }
        drop(self.socket);
        if tokio::time::timeout(times.drain, graceful.shutdown()).await.is_err() {
            tracing::warn!("connections were still open after the drain time");
        }
    }
}

/// What is wrong with a head that hyper lets pass.
///
/// Source: RFC 9112 §3.2 (a target is a path, or a whole URL for proxies; one `Host`).
fn malformed(head: &request::Parts) -> Option<Problem> {
    let fault = if head.uri.path().is_empty() {
        "The target of the request is no path; it begins with a slash."
    } else if head.version == Version::HTTP_11 && head.headers.get_all(HOST).iter().count() != 1 {
        "A request has one Host header."
    } else {
        return None;
    };
    Some(Problem::of(Kind::BadRequest).error(fault))
}
