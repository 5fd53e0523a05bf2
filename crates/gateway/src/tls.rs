//! TLS of a listener: which certificate each name has, and which clients' certificates are believed; all
//! read again when the files change.

mod clients;
mod files;

use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use arc_swap::ArcSwap;
use rustls::ServerConfig;
use rustls::crypto::CryptoProvider;
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use tokio_rustls::TlsAcceptor;

use clients::Authorities;
use files::{Seen, certificates_of, key_of, seen};
pub use files::{TlsError, fingerprint_of, fingerprint_of_client};

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

/// TLS of a listener. Clones share the certificates.
#[derive(Clone)]
pub struct Tls(Arc<Inner>);

struct Inner {
    certificates: Arc<Certificates>,
    /// Where clients may show certificates.
    clients: Option<Authorities>,
    /// How connections begin from now on.
    config: ArcSwap<ServerConfig>,
}

impl fmt::Debug for Tls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Tls({} identities)", self.0.certificates.identities.len())
    }
}

impl Tls {
    /// Reads the certificates. With `authorities`, a PEM file, clients may show certificates that lead to
    /// one of them; a certificate that does not ends the connection.
    ///
    /// # Errors
    ///
    /// [`TlsError`] names the file that is wrong.
    pub fn new(identities: Vec<Identity>, authorities: Option<PathBuf>) -> Result<Self, TlsError> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let states = identities.iter().map(states).collect();
        let keys = read_all(&identities, &provider)?;
        let certificates = Arc::new(Certificates {
            identities,
            provider,
            keys: ArcSwap::from_pointee(keys),
            seen: Mutex::new(states),
        });
        let clients = authorities.map(Authorities::new);
        let config = ArcSwap::from_pointee(config(&certificates, clients.as_ref())?);
        Ok(Self(Arc::new(Inner { certificates, clients, config })))
    }

    /// Reads again what has changed in the files, for connections from now on. Returns whether anything
    /// has. While a new file is wrong, what was read before stays in use.
    ///
    /// # Errors
    ///
    /// [`TlsError`] names the file that is wrong, once for each change.
    pub fn refresh(&self) -> Result<bool, TlsError> {
        let Inner { certificates, clients, config: current } = &*self.0;
        let has_new_keys = certificates.refresh();
        let clients = clients.as_ref().filter(|clients| clients.has_changed());
        if clients.is_some() {
            // What clients of before may resume is forgotten with the tickets of the old configuration.
            current.store(Arc::new(config(certificates, clients)?));
        }
        Ok(has_new_keys? || clients.is_some())
    }

    /// Returns what begins TLS on a new connection.
    pub(crate) fn acceptor(&self) -> TlsAcceptor {
        TlsAcceptor::from(self.0.config.load_full())
    }
}

/// Returns how connections begin.
fn config(
    certificates: &Arc<Certificates>,
    clients: Option<&Authorities>,
) -> Result<ServerConfig, TlsError> {
    let provider = &certificates.provider;
    let builder = ServerConfig::builder_with_provider(Arc::clone(provider))
        .with_safe_default_protocol_versions()?;
    let builder = match clients {
        None => builder.with_no_client_auth(),
        Some(clients) => builder.with_client_cert_verifier(clients.verifier(provider)?),
    };
    let resolver: Arc<dyn ResolvesServerCert> = Arc::clone(certificates) as _;
    let mut config = builder.with_cert_resolver(resolver);
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    config.ticketer = rustls::crypto::ring::Ticketer::new()?;
    Ok(config)
}

/// The certificates of all identities.
struct Certificates {
    identities: Vec<Identity>,
    provider: Arc<CryptoProvider>,
    /// In the order of the identities.
    keys: ArcSwap<Vec<Arc<CertifiedKey>>>,
    /// The states of each identity's files when they were last read.
    seen: Mutex<Vec<[Seen; 2]>>,
}

