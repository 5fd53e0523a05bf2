//! An echo server for tests. It answers with the posted body. A capacity, a freeze and errors can
//! be planted in it, so that the report of a generator or a gateway can be compared with the truth.

mod counts;
mod freeze;
mod options;
mod queue;
mod serve;
mod shared;
mod stream;

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::sync::Arc;

use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio::runtime::{Builder, Runtime};

pub use options::EchoOptions;
pub use queue::PlantedCapacity;
use shared::EchoState;

/// A running echo server; it answers until it is dropped.
#[derive(Debug)]
pub struct Echo {
    address: SocketAddr,
    shared: Arc<EchoState>,
    runtime: Option<Runtime>,
}

impl Echo {
    /// Starts listening and answering, in threads of its own.
    ///
    /// # Errors
    ///
    /// If the address is taken or the system cannot start a thread.
    pub fn start(options: EchoOptions) -> io::Result<Self> {
        let listener = TcpListener::bind(options.listen)?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let runtime = Builder::new_multi_thread().thread_name("lab-echo").enable_all().build()?;
        let shared = Arc::new(EchoState::new(options));
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
