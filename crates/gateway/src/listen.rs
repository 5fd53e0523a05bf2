//! Listening: connections with limits in time and size, and a drain at the end.

use std::convert::Infallible;
use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use homeroom_http::RequestBody;
use http::Request;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use hyper_util::server::graceful::GracefulShutdown;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;

use crate::front_door::FrontDoor;

/// Longest time for a request's header to arrive.
const HEADER_TIME_MAX: Duration = Duration::from_secs(15);
/// Most bytes of a request's header.
const HEADER_BYTES_MAX: usize = 64 << 10;
/// Most connections of one listener.
const CONNECTIONS_MAX: usize = 16_384;

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

    /// Serves until `stop` is done, then drains for at most `drain`.
    pub async fn serve(
        self,
        door: Arc<FrontDoor>,
        stop: impl Future<Output = ()>,
        drain: Duration,
    ) {
        let mut builder = auto::Builder::new(TokioExecutor::new());
        builder
            .http1()
            .timer(TokioTimer::new())
            .header_read_timeout(HEADER_TIME_MAX)
            .max_buf_size(HEADER_BYTES_MAX.max(8_192))
            .pipeline_flush(true);
        builder.http2().timer(TokioTimer::new()).max_concurrent_streams(256);
        let graceful = GracefulShutdown::new();
        let places = Arc::new(Semaphore::new(CONNECTIONS_MAX));
        tokio::pin!(stop);
        loop {
            let place = tokio::select! {
                place = Arc::clone(&places).acquire_owned() => place,
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
            let service = service_fn(move |request: Request<Incoming>| {
                let door = Arc::clone(&door);
                async move {
                    let (head, body) = request.into_parts();
                    Ok::<_, Infallible>(door.answer(head, RequestBody::Incoming(body)).await)
                }
            });
            let served = builder.serve_connection(TokioIo::new(connection), service).into_owned();
            let served = graceful.watch(served);
            tokio::spawn(async move {
                if let Err(error) = served.await {
                    tracing::trace!(%error, "a connection ended early");
                }
                drop(place);
            });
        }
        drop(self.socket);
        if tokio::time::timeout(drain, graceful.shutdown()).await.is_err() {
            tracing::warn!("connections were still open after the drain time");
        }
    }
}
