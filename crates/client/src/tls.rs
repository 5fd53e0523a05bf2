//! The certificates that a client trusts, and the one that it shows.

use std::fmt;
use std::sync::Arc;

use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ClientConfig, RootCertStore};

use crate::error::Error;

/// The certificates that a client trusts.
#[derive(Clone, Default)]
pub enum Trust {
    /// The certificates that the system trusts.
    #[default]
    Native,
    /// The certificates that a certificate in this PEM text has signed.
    Bundle(Vec<u8>),
    /// Those of this configuration, whose protocols (ALPN) are replaced. Several clients can share one.
    Config(Arc<ClientConfig>),
    /// None, so https URLs cannot be used; saves the time to read the system's certificates.
    Nobody,
}

/// A certificate with its private key, which a client shows to servers that ask for one.
#[derive(Clone)]
pub struct Identity {
    /// The certificate in PEM, and those by which it is signed.
    pub certificate: Vec<u8>,
    /// Its private key in PEM.
    pub key: Vec<u8>,
}

impl fmt::Debug for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Identity({} bytes)", self.certificate.len())
    }
}

/// The versions of HTTP that a client offers on TLS connections. Without TLS it always uses HTTP/1.1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Versions {
    /// HTTP/2 if the server supports it, HTTP/1.1 otherwise.
    #[default]
    Negotiated,
    /// HTTP/1.1 only.
    Http1,
}

impl fmt::Debug for Trust {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Native => f.write_str("Native"),
            Self::Bundle(pem) => write!(f, "Bundle({} bytes)", pem.len()),
            Self::Config(_) => f.write_str("Config"),
            Self::Nobody => f.write_str("Nobody"),
        }
    }
}

impl Trust {
    /// Reads the certificates. Returns the configuration of TLS connections; `None` for
    /// [`Trust::Nobody`].
    ///
    /// # Errors
    ///
    /// [`Error::Trust`] if there is no certificate, or one cannot be read.
    pub fn read(&self, versions: Versions) -> Result<Option<Arc<ClientConfig>>, Error> {
        self.read_as(None, versions)
    }

    /// Does the same for a client that shows a certificate. One of [`Trust::Config`] is left as it is.
    ///
    /// # Errors
    ///
    /// [`Error::Identity`] if that cannot be used, and those of [`Trust::read`].
    pub fn read_as(
        &self,
        identity: Option<&Identity>,
        versions: Versions,
    ) -> Result<Option<Arc<ClientConfig>>, Error> {
        let mut roots = RootCertStore::empty();
        match self {
            Self::Nobody => return Ok(None),
            Self::Config(config) => {
                return Ok(Some(with_versions(ClientConfig::clone(config), versions)));
            }
            Self::Native => {
                let found = rustls_native_certs::load_native_certs();
                roots.add_parsable_certificates(found.certs);
                if let (true, Some(error)) = (roots.is_empty(), found.errors.first()) {
                    return Err(refused(error));
                }
            }
            Self::Bundle(pem) => {
                for certificate in CertificateDer::pem_slice_iter(pem) {
                    let certificate = certificate.map_err(|error| refused(&error))?;
                    roots.add(certificate).map_err(|error| refused(&error))?;
                }
            }
        }
        if roots.is_empty() {
            return Err(refused(&"there is no certificate among them"));
        }
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| refused(&error))?
            .with_root_certificates(roots);
        let config = match identity {
            None => config.with_no_client_auth(),
            Some(Identity { certificate, key }) => {
                let unfit =
                    |error: &dyn fmt::Display| Error::Identity { reason: error.to_string() };
                let chain =
                    CertificateDer::pem_slice_iter(certificate).collect::<Result<Vec<_>, _>>();
                let chain = chain.map_err(|_| unfit(&"the certificate is not in PEM"))?;
                let key = PrivateKeyDer::from_pem_slice(key);
                let key = key.map_err(|_| unfit(&"the key is not in PEM"))?;
                config.with_client_auth_cert(chain, key).map_err(|error| unfit(&error))?
            }
        };
        Ok(Some(with_versions(config, versions)))
    }
}

fn with_versions(mut config: ClientConfig, versions: Versions) -> Arc<ClientConfig> {
    config.alpn_protocols = match versions {
        Versions::Negotiated => vec![b"h2".to_vec(), b"http/1.1".to_vec()],
        Versions::Http1 => vec![b"http/1.1".to_vec()],
    };
    Arc::new(config)
}

/// Returns the same configuration, which offers HTTP/1.1 only.
pub fn http1_only(config: &ClientConfig) -> Arc<ClientConfig> {
    with_versions(config.clone(), Versions::Http1)
}

fn refused(reason: &impl ToString) -> Error {
    Error::Trust { reason: reason.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bundle_without_a_certificate_is_refused() {
        for pem in ["", "not PEM", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"]
        {
            let read = Trust::Bundle(pem.into()).read(Versions::Http1);

            assert!(matches!(read, Err(Error::Trust { .. })), "{pem}");
        }
        assert_eq!(format!("{:?}", Trust::Bundle(b"PEM".into())), "Bundle(3 bytes)");
        assert!(Trust::Nobody.read(Versions::Http1).unwrap().is_none());
    }
}
