//! The authorities whose clients may show certificates.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use rustls::RootCertStore;
use rustls::crypto::CryptoProvider;
use rustls::server::WebPkiClientVerifier;
use rustls::server::danger::ClientCertVerifier;

use super::files::{Seen, TlsError, certificates_of, seen, wrong};

/// The authorities of clients' certificates, from a file.
pub(super) struct Authorities {
    path: PathBuf,
    /// The state of the file when it was last read.
    seen: Mutex<Seen>,
}

impl Authorities {
    pub(super) fn new(path: PathBuf) -> Self {
        let seen = Mutex::new(seen(&path));
        Self { path, seen }
    }

    /// Returns whether the file has changed since the last call that said so.
    pub(super) fn has_changed(&self) -> bool {
        let now = seen(&self.path);
        let mut before = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::replace(&mut *before, now) != now
    }

    /// Reads what verifies the certificates of clients. Clients need not show one.
    ///
    /// # Errors
    ///
    /// [`TlsError::File`] says what is wrong with the file.
    pub(super) fn verifier(
        &self,
        provider: &Arc<CryptoProvider>,
    ) -> Result<Arc<dyn ClientCertVerifier>, TlsError> {
        let mut roots = RootCertStore::empty();
        for certificate in certificates_of(&self.path)? {
            roots.add(certificate).map_err(|error| wrong(&self.path, error))?;
        }
        WebPkiClientVerifier::builder_with_provider(Arc::new(roots), Arc::clone(provider))
            .allow_unauthenticated()
            .build()
            .map_err(|error| wrong(&self.path, error))
    }
}
