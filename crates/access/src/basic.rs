//! Recognizes clients by key and secret, for callers that have no token.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use homeroom_http::{Kind, Problem, Timestamp};
use http::HeaderValue;
use http::header::{CACHE_CONTROL, WWW_AUTHENTICATE};

use crate::access::Access;
use crate::recognize::{admitted, matching_secret};
use crate::recognized::{Proven, Recognized, changing};
use crate::secret::Secret;
use crate::token::TOKEN_SECONDS;
use crate::token_scope::TokenScope;
use crate::unrecognized::Unrecognized;

/// Longest credentials that are read, in bytes.
const CREDENTIALS_BYTES_MAX: usize = 1_024;

/// Distinguishes credentials from tokens in the cache of both.
const CACHE_CONTEXT: &[u8] = b"key and secret\0";

/// Returns the key that the Basic credentials of an `Authorization` header name.
pub(crate) fn key_of(authorization: &str) -> Option<String> {
    let (_, encoded) = authorization.trim().split_once(' ')?;
    let encoded = Some(encoded.trim()).filter(|encoded| encoded.len() <= CREDENTIALS_BYTES_MAX)?;
    Some(decoded(encoded)?.split_once(':')?.0.to_owned())
}

/// Returns what the credentials of an `Authorization` header are kept under once they are proved.
pub(crate) fn hash_of_basic(authorization: &str) -> Option<blake3::Hash> {
    let encoded = Some(encoded(authorization)).filter(|text| text.len() <= CREDENTIALS_BYTES_MAX);
    let decoded = decoded(encoded?)?;
    let (key, secret) = decoded.split_once(':')?;
    Some(hash_of(key, secret))
}

/// Returns what an API key is kept under once it is proved.
pub(crate) fn hash_of_api_key(value: &str) -> Option<blake3::Hash> {
    let (key, secret) = value.trim().split_once('.')?;
    (value.len() <= CREDENTIALS_BYTES_MAX).then(|| hash_of(key, secret))
}

fn hash_of(key: &str, secret: &str) -> blake3::Hash {
    let mut hasher = blake3::Hasher::new();
    hasher.update(CACHE_CONTEXT);
    hasher.update(&(key.len() as u64).to_le_bytes());
    hasher.update(key.as_bytes());
    hasher.update(secret.as_bytes());
    hasher.finalize()
}

fn encoded(authorization: &str) -> &str {
    authorization.trim().split_once(' ').map_or("", |(_, encoded)| encoded.trim())
}

fn decoded(encoded: &str) -> Option<String> {
    String::from_utf8(BASE64.decode(encoded).ok()?).ok()
}

impl Access {
    /// Recognizes the caller by the Basic credentials of an `Authorization` header, and lets it into
    /// `scope`. The secret is compared once and then found by its hash, as a token is.
    ///
    /// # Errors
    ///
    /// As [`Access::recognize`].
    pub(crate) fn recognize_basic(
        &self,
        authorization: &str,
        scope: &str,
        now: Timestamp,
    ) -> Result<Recognized, Unrecognized> {
        if authorization.is_empty() {
            return Err(unrecognized(
                "The Authorization header is missing or has no Basic credentials.",
            )
            .into());
        }
        let encoded = encoded(authorization);
        if encoded.len() > CREDENTIALS_BYTES_MAX {
            return Err(
                unrecognized("The Authorization header is longer than any credentials.").into()
            );
        }
        let decoded = decoded(encoded);
        let Some((key, secret)) = decoded.as_deref().and_then(|text| text.split_once(':')) else {
            return Err(unrecognized(
                "The Basic Authorization header is not the base64 of KEY:SECRET.",
            )
            .into());
        };
        self.recognize_key((key, secret), scope, now, unrecognized)
    }

    /// Recognizes the caller by the value of an `X-API-Key` header, `KEY.SECRET`, and lets it into
    /// `scope`.
    ///
    /// # Errors
    ///
    /// As [`Access::recognize`].
    pub(crate) fn recognize_api_key(
        &self,
        value: &str,
        scope: &str,
        now: Timestamp,
    ) -> Result<Recognized, Unrecognized> {
        if value.len() > CREDENTIALS_BYTES_MAX {
            return Err(no_api_key("The X-API-Key header is longer than any API key.").into());
        }
        let Some((key, secret)) = value.trim().split_once('.') else {
            return Err(no_api_key("The X-API-Key header is missing or is not KEY.SECRET.").into());
        };
        self.recognize_key((key, secret), scope, now, no_api_key)
    }

    /// Recognizes the caller by key and secret; `refusal` says in which form they are shown.
    fn recognize_key(
        &self,
        (key, secret): (&str, &str),
        scope: &str,
        now: Timestamp,
        refusal: fn(&str) -> Problem,
    ) -> Result<Recognized, Unrecognized> {
        if self.is_in_doubt() {
            return Err(changing().into());
        }
        let wrong = || Unrecognized::Unknown(refusal("The key or the secret is wrong."));
        let verify = || self.verified_key(key, &Secret::new(secret), now).ok_or_else(wrong);
        let recognized = self.recognize_shown(&hash_of(key, secret), now, verify, |_| wrong())?;
        admitted(&recognized.client, scope)?;
        Ok(recognized)
    }

    /// Compares a secret with those of its key.
    fn verified_key(&self, key: &str, secret: &Secret, now: Timestamp) -> Option<Proven> {
        let hash = self.hasher.hash(key, secret);
        let matching = self.look_up(|registry| {
            let registered = registry.clients.get(key);
            matching_secret(registered, now, |kept| *kept == hash).map(|kept| kept.id.clone())
        });
        let secret = matching?.into();
        let ends = now.plus_seconds(TOKEN_SECONDS);
        Some(Proven { key: key.into(), secret, scope: TokenScope::default(), ends })
    }
}

/// Returns 401 for an API key. Its scheme is none that is registered; browsers ask nobody for it.
fn no_api_key(what: &str) -> Problem {
    Problem::of(Kind::AuthenticationFailed)
        .error(what)
        .hint("Send `X-API-Key: KEY.SECRET`.")
        .header(
            WWW_AUTHENTICATE,
            HeaderValue::from_static(r#"ApiKey realm="homeroom", header="X-API-Key""#),
        )
        .header(CACHE_CONTROL, HeaderValue::from_static("no-store"))
}

/// Returns 401 for key and secret (RFC 7617 §2).
fn unrecognized(what: &str) -> Problem {
    Problem::of(Kind::AuthenticationFailed)
        .error(what)
        .hint("Send `Authorization: Basic` with the base64 of KEY:SECRET.")
        .header(
            WWW_AUTHENTICATE,
            HeaderValue::from_static(r#"Basic realm="homeroom", charset="UTF-8""#),
        )
        .header(CACHE_CONTROL, HeaderValue::from_static("no-store"))
}
