//! Opens connections: resolve, check the addresses, connect, TLS.
#![expect(clippy::disallowed_methods, reason = "each phase of a request has a time limit")]

use std::future::Future;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use http::Uri;
use hyper_util::client::legacy::connect::{Connected, Connection};
use hyper_util::rt::TokioIo;
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::Instant;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use crate::address::{AddressPolicy, Range};
use crate::connections::{Connections, Open};
use crate::error::{Cause, Phase};
use crate::resolver::Resolver;
use crate::settings::Settings;
use crate::stall::Watched;
use crate::times::{Times, end_of};
use crate::tls::http1_only;
use crate::url::{Origin, Url};

/// Opens connections according to the settings.
#[derive(Clone)]
pub struct Connector(Arc<ConnectorInner>);

struct ConnectorInner {
    addresses: AddressPolicy,
    reaches: Option<Origin>,
    resolver: Resolver,
    connections: Connections,
    times: Times,
    tls: Option<TlsConnector>,
    /// The same for connections on which HTTP/1.1 only is spoken.
    http1: Option<TlsConnector>,
}

/// The reason why there is no connection.
#[derive(Debug, Clone, thiserror::Error)]
pub enum NotConnected {
    /// The address policy refuses all addresses of the host; this is the first.
    #[error("{0} is {1}")]
    Refused(IpAddr, Range),
    /// A phase took too long.
    #[error("{0} took longer than {1:?}")]
    TimedOut(Phase, Duration),
    /// A phase failed.
    #[error("{0} failed")]
    Failed(Phase, #[source] Cause),
}

impl Connector {
    /// Makes a connector. Without a TLS configuration it opens plain connections only.
    pub fn new(settings: &Settings, tls: Option<Arc<ClientConfig>>) -> Self {
        Self(Arc::new(ConnectorInner {
            addresses: settings.addresses.clone(),
            reaches: settings.reaches.clone(),
            resolver: settings.resolver.clone(),
            connections: settings.connections.clone(),
            times: settings.times.clone(),
            http1: tls.as_ref().map(|tls| TlsConnector::from(http1_only(tls))),
            tls: tls.map(TlsConnector::from),
        }))
    }

    /// Opens a connection on which HTTP/1.1 is spoken.
    pub async fn open_http1(&self, url: &Url) -> Result<TokioIo<Socket>, NotConnected> {
        self.0.open(url.origin(), self.0.http1.as_ref()).await
    }
}

impl ConnectorInner {
    async fn open(
        &self,
        origin: &Origin,
        tls: Option<&TlsConnector>,
    ) -> Result<TokioIo<Socket>, NotConnected> {
        let reached = self.reaches.as_ref().unwrap_or(origin);
        let looked_up = self.resolver.look_up(&reached.host);
        let found = within(Phase::Resolve, self.times.resolve, looked_up).await?;
        let allowed = self.allowed(&reached.host, &found)?;
        let connected = connect(&allowed, reached.port, self.times.connect);
        let stream = within(Phase::Connect, self.times.connect, connected).await?;
        let open = self.connections.open(reached);
        let stream = Watched::new(stream, self.times.send);
        if !origin.is_secure {
            return Ok(TokioIo::new(Socket { stream: Stream::Plain(stream), _open: open }));
        }
        let tls = tls.ok_or_else(|| {
            failed(Phase::Tls, io::Error::other("this client trusts no certificate"))
        })?;
        let name =
            ServerName::try_from(origin.host.clone()).map_err(|error| failed(Phase::Tls, error))?;
        let shaken = within(Phase::Tls, self.times.tls, tls.connect(name, stream)).await?;
        Ok(TokioIo::new(Socket { stream: Stream::Tls(Box::new(shaken)), _open: open }))
    }

