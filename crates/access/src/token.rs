//! Tokens: compact JSON Web Signatures with EdDSA over Ed25519.
//!
//! The server reads only what it signed itself, so a token's header is one constant text per
//! signing key. Nothing in it is interpreted, so no sender can choose another algorithm.
//!
//! Source: RFC 7515 (compact serialization), RFC 7519 (claims), RFC 8037 (EdDSA, OKP keys).

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;
use ed25519_dalek::{Signature, Signer as _, SigningKey, VerifyingKey};
use homeroom_http::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::token_scope::TokenScope;

/// How long a token is valid, by the wall clock. Setting the clock forward ends tokens early,
/// setting it back extends them by as much. A client can get a new token at any time.
pub const TOKEN_SECONDS: i64 = 1_800;

/// Longest token that is read, in bytes.
const TOKEN_BYTES_MAX: usize = 4_000;

/// The claims in a token.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct TokenClaims {
    /// The client's key.
    pub(crate) sub: String,
    /// Id of the secret or certificate that it was issued for; the token ends with it.
    pub(crate) sid: String,
    /// When it was issued, in seconds since 1970.
    pub(crate) iat: i64,
    /// When it ends, in seconds since 1970.
    pub(crate) exp: i64,
    /// Makes each token unique.
    pub(crate) jti: String,
    /// What it was asked for, if that is less than all that its key may do.
    #[serde(skip_serializing_if = "TokenScope::is_whole", default)]
    pub(crate) scope: TokenScope,
    /// The address of the server that has issued it. Other servers go by it; this one knows its signature.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub(crate) iss: Option<String>,
    /// Whom it is for: its issuer, and the published APIs that its key may call.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub(crate) aud: Vec<String>,
}

impl TokenClaims {
    pub(crate) fn expires(&self) -> Timestamp {
        Timestamp(0).plus_seconds(self.exp)
    }
}

/// Why a token is not accepted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum TokenError {
    #[error("the token was not issued by this server")]
    Foreign,
    /// It was issued for this key.
    #[error("the token has expired")]
    Expired(String),
}

/// The signing keys: the newest one signs, all of them verify.
pub(crate) struct TokenKeys {
    keys: Vec<Key>,
}

struct Key {
    id: String,
    /// Encoded header of every token that the key signs.
    header: String,
    signing: SigningKey,
    verifying: VerifyingKey,
}

impl TokenKeys {
    /// Creates the keys from their seeds, newest first.
    pub(crate) fn new(seeds: impl IntoIterator<Item = [u8; 32]>) -> Self {
        let key = |seed: [u8; 32]| {
            let signing = SigningKey::from_bytes(&seed);
            let verifying = signing.verifying_key();
            let id = blake3::hash(verifying.as_bytes()).to_hex()[..8].to_owned();
            let header = json!({"alg": "EdDSA", "typ": "JWT", "kid": id}).to_string();
            Key { id, header: BASE64.encode(header), signing, verifying }
        };
        Self { keys: seeds.into_iter().map(key).collect() }
    }

    /// Signs a token.
    pub(crate) fn sign(&self, claims: &TokenClaims) -> String {
        let key = self.keys.first().expect("a store has a signing key from its first opening on");
        let payload = serde_json::to_vec(claims).expect("text and numbers can be written as JSON");
        let mut token = format!("{}.{}", key.header, BASE64.encode(payload));
        let signature = key.signing.sign(token.as_bytes());
        token.push('.');
        token.push_str(&BASE64.encode(signature.to_bytes()));
        token
    }

    /// Checks a token's signature and expiry.
    pub(crate) fn verify(&self, token: &str, now: Timestamp) -> Result<TokenClaims, TokenError> {
        let claims = self.read(token).ok_or(TokenError::Foreign)?;
        if now < claims.expires() { Ok(claims) } else { Err(TokenError::Expired(claims.sub)) }
    }

