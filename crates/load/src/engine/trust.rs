//! Which TLS certificates are trusted.

use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};

use super::Protocol;

/// The certificates that are trusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trust<'a> {
    /// Those that the system trusts.
    System,
    /// Those signed by a certificate in this PEM text.
    Only(&'a [u8]),
    /// Any certificate: for a test server with a self-signed one.
    Anybody,
}

/// Why a TLS configuration cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum TrustError {
    /// The PEM text has no certificate, or one that cannot be read.
    #[error("no certificate could be read: {0}")]
    Unreadable(String),
    /// The TLS library refused.
    #[error("TLS cannot be used: {0}")]
    Tls(#[from] Error),
}

/// Builds the configuration of TLS connections.
///
/// # Errors
///
/// If no certificate can be read from what is given.
pub fn client(trust: Trust<'_>, protocol: Protocol) -> Result<Arc<ClientConfig>, TrustError> {
    let provider = Arc::new(ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider.clone())
        .with_safe_default_protocol_versions()?;
    let mut config = match trust {
        Trust::Anybody => builder
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(Credulous(provider)))
            .with_no_client_auth(),
        Trust::System => {
            let mut roots = RootCertStore::empty();
            let found = rustls_native_certs::load_native_certs();
            roots.add_parsable_certificates(found.certs);
            builder.with_root_certificates(roots).with_no_client_auth()
        }
        Trust::Only(pem) => {
            let mut roots = RootCertStore::empty();
            for certificate in CertificateDer::pem_slice_iter(pem) {
                let certificate =
                    certificate.map_err(|error| TrustError::Unreadable(error.to_string()))?;
                roots.add(certificate)?;
            }
            if roots.is_empty() {
                return Err(TrustError::Unreadable("the file contains none".into()));
            }
            builder.with_root_certificates(roots).with_no_client_auth()
        }
    };
    config.alpn_protocols = match protocol {
        Protocol::Http1 => vec![b"http/1.1".to_vec()],
        Protocol::Http2 => vec![b"h2".to_vec()],
    };
    Ok(Arc::new(config))
}

/// Accepts every certificate, but checks that the server holds its key.
#[derive(Debug)]
struct Credulous(Arc<CryptoProvider>);

impl ServerCertVerifier for Credulous {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_without_a_certificate_is_refused() {
        assert!(client(Trust::Only(b"nothing"), Protocol::Http1).is_err());
        assert!(client(Trust::Anybody, Protocol::Http2).is_ok());
    }
}
