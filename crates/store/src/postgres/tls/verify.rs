//! What is checked of a server's certificate, and the client's own.

use std::path::Path;
use std::sync::Arc;

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme,
};

use crate::error::StoreError;
use crate::postgres::tls::options::{Mode, TlsOptions};

/// Returns the configuration of secured connections.
pub(super) fn config(options: &TlsOptions) -> Result<ClientConfig, StoreError> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let unusable =
        |error: &dyn std::fmt::Display| StoreError::Unusable(format!("TLS to PostgreSQL: {error}"));
    let verifier: Arc<dyn ServerCertVerifier> = match options.mode() {
        Mode::Disable | Mode::Prefer | Mode::Require => Arc::new(Unchecked(Arc::clone(&provider))),
        mode @ (Mode::VerifyCa | Mode::VerifyFull) => {
            let roots = Arc::new(roots(options.root.as_deref())?);
            let built = WebPkiServerVerifier::builder_with_provider(roots, Arc::clone(&provider));
            let verifier = built.build().map_err(|error| unusable(&error))?;
            match mode {
                Mode::VerifyFull => verifier,
                _ => Arc::new(AnyName(verifier)),
            }
        }
    };
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| unusable(&error))?
        .dangerous()
        .with_custom_certificate_verifier(verifier);
    let (Some(certificate), Some(key)) = (&options.certificate, &options.key) else {
        return Ok(builder.with_no_client_auth());
    };
    let chain = certificates("sslcert", certificate)?;
    let key = PrivateKeyDer::from_pem_file(key).map_err(|error| unread("sslkey", key, &error))?;
    builder.with_client_auth_cert(chain, key).map_err(|error| unusable(&error))
}

/// Returns the authorities that are trusted: those of a file, or the system's.
fn roots(file: Option<&Path>) -> Result<RootCertStore, StoreError> {
    let mut roots = RootCertStore::empty();
    match file {
        Some(file) => {
            for certificate in certificates("sslrootcert", file)? {
                roots.add(certificate).map_err(|error| unread("sslrootcert", file, &error))?;
            }
        }
        None => {
            _ = roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        }
    }
    if roots.is_empty() {
        return Err(StoreError::Unusable(
            "TLS to PostgreSQL: this system trusts no certificate; install its certificates \
             (Debian: ca-certificates), or name a PEM file with sslrootcert=FILE"
                .into(),
        ));
    }
    Ok(roots)
}

fn certificates(name: &str, file: &Path) -> Result<Vec<CertificateDer<'static>>, StoreError> {
    let read = CertificateDer::pem_file_iter(file).and_then(Iterator::collect);
    let read: Vec<_> = read.map_err(|error| unread(name, file, &error))?;
    if read.is_empty() {
        return Err(unread(name, file, &"it has no certificate in PEM form"));
    }
    Ok(read)
}

fn unread(name: &str, file: &Path, error: &dyn std::fmt::Display) -> StoreError {
    StoreError::Unusable(format!("{name}: cannot read {}: {error}", file.display()))
}

/// Accepts every certificate: the connection is encrypted, and it is not known with whom.
#[derive(Debug)]
struct Unchecked(Arc<CryptoProvider>);

impl ServerCertVerifier for Unchecked {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let known = &self.0.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signed, known)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let known = &self.0.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signed, known)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}

/// Checks who has signed a certificate, and not for which name.
#[derive(Debug)]
struct AnyName(Arc<WebPkiServerVerifier>);

impl ServerCertVerifier for AnyName {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        chain: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        match self.0.verify_server_cert(certificate, chain, name, ocsp, now) {
            // The name is looked at last, when the rest is in order.
            Err(Error::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            )) => Ok(ServerCertVerified::assertion()),
            verified => verified,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.0.verify_tls12_signature(message, certificate, signed)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.0.verify_tls13_signature(message, certificate, signed)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.supported_verify_schemes()
    }
}
