//! A token of another issuer: its form, and what it says.
//!
//! Source: RFC 7515 §3.1, §4.1 (compact form, header), RFC 7519 §4.1 (claims), RFC 8725 (what to refuse),
//! RFC 9068 (`at+jwt`, `scope`).

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;
use homeroom_http::Foreign;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::keys::Algorithm;
use crate::definition::Issuer;

/// Longest token that is read, in bytes.
const TOKEN_BYTES_MAX: usize = 12 << 10;

/// A token in which nothing is believed yet.
pub(super) struct Token {
    pub(super) header: Header,
    pub(super) claims: Map<String, Value>,
    /// What was signed.
    pub(super) signed: String,
    pub(super) signature: Vec<u8>,
}

/// What counts of a token's header. Keys and addresses of keys in it (`jwk`, `jku`, `x5c`, `x5u`) do not.
pub(super) struct Header {
    /// [`None`] for an algorithm that is not accepted.
    pub(super) algorithm: Option<Algorithm>,
    pub(super) key_id: Option<String>,
}

#[derive(Deserialize)]
struct Stated {
    alg: String,
    kid: Option<String>,
    typ: Option<String>,
    crit: Option<Value>,
}

/// Why a token that its issuer has signed is not accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Refused {
    Audience,
    Expired,
    Early,
    Bound,
    Malformed,
}

impl Token {
    /// Reads a token; [`None`] for what is none.
    pub(super) fn read(text: &str) -> Option<Self> {
        if text.len() > TOKEN_BYTES_MAX {
            return None;
        }
        let (signed, signature) = text.rsplit_once('.')?;
        let (header, claims) = signed.split_once('.')?;
        let stated: Stated = serde_json::from_slice(&BASE64.decode(header).ok()?).ok()?;
        let claims: Map<String, Value> =
            serde_json::from_slice(&BASE64.decode(claims).ok()?).ok()?;
        let kind = stated.typ.as_deref().unwrap_or("JWT").to_ascii_lowercase();
        let is_access = matches!(&*kind, "jwt" | "at+jwt" | "application/at+jwt");
        // What must be understood is not.
        let is_plain = is_access && stated.crit.is_none();
        let algorithm = Algorithm::named(&stated.alg).filter(|_| is_plain);
        let signature = BASE64.decode(signature).ok()?;
        let header = Header { algorithm, key_id: stated.kid };
        Some(Self { header, claims, signed: signed.to_owned(), signature })
    }
}

/// Returns the caller of a token whose signature is that of an issuer, and when it ends, in seconds since
/// 1970, with what clocks may differ.
///
/// # Errors
///
/// Why the token is not accepted.
pub(super) fn grant(
    claims: Map<String, Value>,
    issuer: &Issuer,
    now: i64,
) -> Result<(Foreign, i64), Refused> {
    let leeway = i64::try_from(issuer.leeway.0.as_secs()).unwrap_or(0);
    let is_meant = |name: &Value| name.as_str().is_some_and(|name| issuer.audience.has(name));
    let is_ours = match claims.get("aud") {
        Some(Value::Array(names)) => names.iter().any(is_meant),
        Some(name) => is_meant(name),
        None => false,
    };
    if !is_ours {
        return Err(Refused::Audience);
    }
    let ends = moment(&claims, "exp")?.ok_or(Refused::Malformed)?.saturating_add(leeway);
    if now >= ends {
        return Err(Refused::Expired);
    }
    if moment(&claims, "nbf")?.is_some_and(|begins| now.saturating_add(leeway) < begins) {
        return Err(Refused::Early);
    }
    if claims.contains_key("cnf") {
        return Err(Refused::Bound);
    }
    let text =
        |name: &str| claims.get(name).and_then(Value::as_str).filter(|text| !text.is_empty());
    let subject = text("sub").or(text("client_id")).or(text("azp")).ok_or(Refused::Malformed)?;
    let name = format!("{subject} of {}", issuer.issuer);
    let scopes = ["scope", "scp"].iter().filter_map(|name| claims.get(*name)).flat_map(words);
    Ok((Foreign { name, scopes: scopes.collect(), claims }, ends))
}

/// Returns a claim that is a moment, in seconds since 1970.
fn moment(claims: &Map<String, Value>, name: &str) -> Result<Option<i64>, Refused> {
    let Some(value) = claims.get(name) else { return Ok(None) };
    let seconds =
        value.as_f64().filter(|seconds| seconds.abs() < 1e15).ok_or(Refused::Malformed)?;
    #[expect(clippy::cast_possible_truncation, reason = "it is in range")]
    Ok(Some(seconds.floor() as i64))
}

