//! What a caller shows to be recognized, and which of it counts on a route.

use std::sync::Arc;

use homeroom_http::{Credential, Fingerprint, Timestamp};
use http::header::{AUTHORIZATION, HeaderName};
use http::{HeaderMap, HeaderValue};

use crate::access::Access;
use crate::basic;
use crate::client::ApiClient;
use crate::recognized::Recognized;
use crate::unrecognized::Unrecognized;

/// Header of an API key.
pub const API_KEY: HeaderName = HeaderName::from_static("x-api-key");

/// The credentials of a request, as its headers and its connection have them.
#[derive(Debug, Clone)]
pub struct Credentials {
    authorization: Option<HeaderValue>,
    api_key: Option<HeaderValue>,
    certificate: Option<Fingerprint>,
}

/// The one of a request's credentials by which its caller is recognized.
pub(crate) enum Chosen<'a> {
    Token(&'a str),
    Basic(&'a str),
    ApiKey(&'a str),
    Certificate(&'a Fingerprint),
    /// None that the route accepts.
    None,
}

impl Credentials {
    /// Returns the credentials of a request. With two `Authorization` headers it is unclear which one
    /// is meant, so neither is used.
    pub fn of(headers: &HeaderMap) -> Self {
        let mut sent = headers.get_all(AUTHORIZATION).iter();
        let first = sent.next().cloned();
        let authorization =
            if sent.next().is_some() { Some(HeaderValue::from_static("")) } else { first };
        Self { authorization, api_key: headers.get(API_KEY).cloned(), certificate: None }
    }

    /// Returns the same credentials, on a connection whose client has shown a certificate.
    #[must_use]
    pub fn with_certificate(self, certificate: Option<Fingerprint>) -> Self {
        Self { certificate, ..self }
    }

    /// Returns credentials that a request has in its body instead.
    pub fn of_authorization(value: &str) -> Self {
        let value = HeaderValue::from_str(value).unwrap_or(HeaderValue::from_static(""));
        Self { authorization: Some(value), api_key: None, certificate: None }
    }

    /// Returns whether the request has no credentials but those that may be in its body.
    pub fn is_empty(&self) -> bool {
        self.authorization.is_none() && self.api_key.is_none() && self.certificate.is_none()
    }

    /// Returns what counts where these are accepted: headers first, since they are of this request, and
    /// then what its connection has shown. Headers that are not accepted do not count.
    pub(crate) fn chosen(&self, by: &[Credential]) -> Chosen<'_> {
        let accepts = |credential| by.contains(&credential);
        let authorization = self.authorization.as_ref().map(|value| value.to_str().unwrap_or(""));
        match (authorization, &self.api_key, &self.certificate) {
            (Some(header), ..) if accepts(Credential::Basic) && is_basic(header) => {
                Chosen::Basic(header)
            }
            (Some(header), ..) if accepts(Credential::Bearer) => Chosen::Token(header),
            (_, Some(value), _) if accepts(Credential::ApiKey) => {
                Chosen::ApiKey(value.to_str().unwrap_or(""))
            }
            (.., Some(certificate)) if accepts(Credential::Certificate) => {
                Chosen::Certificate(certificate)
            }
            _ => Chosen::None,
        }
    }
}

fn is_basic(header: &str) -> bool {
    header.trim_start().get(..5).is_some_and(|scheme| scheme.eq_ignore_ascii_case("basic"))
}

impl Access {
    /// Recognizes the caller by one of these credentials and lets it into `scope`, in the state of the
    /// registry that this process has.
    ///
    /// # Errors
    ///
    /// As [`Access::recognize`].
    pub fn recognize_by(
        &self,
        by: &[Credential],
        credentials: &Credentials,
        scope: &str,
        now: Timestamp,
    ) -> Result<Arc<ApiClient>, Unrecognized> {
        Ok(self.recognized_by(by, credentials, scope, now)?.client)
    }

    /// Does the same, and also returns the version of the registry that was used. A refusal names the
    /// client, if there is one whom the credentials name.
    pub(crate) fn recognized_by(
        &self,
        by: &[Credential],
        credentials: &Credentials,
        scope: &str,
        now: Timestamp,
    ) -> Result<Recognized, Unrecognized> {
        let recognized = self.recognized(by, credentials, scope, now);
        recognized.map_err(|refusal| match credentials.chosen(by) {
            // Whom a token names is known where its signature has been verified.
            Chosen::Token(_) | Chosen::None => refusal,
            Chosen::Basic(_) | Chosen::ApiKey(_) | Chosen::Certificate(_) => {
                let key = self.named_by(by, credentials);
                refusal.naming(key.and_then(|key| self.named(&key)))
            }
        })
    }

    /// Returns whether these credentials name a secret that has not been verified yet: it may be a guess. A
    /// token is signed and a certificate has been proved to TLS, so neither is guessed.
    pub fn is_unproven_secret(
        &self,
        by: &[Credential],
        credentials: &Credentials,
        now: Timestamp,
    ) -> bool {
        let hash = match credentials.chosen(by) {
            Chosen::Basic(header) => basic::hash_of_basic(header),
            Chosen::ApiKey(value) => basic::hash_of_api_key(value),
            Chosen::Token(_) | Chosen::Certificate(_) | Chosen::None => return false,
        };
        hash.is_some_and(|hash| !self.has_proved(&hash, now))
    }

    fn recognized(
        &self,
        by: &[Credential],
        credentials: &Credentials,
        scope: &str,
        now: Timestamp,
    ) -> Result<Recognized, Unrecognized> {
        match credentials.chosen(by) {
            Chosen::Token(header) => self.recognize_token(Some(header), scope, now),
            Chosen::Basic(header) => self.recognize_basic(header, scope, now),
            Chosen::ApiKey(value) => self.recognize_api_key(value, scope, now),
            Chosen::Certificate(shown) => self.recognize_certificate(Some(shown), scope, now),
            Chosen::None => match by.first() {
                Some(Credential::Basic) => self.recognize_basic("", scope, now),
                Some(Credential::ApiKey) => self.recognize_api_key("", scope, now),
                Some(Credential::Certificate) => self.recognize_certificate(None, scope, now),
                Some(Credential::Bearer | Credential::Form) | None => {
                    self.recognize_token(None, scope, now)
                }
            },
        }
    }
}
