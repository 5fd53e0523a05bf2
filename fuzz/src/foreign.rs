//! Tokens and keys of other issuers: nobody is taken for a caller but by a token that the issuer signed, byte for
//! byte.

use std::sync::LazyLock;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;
use homeroom_apis::Issuer;
use homeroom_apis::fuzz::foreign_caller;
use homeroom_http::Timestamp;
use ring::signature::{Ed25519KeyPair, KeyPair as _};

use crate::token::changed;

/// A moment at which the good token is valid.
const NOW: Timestamp = Timestamp(1_795_000_000_000_000);

struct Good {
    issuer: Issuer,
    keys: String,
    token: String,
}

static GOOD: LazyLock<Good> = LazyLock::new(|| {
    let pair = Ed25519KeyPair::from_seed_unchecked(&[7; 32]).expect("any seed makes a key");
    let x = BASE64.encode(pair.public_key().as_ref());
    let keys =
        format!(r#"{{"keys": [{{"kty": "OKP", "crv": "Ed25519", "kid": "1", "x": "{x}"}}]}}"#);
    let header = BASE64.encode(r#"{"alg": "EdDSA", "kid": "1"}"#);
    let claims = BASE64.encode(
        r#"{"iss": "https://a", "aud": ["x", "api"], "sub": "s", "exp": 1795000600, "scope": "r"}"#,
    );
    let signed = format!("{header}.{claims}");
    let token = format!("{signed}.{}", BASE64.encode(pair.sign(signed.as_bytes()).as_ref()));
    let issuer = r#"{"issuer": "https://a", "jwks": "https://a/keys", "audience": "api"}"#;
    Good { issuer: serde_json::from_str(issuer).expect("it is one"), keys, token }
});

/// The rest is, by the first byte, a token, edits of a good token, a set of keys, or edits of a good one.
///
/// # Panics
///
/// When a token is accepted that is not the good one.
pub fn foreign(bytes: &[u8]) {
    let Some((mode, rest)) = bytes.split_first() else { return };
    let Good { issuer, keys, token } = &*GOOD;
    let (keys, shown) = match mode % 4 {
        0 => (keys.clone().into_bytes(), String::from_utf8_lossy(rest).into_owned()),
        1 => (
            keys.clone().into_bytes(),
            String::from_utf8_lossy(&changed(token.as_bytes(), rest)).into_owned(),
        ),
        2 => (rest.to_vec(), token.clone()),
        _ => (changed(keys.as_bytes(), rest), token.clone()),
    };
    if let Some(caller) = foreign_caller(&keys, &shown, issuer, NOW) {
        assert_eq!(shown, *token, "accepted");
        assert_eq!(caller.scopes, ["r"]);
    } else {
        let is_untouched = mode % 4 == 1 && shown == *token;
        assert!(!is_untouched, "the good token is refused");
    }
}
