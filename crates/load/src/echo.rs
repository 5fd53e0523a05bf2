//! An echo server for tests. It answers with what was posted, and a capacity, a freeze and errors
//! can be planted in it, so that what a generator or a gateway reports can be compared with the
//! truth.

mod counts;
mod freeze;
mod queue;
mod serve;

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::Notify;

use counts::Counts;
use freeze::Freezer;
pub use queue::Capacity;
use queue::Queue;

/// What the echo does besides answering.
#[derive(Debug, Clone)]
pub struct Options {
    /// The address to listen on; port 0 takes any free port.
    pub listen: SocketAddr,
    /// How long each answer is held back.
    pub delay: Duration,
    /// The size of each answer's body; `None` sends back what was posted.
    pub body_bytes: Option<usize>,
    /// The capacity to simulate; `None` serves as fast as the machine can.
    pub capacity: Option<Capacity>,
    /// When the freeze begins, counted from the first request, and how long it lasts. During it
    /// nothing is read or written.
    pub freeze: Option<(Duration, Duration)>,
    /// The share of requests that fail, and the status that they get.
    pub errors: Option<(f64, u16)>,
    /// The certificate and key to serve TLS with; `None` for plain HTTP.
    pub tls: Option<Arc<ServerConfig>>,
    /// Whether arrivals are also counted by millisecond.
    pub by_millisecond: bool,
}

impl Options {
    /// Returns options for an echo that only answers, on a free port of the loopback interface.
    pub fn plain() -> Self {
        Self {
            listen: SocketAddr::from(([127, 0, 0, 1], 0)),
            delay: Duration::ZERO,
            body_bytes: None,
            capacity: None,
            freeze: None,
            errors: None,
            tls: None,
            by_millisecond: false,
        }
    }
}

/// A running echo server; it answers until it is dropped.
#[derive(Debug)]
pub struct Echo {
    address: SocketAddr,
    shared: Arc<Shared>,
    runtime: Option<Runtime>,
}

/// State that all connections share.
#[derive(Debug)]
struct Shared {
    options: Options,
    body: bytes::Bytes,
    counts: Counts,
    freezer: Option<Freezer>,
    queue: Option<std::sync::Mutex<Queue>>,
    failed_at: AtomicU64,
    over: Notify,
}

impl Echo {
    /// Starts listening and answering, in threads of its own.
    ///
    /// # Errors
    ///
    /// If the address is taken or the system cannot start a thread.
    pub fn start(options: Options) -> io::Result<Self> {
        let listener = TcpListener::bind(options.listen)?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let runtime = Builder::new_multi_thread().thread_name("lab-echo").enable_all().build()?;
        let shared = Arc::new(Shared {
            body: vec![b'x'; options.body_bytes.unwrap_or(0)].into(),
            counts: Counts::new(options.by_millisecond),
            freezer: options.freeze.map(|(at, time)| Freezer::new(at, time)),
            queue: options.capacity.map(|capacity| Queue::new(capacity).into()),
            failed_at: AtomicU64::new(0),
            over: Notify::new(),
            options,
        });
        let listener = {
            let _entered = runtime.enter();
            tokio::net::TcpListener::from_std(listener)?
        };
        runtime.spawn(serve::accept(listener, shared.clone()));
        Ok(Self { address, shared, runtime: Some(runtime) })
    }

    /// Returns the address that the echo listens on.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns the echo's origin as a URL.
    pub fn url(&self) -> String {
        let scheme = if self.shared.options.tls.is_some() { "https" } else { "http" };
        format!("{scheme}://{}", self.address)
    }

    /// Returns the counts that `GET /_lab/counts` answers with.
    pub fn counts(&self) -> serde_json::Value {
        self.shared.counts.as_json()
    }
}

impl Drop for Echo {
    fn drop(&mut self) {
        self.shared.over.notify_waiters();
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

/// Reads a TLS configuration from a certificate and a key in PEM form.
///
/// # Errors
///
/// If a file cannot be read or does not hold what it should.
pub fn tls(certificate: &Path, key: &Path) -> Result<Arc<ServerConfig>, String> {
    let wrong = |path: &Path, why: String| format!("{}: {why}", path.display());
    let chain: Vec<CertificateDer<'static>> = CertificateDer::pem_file_iter(certificate)
        .and_then(Iterator::collect)
        .map_err(|error| wrong(certificate, error.to_string()))?;
    let key_der =
        PrivateKeyDer::from_pem_file(key).map_err(|error| wrong(key, error.to_string()))?;
    let mut config = ServerConfig::builder()
        .with_no_client_auth()
        .with_single_cert(chain, key_der)
        .map_err(|error| wrong(certificate, error.to_string()))?;
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}

#[cfg(test)]
mod tests;
