//! TLS of a listener: which certificate each name has, read again when its files change.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use arc_swap::ArcSwap;
use rustls::ServerConfig;
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use tokio_rustls::TlsAcceptor;

/// A certificate with its key, and the names for which it is used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    /// The host names, such as `api.example.org` or `*.example.org`. The first identity is also
    /// used for all other names, and for clients that send none.
    pub names: Vec<String>,
    /// A PEM file: the certificate, then those that lead to the authority.
    pub certificate: PathBuf,
    /// A PEM file with its private key.
    pub key: PathBuf,
}

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

/// TLS of a listener. Clones share the certificates.
#[derive(Clone)]
pub struct Tls {
    acceptor: TlsAcceptor,
    certificates: Arc<Certificates>,
}

impl fmt::Debug for Tls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Tls({} identities)", self.certificates.identities.len())
    }
}

impl Tls {
    /// Reads the certificates.
    ///
    /// # Errors
    ///
    /// [`TlsError`] names the file that is wrong.
    pub fn new(identities: Vec<Identity>) -> Result<Self, TlsError> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let seen = identities.iter().map(seen).collect();
        let keys = read_all(&identities, &provider)?;
        let certificates = Arc::new(Certificates {
            identities,
            provider: Arc::clone(&provider),
            keys: ArcSwap::from_pointee(keys),
            seen: Mutex::new(seen),
        });
        let resolver = Arc::clone(&certificates);
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()?
            .with_no_client_auth()
            .with_cert_resolver(resolver);
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        config.ticketer = rustls::crypto::ring::Ticketer::new()?;
        Ok(Self { acceptor: TlsAcceptor::from(Arc::new(config)), certificates })
    }

    /// Reads the certificates again if a file has changed, for connections from now on. Returns
    /// whether it did. While new files are wrong, the certificates before them stay in use.
    ///
    /// # Errors
    ///
    /// [`TlsError`] names the file that is wrong, once for each change.
    pub fn refresh(&self) -> Result<bool, TlsError> {
        self.certificates.refresh()
    }

    pub(crate) fn acceptor(&self) -> &TlsAcceptor {
        &self.acceptor
    }
}

/// The certificates of all identities.
struct Certificates {
    identities: Vec<Identity>,
    provider: Arc<CryptoProvider>,
    /// In the order of the identities.
    keys: ArcSwap<Vec<Arc<CertifiedKey>>>,
    /// The state of the files when they were last read.
    seen: Mutex<Vec<Seen>>,
}

/// What tells whether files have changed: time and length of the certificate and of the key.
type Seen = [Option<(SystemTime, u64)>; 2];

impl Certificates {
    fn refresh(&self) -> Result<bool, TlsError> {
        let now: Vec<Seen> = self.identities.iter().map(seen).collect();
        let mut before = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        if *before == now {
            return Ok(false);
        }
        *before = now;
        self.keys.store(Arc::new(read_all(&self.identities, &self.provider)?));
        Ok(true)
    }

    fn of(&self, name: Option<&str>) -> Option<Arc<CertifiedKey>> {
        let named = |identity: &Identity| {
            name.is_some_and(|name| identity.names.iter().any(|own| covers(own, name)))
        };
        let at = self.identities.iter().position(named).unwrap_or(0);
        self.keys.load().get(at).cloned()
    }
}

impl fmt::Debug for Certificates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Certificates")
    }
}

impl ResolvesServerCert for Certificates {
    fn resolve(&self, hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        self.of(hello.server_name())
    }
}

/// Returns whether a name of an identity covers the name that a client asks for. An asterisk stands
/// for one label.
///
/// Source: RFC 9525 §6.3.
fn covers(own: &str, asked: &str) -> bool {
    match own.strip_prefix("*.") {
        Some(parent) => asked
            .split_once('.')
            .is_some_and(|(label, rest)| !label.is_empty() && rest.eq_ignore_ascii_case(parent)),
        None => own.eq_ignore_ascii_case(asked),
    }
}

fn seen(identity: &Identity) -> Seen {
    [&identity.certificate, &identity.key].map(|path| {
        let file = std::fs::metadata(path).ok()?;
        Some((file.modified().ok()?, file.len()))
    })
}

fn read_all(
    identities: &[Identity],
    provider: &CryptoProvider,
) -> Result<Vec<Arc<CertifiedKey>>, TlsError> {
    if identities.is_empty() {
        return Err(TlsError::Nobody);
    }
    identities.iter().map(|identity| read(identity, provider).map(Arc::new)).collect()
}

