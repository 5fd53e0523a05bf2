//! Turns a header into a client, and a key with its secret into a token.

use std::sync::{Arc, PoisonError};

use homeroom_http::{Fingerprint, Kind, Problem, Timestamp};
use http::HeaderValue;
use http::header::{CACHE_CONTROL, WWW_AUTHENTICATE};

use crate::access::Access;
use crate::client::ANY_SCOPE;
use crate::client::{ApiClient, Scope, Status};
use crate::issuer::issued_for;
use crate::proven::Lapsed;
use crate::recognized::{Proven, Recognized, changing};
use crate::records::SecretRecord;
use crate::registry::Registered;
use crate::secret::{Secret, new_secret_id};
use crate::token::{TOKEN_SECONDS, TokenClaims, TokenError};
use crate::token_scope::TokenScope;
use crate::unrecognized::Unrecognized;

/// Live secrets that a client may have: the one in use and the one before it.
pub(crate) const SECRETS_MAX: usize = 2;

/// Longest `Authorization` header that is read.
const AUTHORIZATION_BYTES_MAX: usize = 4_096;

/// Why no token was issued.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TokenRefusal {
    /// Unknown key, wrong secret, revoked.
    Client,
    /// The scope is not one that the client has.
    Scope,
    /// The registry is in doubt, so nobody may be recognized.
    InDoubt,
    /// The most live tokens allowed already exist; the first ends after this many seconds.
    TooMany(i64),
    /// Too many callers wait until their keys are looked up.
    Lookups,
    /// The system could not supply random bytes.
    NoRandom,
}

/// What a client shows to get a token, beside its key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Shown {
    /// Its secret.
    Secret(Secret),
    /// A certificate that its connection has proved to have.
    ///
    /// Source: RFC 8705 §2.
    Certificate(Fingerprint),
}

/// What a client asks for in a token, and where.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Asked<'a> {
    /// Less than all that it may do.
    pub(crate) scope: Option<&'a str>,
    /// The address of this server, as the client knows it.
    pub(crate) base_url: &'a str,
}

/// A new token.
#[derive(Debug, Clone)]
pub(crate) struct IssuedToken {
    pub(crate) token: Secret,
    pub(crate) expires_in: i64,
}

/// A client that has shown its secret or certificate.
pub(crate) struct Authenticated {
    pub(crate) client: Arc<ApiClient>,
    /// The id of what it has shown.
    pub(crate) secret_id: String,
    /// Until when that is valid.
    pub(crate) until: Option<Timestamp>,
}

impl Access {
    /// Recognizes the caller by its `Authorization` header and lets it into `scope` (such
    /// as `data` or `admin`, or [`ANY_SCOPE`]).
    ///
    /// A token is verified once and then found by its hash, whatever changes in the registry. A revoked
    /// key or secret, or a changed claim set, takes effect on the next call.
    ///
    /// # Errors
    ///
    /// 401 with `WWW-Authenticate` for a caller that is not recognized, 403 for one whose key does
    /// not have this scope, 503 while the outcome of a change is unknown ([`Access::is_in_doubt`]).
    pub fn recognize(
        &self,
        authorization: Option<&str>,
        scope: &str,
        now: Timestamp,
    ) -> Result<Arc<ApiClient>, Problem> {
        Ok(self.recognize_token(authorization, scope, now)?.client)
    }

    /// Does the same as [`Access::recognize`] and also returns the version of the registry that was
    /// used.
    pub(crate) fn recognize_token(
        &self,
        authorization: Option<&str>,
        scope: &str,
        now: Timestamp,
    ) -> Result<Recognized, Unrecognized> {
        let token = bearer_token(authorization)?;
        if self.is_in_doubt() {
            return Err(changing().into());
        }
        let hash = blake3::hash(token.as_bytes());
        let verify = || self.verified(token, now);
        let lapsed = |lapsed| self.no_longer(lapsed);
        let recognized = self.recognize_shown(&hash, now, verify, lapsed)?;
        let client = &recognized.client;
        admitted(client, scope)
            .map_err(|problem| Unrecognized::from(problem).naming(self.named(&client.key)))?;
        Ok(recognized)
    }