    /// Returns the addresses that the policy allows. The client connects to exactly these; the name is
    /// not resolved again.
    fn allowed(&self, host: &str, found: &[IpAddr]) -> Result<Vec<IpAddr>, NotConnected> {
        let mut refused = None;
        let mut allowed = vec![];
        for address in found.iter().map(IpAddr::to_canonical) {
            match self.addresses.check(host, address) {
                Ok(()) => allowed.push(address),
                Err(range) => _ = refused.get_or_insert(NotConnected::Refused(address, range)),
            }
        }
        match refused {
            Some(refused) if allowed.is_empty() => Err(refused),
            _ => Ok(allowed),
        }
    }
}

/// Connects to the first address that can be reached. Each gets an equal share of the time left.
async fn connect(addresses: &[IpAddr], port: u16, time: Duration) -> io::Result<TcpStream> {
    let until = end_of(Instant::now(), time);
    let mut last = io::Error::other("there is no address");
    for (left, address) in (1..=addresses.len()).rev().zip(addresses) {
        let share =
            until.saturating_duration_since(Instant::now()) / u32::try_from(left).unwrap_or(1);
        let connecting = TcpStream::connect(SocketAddr::new(*address, port));
        // The last address has the rest of the time, which the caller measures.
        let connected = if left == 1 {
            connecting.await
        } else {
            tokio::time::timeout(share, connecting)
                .await
                .unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))
        };
        match connected {
            Ok(stream) => {
                stream.set_nodelay(true)?;
                return Ok(stream);
            }
            Err(error) => last = error,
        }
    }
    Err(last)
}

async fn within<T>(
    phase: Phase,
    limit: Duration,
    done: impl Future<Output = io::Result<T>>,
) -> Result<T, NotConnected> {
    match tokio::time::timeout(limit, done).await {
        Ok(done) => done.map_err(|error| failed(phase, error)),
        Err(_) => Err(NotConnected::TimedOut(phase, limit)),
    }
}

fn failed(phase: Phase, cause: impl std::error::Error + Send + Sync + 'static) -> NotConnected {
    NotConnected::Failed(phase, Arc::new(cause))
}

impl tower_service::Service<Uri> for Connector {
    type Response = TokioIo<Socket>;
    type Error = NotConnected;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, NotConnected>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), NotConnected>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        let parts = Arc::clone(&self.0);
        Box::pin(async move {
            let url = Url::try_from(uri).map_err(|error| failed(Phase::Resolve, error))?;
            parts.open(url.origin(), parts.tls.as_ref()).await
        })
    }
}

/// An open connection, with or without TLS.
pub struct Socket {
    stream: Stream,
    _open: Open,
}

enum Stream {
    /// Plain TCP.
    Plain(Watched),
    /// TLS over TCP.
    Tls(Box<TlsStream<Watched>>),
}

impl Connection for Socket {
    fn connected(&self) -> Connected {
        match &self.stream {
            Stream::Tls(stream) if stream.get_ref().1.alpn_protocol() == Some(b"h2") => {
                Connected::new().negotiated_h2()
            }
            _ => Connected::new(),
        }
    }
}

impl AsyncRead for Socket {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match &mut self.get_mut().stream {
            Stream::Plain(stream) => Pin::new(stream).poll_read(context, into),
            Stream::Tls(stream) => Pin::new(stream).poll_read(context, into),
        }
    }
}

impl AsyncWrite for Socket {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        match &mut self.get_mut().stream {
            Stream::Plain(stream) => Pin::new(stream).poll_write(context, bytes),
            Stream::Tls(stream) => Pin::new(stream).poll_write(context, bytes),
        }
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        match &mut self.get_mut().stream {
            Stream::Plain(stream) => Pin::new(stream).poll_write_vectored(context, bytes),
            Stream::Tls(stream) => Pin::new(stream).poll_write_vectored(context, bytes),
        }
    }

    fn is_write_vectored(&self) -> bool {
        match &self.stream {
            Stream::Plain(stream) => stream.is_write_vectored(),
            Stream::Tls(stream) => stream.is_write_vectored(),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.get_mut().stream {
            Stream::Plain(stream) => Pin::new(stream).poll_flush(context),
            Stream::Tls(stream) => Pin::new(stream).poll_flush(context),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.get_mut().stream {
            Stream::Plain(stream) => Pin::new(stream).poll_shutdown(context),
            Stream::Tls(stream) => Pin::new(stream).poll_shutdown(context),
        }
    }
}
