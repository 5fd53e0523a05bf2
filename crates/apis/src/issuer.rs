//! Issuers of tokens outside of this server, which an API trusts.

mod keys;
mod renewal;
mod token;
mod tokens;

use std::sync::Arc;

use homeroom_http::{Foreign, Kind, Problem, Timestamp, Vouched};
use http::HeaderValue;
use http::header::{CACHE_CONTROL, RETRY_AFTER, WWW_AUTHENTICATE};
use ring::digest::{SHA256, digest};

use crate::definition;
pub(crate) use renewal::KeySets;
use renewal::{KeySet, NoKey, WAITING};
use token::{Refused, Token, grant};
use tokens::{Checked, Tokens};

/// The issuers that an API trusts.
pub(crate) struct Issuers {
    all: Vec<Trusted>,
}

struct Trusted {
    stated: definition::Issuer,
    keys: Arc<KeySet>,
    tokens: Arc<Tokens>,
}

impl Issuers {
    /// Prepares the issuers of an API.
    ///
    /// # Errors
    ///
    /// Why their keys cannot be asked for.
    pub(crate) fn new(stated: &[definition::Issuer], sets: &KeySets) -> Result<Self, String> {
        let trusted = |stated: &definition::Issuer| {
            let (keys, tokens) = (sets.of(&stated.jwks)?, sets.tokens_of(stated));
            Ok::<_, String>(Trusted { stated: stated.clone(), keys, tokens })
        };
        Ok(Self { all: stated.iter().map(trusted).collect::<Result<_, _>>()? })
    }

    /// Says whether one of the issuers vouches for a token.
    pub(crate) fn vouch(self: &Arc<Self>, text: &str, now: Timestamp) -> Vouched {
        let mut hash = [0; 32];
        hash.copy_from_slice(digest(&SHA256, text.as_bytes()).as_ref());
        if let Some(caller) = self.known(&hash, now) {
            return Vouched::Known(caller);
        }
        let Some(token) = Token::read(text) else { return Vouched::No };
        let Some(issuer) = token.claims.get("iss").and_then(|issuer| issuer.as_str()) else {
            return Vouched::No;
        };
        let Some(number) = self.all.iter().position(|trusted| trusted.stated.issuer == issuer)
        else {
            return Vouched::No;
        };
        let issuers = Arc::clone(self);
        Vouched::Asking(Box::pin(async move { issuers.check(number, token, hash, now).await }))
    }

    /// Checks a token by the keys of its issuer, and remembers it.
    async fn check(
        &self,
        number: usize,
        token: Token,
        hash: [u8; 32],
        now: Timestamp,
    ) -> Result<Arc<Foreign>, Problem> {
        let Trusted { stated, keys, tokens } = &self.all[number];
        let found = keys.find(&token.header, now).await.map_err(|reason| match reason {
            NoKey::Unknown => refused("No key of the token's issuer has signed it."),
            NoKey::Unavailable(seconds) => Problem::of(Kind::ServiceUnavailable)
                .detail("The keys of the token's issuer cannot be had now.")
                .header(RETRY_AFTER, HeaderValue::from(seconds)),
            NoKey::Busy => Problem::busy(1).budget(WAITING).detail(format!(
                "As many requests wait for the keys of the token's issuer as may (budget {WAITING})."
            )),
        })?;
        if !found.keys.iter().any(|key| key.has_signed(&token.signed, &token.signature)) {
            return Err(refused("The token's signature is not that of its issuer."));
        }
        let (caller, ends) = grant(token.claims, stated, now.seconds()).map_err(|error| {
            refused(match error {
                Refused::Audience => "The token is for another audience than this API.",
                Refused::Expired => "The token has expired; get a new one.",
                Refused::Early => "The token is not valid yet.",
                Refused::Bound => {
                    "The token is bound to a key of its holder, which is not checked here."
                }
                Refused::Malformed => "The token lacks a claim, or has one of the wrong type.",
            })
        })?;
        let caller = Arc::new(caller);
        let checked = Checked { caller: Arc::clone(&caller), ends, by: found.state };
        tokens.remember(hash, checked, now);
        Ok(caller)
    }

    /// Returns the caller of a token that was checked, if it has not ended and the keys are still those.
    fn known(&self, hash: &[u8; 32], now: Timestamp) -> Option<Arc<Foreign>> {
        self.all.iter().find_map(|Trusted { keys, tokens, .. }| {
            let known = tokens.known();
            let checked = known.get(hash)?;
            let is_valid = now.seconds() < checked.ends && keys.is_in(checked.by, now);
            is_valid.then(|| Arc::clone(&checked.caller))
        })
    }
}

/// Returns the caller of a token by a set of keys, as [`Issuers`] does; [`None`] if it is refused.
#[cfg(feature = "fuzz")]
pub fn foreign_caller(
    set: &[u8],
    text: &str,
    issuer: &definition::Issuer,
    now: Timestamp,
) -> Option<Foreign> {
    let keys = keys::read_set(set).ok()?;
    let token = Token::read(text)?;
    let has_signed = |key: &keys::Key| {
        Some(key.algorithm) == token.header.algorithm
            && key.has_signed(&token.signed, &token.signature)
    };
    let is_signed = keys.iter().any(has_signed);
    is_signed
        .then(|| grant(token.claims, issuer, now.seconds()).ok())
        .flatten()
        .map(|found| found.0)
}

fn refused(what: &str) -> Problem {
    Problem::of(Kind::AuthenticationFailed)
        .error(what)
        .header(WWW_AUTHENTICATE, HeaderValue::from_static(r#"Bearer error="invalid_token""#))
        .header(CACHE_CONTROL, HeaderValue::from_static("no-store"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::definition::{Audience, Issuer};
    use crate::units::Time;

    fn hash(number: usize) -> [u8; 32] {
        let mut hash = [0; 32];
        hash[..8].copy_from_slice(&number.to_le_bytes());
        hash
    }

    #[test]
    fn of_too_many_tokens_few_are_forgotten_and_those_that_have_ended_first() {
        let tokens = Tokens::new(80);
        let caller =
            Arc::new(Foreign { name: "a".into(), scopes: vec![], claims: serde_json::Map::new() });
        let checked = |ends| Checked { caller: Arc::clone(&caller), ends, by: 0 };
        let now = Timestamp(100_000_000);

        for number in 0..80 {
            tokens.remember(hash(number), checked(if number < 30 { 50 } else { 500 }), now);
        }
        tokens.remember(hash(80), checked(500), now);
        assert_eq!(tokens.known().len(), 51, "without those that have ended");
        for number in 81..200 {
            tokens.remember(hash(number), checked(500), now);
            assert!((50..=80).contains(&tokens.known().len()));
            assert!(tokens.known().contains_key(&hash(number)));
        }
    }

    #[test]
    fn apis_that_state_the_same_of_an_issuer_share_what_they_know() {
        let sets = KeySets::new(1, 10);
        let stated = Issuer {
            issuer: "https://a".into(),
            jwks: "https://a/keys".into(),
            audience: Audience::One("b".into()),
            leeway: Time(std::time::Duration::from_secs(30)),
        };
        let other = Issuer { audience: Audience::One("c".into()), ..stated.clone() };

        let tokens = sets.tokens_of(&stated);

        assert!(Arc::ptr_eq(&tokens, &sets.tokens_of(&stated)));
        assert!(!Arc::ptr_eq(&tokens, &sets.tokens_of(&other)), "another audience");
    }
}
