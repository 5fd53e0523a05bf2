//! TLS to the server: what a URL asks for, and the connections that do it.
//!
//! Source: PostgreSQL, libpq, SSL Support.

mod binding;
mod options;
mod stream;
mod verify;

pub(super) use options::split;
pub(super) use stream::Stream;

use std::io;
use std::sync::Arc;

use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use tokio_postgres::Socket;
use tokio_postgres::config::SslMode;
use tokio_postgres::tls::{MakeTlsConnect, TlsConnect};

use crate::error::StoreError;
use crate::postgres::tls::options::{Mode, TlsOptions};

/// How connections are secured; clones share it.
#[derive(Clone)]
pub(super) struct Tls {
    mode: Mode,
    /// [`None`] where no connection is secured.
    config: Option<Arc<ClientConfig>>,
}

impl Tls {
    /// Reads the certificates that a URL names.
    pub(super) fn new(options: &TlsOptions) -> Result<Self, StoreError> {
        let mode = options.mode();
        let config = match mode {
            Mode::Disable => None,
            _ => Some(Arc::new(verify::config(options)?)),
        };
        Ok(Self { mode, config })
    }

    /// Returns the mode in the driver's words.
    pub(super) fn driver_mode(&self) -> SslMode {
        match self.mode {
            Mode::Disable => SslMode::Disable,
            Mode::Prefer => SslMode::Prefer,
            Mode::Require | Mode::VerifyCa | Mode::VerifyFull => SslMode::Require,
        }
    }

    /// Returns whether a connection may do without.
    pub(super) fn is_optional(&self) -> bool {
        self.mode == Mode::Prefer
    }
}

impl MakeTlsConnect<Socket> for Tls {
    type Stream = Stream;
    type TlsConnect = Handshake;
    type Error = io::Error;

    fn make_tls_connect(&mut self, domain: &str) -> Result<Handshake, io::Error> {
        Ok(Handshake { config: self.config.clone(), domain: domain.to_owned() })
    }
}

/// A handshake that is about to begin.
pub(super) struct Handshake {
    config: Option<Arc<ClientConfig>>,
    domain: String,
}

impl TlsConnect<Socket> for Handshake {
    type Stream = Stream;
    type Error = io::Error;
    type Future = std::pin::Pin<Box<dyn Future<Output = Result<Stream, io::Error>> + Send>>;

    fn connect(self, socket: Socket) -> Self::Future {
        Box::pin(async move {
            let config = self.config.ok_or_else(|| io::Error::other("TLS is disabled"))?;
            let name = ServerName::try_from(self.domain).map_err(io::Error::other)?;
            let connector = tokio_rustls::TlsConnector::from(config);
            Ok(Stream(Box::new(connector.connect(name, socket).await?)))
        })
    }
}

/// Returns what to do about a handshake that failed for this reason, as the driver words it.
pub(super) fn mend(why: &str) -> &'static str {
    let mends = [
        ("does not support TLS", "turn ssl on in the server, or use sslmode=prefer or disable"),
        (
            "UnknownIssuer",
            "name the certificate of the authority that signed the server's with sslrootcert=FILE",
        ),
        (
            "NotValidForName",
            "the host of the URL is not in the server's certificate: use a name that is, or \
             sslmode=verify-ca",
        ),
        (
            "not valid for name",
            "the host of the URL is not in the server's certificate: use a name that is, or \
             sslmode=verify-ca",
        ),
        ("Expired", "the server's certificate has expired: renew it"),
        ("expired", "the server's certificate has expired: renew it"),
        ("no hostname", "TLS needs a host: a socket has none, and needs no sslmode"),
    ];
    let known = mends.iter().find(|(part, _)| why.contains(part));
    known.map_or("look at sslmode, sslrootcert, sslcert and sslkey", |(_, mend)| mend)
}
