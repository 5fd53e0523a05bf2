//! Recognizes clients by the certificate that they have shown in TLS.

use std::cell::Cell;

use homeroom_http::{Fingerprint, Kind, Problem, Timestamp};
use http::HeaderValue;
use http::header::{CACHE_CONTROL, WWW_AUTHENTICATE};

use crate::access::Access;
use crate::recognize::admitted;
use crate::recognized::{Proven, Recognized, changing};
use crate::records::SecretRecord;
use crate::token::TOKEN_SECONDS;
use crate::token_scope::TokenScope;
use crate::unrecognized::Unrecognized;

/// Distinguishes certificates from tokens in the cache of both.
const CACHE_CONTEXT: &[u8] = b"certificate\0";

impl Access {
    /// Recognizes the caller by a certificate that its connection has proved to have, and lets it into
    /// `scope`.
    ///
    /// # Errors
    ///
    /// As [`Access::recognize`].
    pub(crate) fn recognize_certificate(
        &self,
        certificate: Option<&Fingerprint>,
        scope: &str,
        now: Timestamp,
    ) -> Result<Recognized, Unrecognized> {
        let Some(certificate) = certificate else {
            return Err(unrecognized("The client has shown no certificate.").into());
        };
        if self.is_in_doubt() {
            return Err(changing().into());
        }
        let mut hasher = blake3::Hasher::new();
        hasher.update(CACHE_CONTEXT);
        hasher.update(certificate.bytes());
        let (shown, has_lapsed) = (hasher.finalize(), Cell::new(false));
        let recognize = || {
            let find = || self.registered(certificate, now);
            self.recognize_shown(&shown, now, find, |_| {
                has_lapsed.set(true);
                unregistered()
            })
        };
        let mut recognized = recognize();
        if has_lapsed.get() {
            // The cache named a key that no longer has this certificate, and has forgotten it. Another key may
            // have it.
            recognized = recognize();
        }
        let recognized = recognized?;
        admitted(&recognized.client, scope)?;
        Ok(recognized)
    }

    /// Finds the key of a certificate.
    fn registered(
        &self,
        certificate: &Fingerprint,
        now: Timestamp,
    ) -> Result<Proven, Unrecognized> {
        let key = self.look_up(|registry| registry.key_of(certificate).map(Box::from));
        Ok(Proven {
            key: key.ok_or_else(unregistered)?,
            secret: SecretRecord::id_of(certificate).into(),
            scope: TokenScope::default(),
            ends: now.plus_seconds(TOKEN_SECONDS),
        })
    }
}

fn unregistered() -> Unrecognized {
    Unrecognized::Unknown(unrecognized(
        "The client's certificate is registered with no key, or with one that is suspended.",
    ))
}

/// Returns 401 for a caller that has shown no certificate, or another one. HTTP has no name for what is
/// asked for, since TLS asks for it.
fn unrecognized(what: &str) -> Problem {
    Problem::of(Kind::AuthenticationFailed)
        .error(what)
        .hint("Connect with a certificate that the server's operator has registered with your key.")
        .header(WWW_AUTHENTICATE, HeaderValue::from_static(r#"Certificate realm="homeroom""#))
        .header(CACHE_CONTROL, HeaderValue::from_static("no-store"))
}