impl Certificates {
    fn refresh(&self) -> Result<bool, TlsError> {
        let now: Vec<_> = self.identities.iter().map(states).collect();
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

fn states(identity: &Identity) -> [Seen; 2] {
    [seen(&identity.certificate), seen(&identity.key)]
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
    let chain = certificates_of(&identity.certificate)?;
    let key = key_of(&identity.key)?;
    CertifiedKey::from_der(chain, key, provider).map_err(|error| TlsError::Mismatch {
        certificate: identity.certificate.clone(),
        key: identity.key.clone(),
        reason: error.to_string(),
    })
}

#[cfg(test)]
mod tests {
    use std::path::Path;

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
        let tls = Tls::new(vec![a, b], None).unwrap();
        let of = |name| tls.0.certificates.of(name).unwrap();

        assert!(Arc::ptr_eq(&of(Some("a.test")), &of(None)));
        assert!(Arc::ptr_eq(&of(Some("c.test")), &of(None)));
        assert!(!Arc::ptr_eq(&of(Some("B.test")), &of(None)));
    }

    #[test]
    fn a_changed_certificate_is_read_again_and_a_wrong_one_is_not_used() {
        let folder = Folder::new();
        let own = identity(folder.path(), "a.test");
        let tls = Tls::new(vec![own.clone()], None).unwrap();
        let first = tls.0.certificates.of(None).unwrap();
        assert!(!tls.refresh().unwrap(), "nothing has changed");

        std::fs::write(&own.certificate, "not a certificate").unwrap();
        let refused = tls.refresh().unwrap_err();
        assert!(refused.to_string().contains("a.test.pem"), "{refused}");
        assert!(!tls.refresh().unwrap(), "it is said once");
        assert!(Arc::ptr_eq(&tls.0.certificates.of(None).unwrap(), &first));

        identity(folder.path(), "a.test");
        assert!(tls.refresh().unwrap());
        assert!(!Arc::ptr_eq(&tls.0.certificates.of(None).unwrap(), &first));
    }

    #[test]
    fn what_is_wrong_names_the_file() {
        let folder = Folder::new();
        let (a, b) = (identity(folder.path(), "a.test"), identity(folder.path(), "b.test"));
        let swapped = Identity { key: b.key, ..a.clone() };
        let missing = Identity { key: folder.path().join("none.key"), ..a.clone() };
        let empty = Identity { certificate: a.key.clone(), ..a };

        assert!(matches!(Tls::new(vec![], None), Err(TlsError::Nobody)));
        assert!(matches!(Tls::new(vec![swapped], None), Err(TlsError::Mismatch { .. })));
        for (identity, word) in [(missing, "none.key"), (empty, "has no certificate")] {
            let refused = Tls::new(vec![identity], None).unwrap_err().to_string();
            assert!(refused.contains(word), "{refused}");
        }
    }

    #[test]
    fn changed_authorities_are_read_again_and_wrong_ones_are_not_used() {
        let folder = Folder::new();
        let own = identity(folder.path(), "a.test");
        let authorities = folder.path().join("clients.pem");
        let missing = Tls::new(vec![own.clone()], Some(authorities.clone())).unwrap_err();
        assert!(missing.to_string().contains("clients.pem"), "{missing}");
        std::fs::copy(&own.certificate, &authorities).unwrap();
        let tls = Tls::new(vec![own.clone()], Some(authorities.clone())).unwrap();
        let first = tls.0.config.load_full();
        assert!(!tls.refresh().unwrap(), "nothing has changed");

        std::fs::write(&authorities, "nothing").unwrap();
        let refused = tls.refresh().unwrap_err();
        assert!(refused.to_string().contains("clients.pem"), "{refused}");
        assert!(!tls.refresh().unwrap(), "it is said once");
        assert!(Arc::ptr_eq(&tls.0.config.load_full(), &first));

        std::fs::copy(&own.certificate, &authorities).unwrap();
        assert!(tls.refresh().unwrap());
        assert!(!Arc::ptr_eq(&tls.0.config.load_full(), &first));
    }
}