    /// Returns the claims of a token that this server has issued, expired or not.
    pub(crate) fn read(&self, token: &str) -> Option<TokenClaims> {
        if token.len() > TOKEN_BYTES_MAX {
            return None;
        }
        let (signed, signature) = token.rsplit_once('.')?;
        let (header, payload) = signed.split_once('.')?;
        let key = self.keys.iter().find(|key| key.header == header)?;
        let signature = Signature::from_slice(&BASE64.decode(signature).ok()?).ok()?;
        key.verifying.verify_strict(signed.as_bytes(), &signature).ok()?;
        serde_json::from_slice(&BASE64.decode(payload).ok()?).ok()
    }

    /// Returns the public keys as a JSON Web Key Set.
    pub(crate) fn key_set(&self) -> Value {
        let keys: Vec<Value> = self
            .keys
            .iter()
            .map(|key| {
                json!({
                    "kty": "OKP",
                    "crv": "Ed25519",
                    "alg": "EdDSA",
                    "use": "sig",
                    "kid": key.id,
                    "x": BASE64.encode(key.verifying.as_bytes()),
                })
            })
            .collect();
        json!({ "keys": keys })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp(1_795_000_000_000_000);

    fn claims() -> TokenClaims {
        TokenClaims {
            sub: "key".into(),
            sid: "secret".into(),
            iat: NOW.seconds(),
            exp: NOW.seconds() + TOKEN_SECONDS,
            jti: "1".into(),
            scope: TokenScope { organization: Some(255_901), held_to: None },
            iss: Some("https://a.example".into()),
            aud: vec!["https://a.example".into()],
        }
    }

    #[test]
    fn a_token_can_be_read_until_it_expires() {
        let keys = TokenKeys::new([[7; 32]]);

        let token = keys.sign(&claims());

        assert_eq!(keys.verify(&token, NOW), Ok(claims()));
        assert_eq!(keys.verify(&token, NOW.plus_seconds(1_799)), Ok(claims()));
        assert_eq!(
            keys.verify(&token, NOW.plus_seconds(1_800)),
            Err(TokenError::Expired("key".into()))
        );
    }

    #[test]
    fn a_token_of_a_version_that_named_no_issuer_is_read() {
        let keys = TokenKeys::new([[7; 32]]);
        let now = NOW.seconds();
        let old =
            json!({"sub": "key", "sid": "s", "iat": now, "exp": now + 9, "jti": "1", "scope": 7});
        let mut token = format!("{}.{}", keys.keys[0].header, BASE64.encode(old.to_string()));
        let signature = keys.keys[0].signing.sign(token.as_bytes());
        token = format!("{token}.{}", BASE64.encode(signature.to_bytes()));

        let read = keys.verify(&token, NOW).unwrap();

        assert_eq!((read.iss, read.aud, read.scope.organization), (None, vec![], Some(7)));
    }

    #[test]
    fn an_older_key_still_verifies_and_a_foreign_one_does_not() {
        let token = TokenKeys::new([[7; 32]]).sign(&claims());

        assert!(TokenKeys::new([[8; 32], [7; 32]]).verify(&token, NOW).is_ok());
        assert_eq!(TokenKeys::new([[8; 32]]).verify(&token, NOW), Err(TokenError::Foreign));
    }

    #[test]
    fn a_header_that_asks_for_another_algorithm_is_refused() {
        let keys = TokenKeys::new([[7; 32]]);
        let token = keys.sign(&claims());
        let (_, rest) = token.split_once('.').unwrap();
        let payload = rest.split_once('.').unwrap().0;

        for header in [r#"{"alg":"none"}"#, r#"{"alg":"HS256","typ":"JWT"}"#] {
            let header = BASE64.encode(header);
            for forged in [format!("{header}.{payload}."), format!("{header}.{rest}")] {
                assert_eq!(keys.verify(&forged, NOW), Err(TokenError::Foreign), "{forged}");
            }
        }
    }

    #[test]
    fn the_key_set_contains_only_the_public_key() {
        let keys = TokenKeys::new([[7; 32]]);

        let set = keys.key_set();

        let bytes = BASE64.decode(set["keys"][0]["x"].as_str().unwrap()).unwrap();
        assert_eq!(bytes, keys.keys[0].verifying.as_bytes());
        assert_eq!(set["keys"][0]["crv"], "Ed25519");
        assert!(set["keys"][0].get("d").is_none());
    }
}
