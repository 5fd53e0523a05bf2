//! The files of TLS: read, and watched for changes.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use homeroom_http::Fingerprint;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::ParsedCertificate;

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

/// Does the same for a certificate that a client is to show: TLS has to be able to accept it.
///
/// # Errors
///
/// [`TlsError::File`] says what is wrong with the file, or why TLS never accepts the certificate.
pub fn fingerprint_of_client(path: &Path) -> Result<Fingerprint, TlsError> {
    let certificate = &certificates_of(path)?[0];
    match ParsedCertificate::try_from(certificate) {
        Ok(_) => Ok(Fingerprint::of(certificate)),
        Err(error) => Err(wrong(
            path,
            format!(
                "TLS accepts no such certificate: {error}; it has to be one of X.509 version 3, which has \
                 extensions, such as basicConstraints=CA:FALSE"
            ),
        )),
    }
}

fn pem_of(path: &Path) -> Result<Vec<u8>, TlsError> {
    std::fs::read(path).map_err(|error| wrong(path, error))
}

pub(super) fn wrong(path: &Path, reason: impl ToString) -> TlsError {
    TlsError::File { path: path.to_owned(), reason: reason.to_string() }
}

#[cfg(test)]
mod tests {
    use homeroom_testkit::Folder;

    use super::*;

    /// A certificate without extensions, as `openssl x509 -req` makes it unless it is told otherwise.
    const OF_VERSION_1: &str = "-----BEGIN CERTIFICATE-----
MIIBHTCBxQIUfnkyvbRndkbOrJIsQuQX74VPFB8wCgYIKoZIzj0EAwIwETEPMA0G
A1UEAwwGY2xpZW50MCAXDTI2MTEyNjA3MjEyMVoYDzIxMjYxMTAyMDcyMTIxWjAR
MQ8wDQYDVQQDDAZjbGllbnQwWTATBgcqhkjOPQIBBggqhkjOPQMBBwNCAATSHqWT
wL6EMLsc6eZHgPL1N3UeZW+VJ+H0N5bzDccQVAQnLG34+lKYHeUa+uinwBxpOrev
zMGp0wvIJv7W00X/MAoGCCqGSM49BAMCA0cAMEQCIGh+uVyFnZbfpO3BxlAAGGAF
hh/o9Aw7rg0AEm/3JCxmAiA6yT740uDIX4RGegHzbpiZc1bdUjxHVu2ooCAKHkoV
Tg==
-----END CERTIFICATE-----
";

    #[test]
    fn a_certificate_that_tls_never_accepts_is_not_one_of_a_client() {
        let folder = Folder::new();
        let old = folder.write("old.pem", OF_VERSION_1);
        let made = rcgen::generate_simple_self_signed(vec!["client".to_owned()]).unwrap();
        let usual = folder.write("usual.pem", made.cert.pem());

        let refused = fingerprint_of_client(&old).unwrap_err().to_string();

        assert!(refused.contains("old.pem") && refused.contains("version 3"), "{refused}");
        assert!(fingerprint_of(&old).is_ok(), "one that is registered can be removed");
        let found = fingerprint_of_client(&usual).unwrap();
        assert_eq!(found.to_string(), fingerprint_of(&usual).unwrap().to_string());
    }
}