    /// Issues a token for a key and its secret or certificate.
    ///
    /// An unknown key costs the same work as a wrong secret: one hash, and as many comparisons as a
    /// client can have secrets.
    pub(crate) fn issue(
        &self,
        key: &str,
        shown: &Shown,
        asked: &Asked<'_>,
        now: Timestamp,
    ) -> Result<IssuedToken, TokenRefusal> {
        let Authenticated { client, secret_id, until } = self.authenticate(key, shown, now)?;
        let subscribed = self.subscribed(key);
        let scope = TokenScope::read(asked.scope.unwrap_or(""), &client, &subscribed.scopes);
        let scope = scope.ok_or(TokenRefusal::Scope)?;
        let (iss, aud) = issued_for(self.issuer(asked.base_url), &subscribed.apis);
        let issued = now.seconds();
        // A token does not outlive what it was issued for.
        let expires = (issued + TOKEN_SECONDS).min(until.map_or(i64::MAX, Timestamp::seconds));
        self.count_token(key, expires, issued)?;
        let id: String = new_secret_id().map_err(|_| TokenRefusal::NoRandom)?;
        let token = self.tokens.sign(&TokenClaims {
            sub: key.to_owned(),
            sid: secret_id,
            iat: issued,
            exp: expires,
            jti: id,
            scope,
            iss,
            aud,
        });
        Ok(IssuedToken { token: Secret::new(token), expires_in: expires - issued })
    }

    /// Returns the client of a key that shows its secret or certificate.
    pub(crate) fn authenticate(
        &self,
        key: &str,
        shown: &Shown,
        now: Timestamp,
    ) -> Result<Authenticated, TokenRefusal> {
        let hash = match shown {
            Shown::Secret(secret) => self.hasher.hash(key, secret),
            Shown::Certificate(certificate) => blake3::Hash::from_bytes(*certificate.bytes()),
        };
        if self.is_in_doubt() {
            return Err(TokenRefusal::InDoubt);
        }
        let found = self.look_up(|registry| {
            let registered = registry.clients.get(key);
            let matching = match shown {
                // Equality of hashes takes constant time.
                Shown::Secret(_) => matching_secret(registered, now, |kept| *kept == hash),
                Shown::Certificate(_) => registered?.certificate(&hash),
            };
            let client = Arc::clone(&registered?.client);
            let shown = matching?;
            let (secret_id, until) = (shown.id.clone(), shown.valid_until);
            Some(Authenticated { client, secret_id, until })
        });
        let found = found.filter(|found| found.client.status == Status::Active);
        found.ok_or(TokenRefusal::Client)
    }

    /// Verifies the signature of a token.
    fn verified(&self, token: &str, now: Timestamp) -> Result<Proven, Unrecognized> {
        let claims = self.tokens.verify(token, now).map_err(|error| match error {
            TokenError::Foreign => {
                unrecognized("The token was not issued by this server.", true).into()
            }
            TokenError::Expired(key) => {
                let problem = unrecognized("The token has expired; get a new one.", true);
                Unrecognized::from(problem).naming(self.named(&key))
            }
        })?;
        let ends = claims.expires();
        let (key, secret) = (claims.sub.into(), claims.sid.into());
        Ok(Proven { key, secret, scope: claims.scope, ends })
    }

    /// Returns the refusal of a genuine token whose client is no longer what it was.
    fn no_longer(&self, lapsed: Lapsed) -> Unrecognized {
        let (refusal, key) = match lapsed {
            Lapsed::Key(key) => {
                let what = "The token's key or secret is no longer valid.";
                (Unrecognized::Unknown(unrecognized(what, true)), key)
            }
            Lapsed::Revoked(key) => {
                let what = "The token was revoked by its client; get a new one.";
                (Unrecognized::Other(unrecognized(what, true)), key)
            }
            Lapsed::Organization(key) => {
                let what = "The key no longer has the education organization that the token is limited to.";
                (Unrecognized::Other(unrecognized(what, true)), key)
            }
        };
        refusal.naming(self.named(&key))
    }