fn read(identity: &Identity, provider: &CryptoProvider) -> Result<CertifiedKey, TlsError> {
    let certificates = pem_of(&identity.certificate)?;
    let chain: Vec<CertificateDer<'static>> = CertificateDer::pem_slice_iter(&certificates)
        .collect::<Result<_, _>>()
        .map_err(|error| wrong(&identity.certificate, error))?;
    if chain.is_empty() {
        return Err(wrong(&identity.certificate, "it has no certificate in PEM form"));
    }
    let key = PrivateKeyDer::from_pem_slice(&pem_of(&identity.key)?)
        .map_err(|error| wrong(&identity.key, error))?;
    CertifiedKey::from_der(chain, key, provider).map_err(|error| TlsError::Mismatch {
        certificate: identity.certificate.clone(),
        key: identity.key.clone(),
        reason: error.to_string(),
    })
}

fn pem_of(path: &Path) -> Result<Vec<u8>, TlsError> {
    std::fs::read(path).map_err(|error| wrong(path, error))
}

fn wrong(path: &Path, reason: impl ToString) -> TlsError {
    TlsError::File { path: path.to_owned(), reason: reason.to_string() }
}

#[cfg(test)]
mod tests {
    use homeroom_testkit::Folder;

    use super::*;

    #[test]
    fn an_asterisk_covers_one_label() {
        for (own, asked, covered) in [
            ("api.example.org", "API.example.org", true),
            ("api.example.org", "example.org", false),
            ("*.example.org", "a.Example.org", true),
            ("*.example.org", "a.b.example.org", false),
            ("*.example.org", "example.org", false),
            ("*.example.org", ".example.org", false),
        ] {
            assert_eq!(covers(own, asked), covered, "{own} {asked}");
        }
    }

    fn identity(folder: &Path, name: &str) -> Identity {
        let made = rcgen::generate_simple_self_signed(vec![name.to_owned()]).unwrap();
        let identity = Identity {
            names: vec![name.to_owned()],
            certificate: folder.join(format!("{name}.pem")),
            key: folder.join(format!("{name}.key")),
        };
        std::fs::write(&identity.certificate, made.cert.pem()).unwrap();
        std::fs::write(&identity.key, made.signing_key.serialize_pem()).unwrap();
        identity
    }

    #[test]
    fn each_name_has_its_certificate_and_others_have_the_first() {
        let folder = Folder::new();
        let (a, b) = (identity(folder.path(), "a.test"), identity(folder.path(), "b.test"));
        let tls = Tls::new(vec![a, b]).unwrap();
        let of = |name| tls.certificates.of(name).unwrap();

        assert!(Arc::ptr_eq(&of(Some("a.test")), &of(None)));
        assert!(Arc::ptr_eq(&of(Some("c.test")), &of(None)));
        assert!(!Arc::ptr_eq(&of(Some("B.test")), &of(None)));
    }

    #[test]
    fn a_changed_certificate_is_read_again_and_a_wrong_one_is_not_used() {
        let folder = Folder::new();
        let own = identity(folder.path(), "a.test");
        let tls = Tls::new(vec![own.clone()]).unwrap();
        let first = tls.certificates.of(None).unwrap();
        assert!(!tls.refresh().unwrap(), "nothing has changed");

        std::fs::write(&own.certificate, "not a certificate").unwrap();
        let refused = tls.refresh().unwrap_err();
        assert!(refused.to_string().contains("a.test.pem"), "{refused}");
        assert!(!tls.refresh().unwrap(), "it is said once");
        assert!(Arc::ptr_eq(&tls.certificates.of(None).unwrap(), &first));

        identity(folder.path(), "a.test");
        assert!(tls.refresh().unwrap());
        assert!(!Arc::ptr_eq(&tls.certificates.of(None).unwrap(), &first));
    }

    #[test]
    fn what_is_wrong_names_the_file() {
        let folder = Folder::new();
        let (a, b) = (identity(folder.path(), "a.test"), identity(folder.path(), "b.test"));
        let swapped = Identity { key: b.key, ..a.clone() };
        let missing = Identity { key: folder.path().join("none.key"), ..a.clone() };
        let empty = Identity { certificate: a.key.clone(), ..a };

        assert!(matches!(Tls::new(vec![]), Err(TlsError::Nobody)));
        assert!(matches!(Tls::new(vec![swapped]), Err(TlsError::Mismatch { .. })));
        for (identity, word) in [(missing, "none.key"), (empty, "has no certificate")] {
            let refused = Tls::new(vec![identity]).unwrap_err().to_string();
            assert!(refused.contains(word), "{refused}");
        }
    }
}
