//! The files of TLS: read, and watched for changes.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use homeroom_http::Fingerprint;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

/// Why a listener has no TLS.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// A file cannot be read, or has something else in it.
    #[error("{}: {reason}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// The key is not that of the certificate.
    #[error("{} is not the key of {}: {reason}", key.display(), certificate.display())]
    Mismatch {
        /// The file of the certificate.
        certificate: PathBuf,
        /// The file of the key.
        key: PathBuf,
        /// What the library says.
        reason: String,
    },
    /// There is no identity.
    #[error("TLS needs at least one certificate")]
    Nobody,
    /// The library refuses the configuration.
    #[error("TLS cannot be configured: {0}")]
    Refused(#[from] rustls::Error),
}

/// What tells whether a file has changed: time and length; [`None`] for a file that is not there.
pub(super) type Seen = Option<(SystemTime, u64)>;

/// Returns the state of a file.
pub(super) fn seen(path: &Path) -> Seen {
    let file = std::fs::metadata(path).ok()?;
    Some((file.modified().ok()?, file.len()))
}

/// Reads the certificates of a PEM file, at least one.
///
/// # Errors
///
/// [`TlsError::File`] says what is wrong with the file.
pub(super) fn certificates_of(path: &Path) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let all: Vec<CertificateDer<'static>> = CertificateDer::pem_slice_iter(&pem_of(path)?)
        .collect::<Result<_, _>>()
        .map_err(|error| wrong(path, error))?;
    if all.is_empty() {
        return Err(wrong(path, "it has no certificate in PEM form"));
    }
    Ok(all)
}

/// Reads the private key of a PEM file.
///
/// # Errors
///
/// [`TlsError::File`] says what is wrong with the file.
pub(super) fn key_of(path: &Path) -> Result<PrivateKeyDer<'static>, TlsError> {
    PrivateKeyDer::from_pem_slice(&pem_of(path)?).map_err(|error| wrong(path, error))
}

/// Returns the fingerprint of the first certificate of a PEM file, which is its owner's.
///
/// # Errors
///
/// [`TlsError::File`] says what is wrong with the file.
pub fn fingerprint_of(path: &Path) -> Result<Fingerprint, TlsError> {
    Ok(Fingerprint::of(&certificates_of(path)?[0]))
}

fn pem_of(path: &Path) -> Result<Vec<u8>, TlsError> {
    std::fs::read(path).map_err(|error| wrong(path, error))
}

pub(super) fn wrong(path: &Path, reason: impl ToString) -> TlsError {
    TlsError::File { path: path.to_owned(), reason: reason.to_string() }
}