    /// Counts a token of a key as no longer live.
    pub(crate) fn no_longer_live(&self, key: &str, expires: i64) {
        let mut live = self.live.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(ends) = live.get_mut(key)
            && let Some(at) = ends.iter().position(|end| *end == expires)
        {
            ends.remove(at);
        }
    }

    fn count_token(&self, key: &str, expires: i64, now: i64) -> Result<(), TokenRefusal> {
        let Some(most) = self.config.live_tokens_max else { return Ok(()) };
        let mut live = self.live.lock().unwrap_or_else(PoisonError::into_inner);
        let ends = live.entry(key.to_owned()).or_default();
        ends.retain(|end| *end > now);
        if ends.len() >= most {
            let first = ends.iter().min().copied().unwrap_or(now);
            return Err(TokenRefusal::TooMany((first - now).max(1)));
        }
        ends.push_back(expires);
        Ok(())
    }
}

/// Admits a recognized client to a scope.
///
/// # Errors
///
/// 403 for a key that does not have the scope; 501 for a client with a profile where the scope is
/// data.
pub(crate) fn admitted(client: &ApiClient, scope: &str) -> Result<(), Problem> {
    let allowed =
        scope == ANY_SCOPE || Scope::read(scope).is_some_and(|scope| client.has_scope(scope));
    if !allowed {
        return Err(out_of_scope(client, scope));
    }
    if scope == Scope::Data.name() && !client.profiles.is_empty() {
        return Err(profiles_are_not_enforced());
    }
    Ok(())
}

/// Returns the live secret that `is_equal` accepts. It makes the same number of comparisons for an
/// unknown client as for a known one, and never stops early, so that timing reveals nothing.
pub(crate) fn matching_secret(
    registered: Option<&Registered>,
    now: Timestamp,
    is_equal: impl Fn(&blake3::Hash) -> bool,
) -> Option<&SecretRecord> {
    let decoy = blake3::Hash::from_bytes([0; 32]);
    let secrets = registered.map_or(&[][..], |registered| &registered.secrets);
    let mut matching = None;
    for at in 0..SECRETS_MAX {
        let secret = secrets.get(at);
        let equal = is_equal(secret.map_or(&decoy, |secret| &secret.hash));
        if equal && let Some(secret) = secret.filter(|secret| secret.is_live(now)) {
            matching = Some(secret);
        }
    }
    matching
}

/// Returns the token of an `Authorization` header.
pub(crate) fn bearer_token(authorization: Option<&str>) -> Result<&str, Problem> {
    let Some(header) = authorization else {
        return Err(unrecognized("The Authorization header is missing.", false));
    };
    if header.len() > AUTHORIZATION_BYTES_MAX {
        return Err(unrecognized("The Authorization header is longer than any token.", true));
    }
    let (scheme, token) = header.trim().split_once(' ').unwrap_or((header.trim(), ""));
    if !scheme.eq_ignore_ascii_case("Bearer") {
        return Err(unrecognized(
            "The Authorization header does not use the Bearer scheme.",
            false,
        ));
    }
    match token.trim() {
        "" => Err(unrecognized("The Authorization header has no token after Bearer.", false)),
        token => Ok(token),
    }
}