/// Returns the words of a text, or the texts of a list.
fn words(value: &Value) -> Vec<String> {
    match value {
        Value::String(text) => text.split_ascii_whitespace().map(str::to_owned).collect(),
        Value::Array(list) => {
            list.iter().filter_map(|item| Some(item.as_str()?.to_owned())).collect()
        }
        _ => vec![],
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const NOW: i64 = 1_795_608_000;

    fn issuer() -> Issuer {
        let text = json!({"issuer": "https://i", "jwks": "https://i/keys", "audience": ["a", "b"]});
        serde_json::from_value(text).unwrap()
    }

    fn granted(claims: &Value) -> Result<(Foreign, i64), Refused> {
        grant(claims.as_object().unwrap().clone(), &issuer(), NOW)
    }

    #[test]
    fn a_token_is_accepted_for_its_audience_while_it_is_valid() {
        let (caller, ends) = granted(&json!({"sub": "s", "aud": "b", "exp": NOW + 60})).unwrap();

        assert_eq!((&*caller.name, ends), ("s of https://i", NOW + 90));
        for (claims, expected) in [
            (json!({"sub": "s", "aud": ["x", "a"], "exp": NOW - 29}), None),
            (json!({"client_id": "s", "aud": "a", "exp": 1e9 + 9e8, "nbf": NOW + 30}), None),
            (json!({"sub": "s", "aud": "a", "exp": NOW - 30}), Some(Refused::Expired)),
            (
                json!({"sub": "s", "aud": "a", "exp": NOW + 60, "nbf": NOW + 31}),
                Some(Refused::Early),
            ),
            (json!({"sub": "s", "aud": "A", "exp": NOW + 60}), Some(Refused::Audience)),
            (json!({"sub": "s", "aud": [], "exp": NOW + 60}), Some(Refused::Audience)),
            (json!({"sub": "s", "exp": NOW + 60}), Some(Refused::Audience)),
            (json!({"sub": "s", "aud": "a"}), Some(Refused::Malformed)),
            (json!({"sub": "s", "aud": "a", "exp": "1"}), Some(Refused::Malformed)),
            (json!({"sub": "s", "aud": "a", "exp": 1e300}), Some(Refused::Malformed)),
            (
                json!({"sub": "s", "aud": "a", "exp": NOW + 60, "nbf": null}),
                Some(Refused::Malformed),
            ),
            (json!({"aud": "a", "exp": NOW + 60}), Some(Refused::Malformed)),
            (json!({"sub": "s", "aud": "a", "exp": NOW + 60, "cnf": {}}), Some(Refused::Bound)),
        ] {
            assert_eq!(granted(&claims).err(), expected, "{claims}");
        }
    }

    #[test]
    fn scopes_are_words_or_lists() {
        let scopes = |more: Value| {
            let mut claims = json!({"sub": "s", "aud": "a", "exp": NOW + 60});
            claims.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            granted(&claims).unwrap().0.scopes
        };

        assert_eq!(scopes(json!({"scope": "a b  c"})), ["a", "b", "c"]);
        assert_eq!(scopes(json!({"scp": ["a", 1, "b"], "scope": "c"})), ["c", "a", "b"]);
        assert_eq!(scopes(json!({"scp": "a b"})), ["a", "b"]);
        assert!(scopes(json!({"scope": {"a": 1}})).is_empty());
    }

    #[test]
    fn what_a_token_says_of_its_algorithm_is_taken_only_from_the_list() {
        let token = |header: &Value| {
            let text = format!("{}.e30.", BASE64.encode(header.to_string()));
            Token::read(&text).map(|token| token.header.algorithm)
        };

        for (header, expected) in [
            (json!({"alg": "RS256"}), Some(Some(Algorithm::Rs256))),
            (
                json!({"alg": "ES256", "typ": "at+jwt", "jku": "https://evil"}),
                Some(Some(Algorithm::Es256)),
            ),
            (json!({"alg": "none"}), Some(None)),
            (json!({"alg": "None"}), Some(None)),
            (json!({"alg": "HS256"}), Some(None)),
            (json!({"alg": "EdDSA", "crit": ["b64"], "b64": false}), Some(None)),
            (json!({"alg": "EdDSA", "typ": "dpop+jwt"}), Some(None)),
            (json!({"typ": "JWT"}), None),
            (json!({"alg": ["EdDSA"]}), None),
        ] {
            assert_eq!(token(&header), expected, "{header}");
        }
        for text in ["", ".", "..", "a.b.c", "e30.e30.e30", "e30=.e30.", "eyJhbGciOiJub25lIn0.e30"]
        {
            assert!(Token::read(text).is_none(), "{text}");
        }
    }
}