/// Returns 401 (RFC 6750 §3); `error` is named only where a token was sent.
fn unrecognized(what: &str, token_was_sent: bool) -> Problem {
    let challenge = if token_was_sent { r#"Bearer error="invalid_token""# } else { "Bearer" };
    Problem::of(Kind::AuthenticationFailed)
        .error(what)
        .hint("Send `Authorization: Bearer TOKEN` with a token from POST /oauth/token.")
        .header(WWW_AUTHENTICATE, HeaderValue::from_static(challenge))
        .header(CACHE_CONTROL, HeaderValue::from_static("no-store"))
}

/// Returns 501: without enforcement, a client with a profile would see more than the profile
/// allows.
fn profiles_are_not_enforced() -> Problem {
    Problem::of(Kind::NotImplemented)
        .detail("This key's application has a profile, and profiles are not enforced yet.")
        .hint("Ask the server's operator to remove the profile from the application.")
}

fn out_of_scope(client: &ApiClient, scope: &str) -> Problem {
    if let Some(held_to) = &client.held_to {
        return Problem::of(Kind::AccessDenied)
            .detail(format!(
                "This address needs the scope '{scope}'; the token was asked for with '{}'.",
                held_to.join(" ")
            ))
            .hint("Ask for a token with this scope as well, or without any: then it is for all that the key may do.");
    }
    let own: Vec<&str> = client.scopes.iter().map(|scope| scope.name()).collect();
    Problem::of(Kind::AccessDenied)
        .detail(format!(
            "This address needs a key with the scope '{scope}'; this key has {}.",
            if own.is_empty() { "none".into() } else { format!("'{}'", own.join("', '")) }
        ))
        .hint(format!("Ask the server's operator for a key with `--scope {scope}`."))
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use homeroom_store::Store;

    use super::*;
    use crate::access::AccessConfig;
    use crate::manage::Manage;

    const NOW: Timestamp = Timestamp(1_795_000_000_000_000);
    const ASKED: Asked<'_> = Asked { scope: None, base_url: "http://a" };

    fn new_key() -> Manage {
        Manage::CreateKey {
            claim_set: Some("FullAccess".into()),
            name: None,
            scopes: vec![],
            education_organizations: vec![],
            namespace_prefixes: vec![],
            ownership_tokens: vec![],
            creator_token: None,
        }
    }

    /// Creates a key in each state: active with one secret, with two, with an expired one;
    /// suspended, revoked, unknown.
    async fn keys(access: &Access) -> Vec<String> {
        let mut keys = vec![];
        for state in ["active", "two secrets", "ended", "suspended", "revoked"] {
            let made = access.manage(new_key(), NOW).await.unwrap();
            let key = made["key"].as_str().unwrap().to_owned();
            let rotate =
                |seconds| Manage::RotateKey { key: key.clone(), old_secret_seconds: seconds };
            match state {
                "two secrets" => drop(access.manage(rotate(None), NOW).await.unwrap()),
                "ended" => drop(access.manage(rotate(Some(0)), NOW).await.unwrap()),
                "suspended" => {
                    let mut change = access.begin_change(NOW).await.unwrap();
                    let link = change.look_up(|registry| registry.clients[&key].link.clone());
                    let application = link.unwrap().application;
                    change.change_client(&key, application, "a", false).unwrap();
                    change.commit().await.unwrap();
                }
                "revoked" => {
                    let revoke = Manage::RevokeKey { key: key.clone(), old_secrets_only: false };
                    access.manage(revoke, NOW).await.unwrap();
                }
                _ => {}
            }
            keys.push(key);
        }
        keys.push("nobody".into());
        keys
    }

    #[tokio::test]
    async fn a_wrong_secret_costs_the_same_work_for_known_and_unknown_keys() {
        let source = homeroom_model::format::read(homeroom_model::shipped("5.2.0").unwrap());
        let model = Arc::new(homeroom_model::link(&[source.unwrap()]).unwrap());
        let store = Store::temporary(&[]).unwrap();
        let access = Access::open(store, model, AccessConfig::default(), NOW).await.unwrap();
        let keys = keys(&access).await;
        let wrong = Shown::Secret(Secret::new("wrong"));

        for key in &keys {
            let hashed = access.hasher.hashed();
            let compared = Cell::new(0);

            let refusal = access.issue(key, &wrong, &ASKED, NOW).unwrap_err();
            let hashed = access.hasher.hashed() - hashed;
            access.look_up(|registry| {
                let none = |_: &blake3::Hash| {
                    compared.set(compared.get() + 1);
                    false
                };
                assert!(matching_secret(registry.clients.get(key), NOW, none).is_none());
            });

            assert_eq!(refusal, TokenRefusal::Client);
            assert_eq!((hashed, compared.get()), (1, SECRETS_MAX), "{key} of {keys:?}");
        }
    }
}
