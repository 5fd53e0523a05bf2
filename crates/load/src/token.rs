//! Requests a token for the run: OAuth 2.0 client credentials (RFC 6749 §4.4), as Ed-Fi APIs
//! implement them.

use std::fmt;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use crate::client::{Caller, words};

/// The path of the token endpoint if the target's discovery document does not name one.
const USUAL_PATH: &str = "/oauth/token";

/// The lifetime that is assumed if the answer does not give one.
const USUAL_LIFETIME: Duration = Duration::from_mins(30);

/// The longest time until the engine sends a new token: it looks for one each second.
const TAKEN_UP: Duration = Duration::from_secs(1);

/// A key and its secret, neither of which is ever shown.
#[derive(Clone)]
pub struct Key {
    /// The key, or client id.
    pub id: String,
    /// The key's secret.
    pub secret: String,
}

impl Key {
    /// Returns the value of an `Authorization` header with the key and its secret (RFC 7617).
    pub fn basic(&self) -> String {
        format!("Basic {}", STANDARD.encode(format!("{}:{}", self.id, self.secret)))
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key")
    }
}

/// A token, which is never shown.
#[derive(Clone, PartialEq, Eq)]
pub struct Token {
    /// The text after `Authorization: Bearer`.
    pub text: String,
    /// How long the token is valid, counted from the request for it.
    pub lifetime: Duration,
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Token").field("lifetime", &self.lifetime).finish_non_exhaustive()
    }
}

impl Token {
    /// Returns when to renew the token: while a third of its lifetime is left, so that a target
    /// which is slow under load has time to issue another.
    pub fn renew_after(&self) -> Duration {
        self.lifetime.saturating_sub(TAKEN_UP).mul_f64(2.0 / 3.0).max(Duration::from_secs(1))
    }
}

/// Why no token was obtained.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TokenError {
    /// The target does not answer.
    #[error("no token from {url}: {why}")]
    Unreachable {
        /// The URL of the request.
        url: String,
        /// The cause.
        why: String,
    },
    /// The target does not accept the key and its secret.
    #[error("no token from {url}: {why}; check --key and --secret")]
    NotAuthorized {
        /// The URL of the request.
        url: String,
        /// The target's message.
        why: String,
    },
    /// The target answers with something other than a token.
    #[error("no token from {url}: {why}; check --target")]
    Refused {
        /// The URL of the request.
        url: String,
        /// The target's message.
        why: String,
    },
}

/// Returns the path of the token endpoint: `urls.oauth` of the discovery document, or the usual
/// path.
pub fn path(caller: &Caller) -> String {
    let prefix = &caller.target.prefix;
    let root = if prefix.is_empty() { "/" } else { prefix };
    let told = caller.send("GET", root, &[("Accept", "application/json")], b"").ok();
    told.filter(|reply| reply.status == 200)
        .and_then(|reply| discovered(&reply.body))
        .unwrap_or_else(|| format!("{prefix}{USUAL_PATH}"))
}

/// Returns the path of `urls.oauth`; its origin is ignored, since a proxy may have another one.
fn discovered(body: &[u8]) -> Option<String> {
    let document: Value = serde_json::from_slice(body).ok()?;
    let url = document["urls"]["oauth"].as_str()?;
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let path = &rest[rest.find('/')?..];
    path.bytes().all(|byte| byte.is_ascii_graphic()).then(|| path.to_owned())
}

/// Requests a token.
///
/// # Errors
///
/// If the target does not answer, or issues no token.
pub fn get(caller: &Caller, path: &str, key: &Key) -> Result<Token, TokenError> {
    let url = || {
        let origin = caller.target.url();
        format!("{}{path}", origin.trim_end_matches(&caller.target.prefix))
    };
    let basic = key.basic();
    let headers = [
        ("Authorization", basic.as_str()),
        ("Accept", "application/json"),
        ("Content-Type", "application/x-www-form-urlencoded"),
    ];
    let reply = caller
        .send("POST", path, &headers, b"grant_type=client_credentials")
        .map_err(|error| TokenError::Unreachable { url: url(), why: words(&error) })?;
    if !(200..300).contains(&reply.status) {
        let why = format!("it answers {}{}", reply.status, said(&reply.body));
        return Err(if is_of_the_key(reply.status, &reply.body) {
            TokenError::NotAuthorized { url: url(), why }
        } else {
            TokenError::Refused { url: url(), why }
        });
    }
    read(&reply.body)
        .ok_or_else(|| TokenError::Refused { url: url(), why: "its answer contains none".into() })
}

/// Returns whether a refusal is of the key or its secret.
///
/// Source: RFC 6749 §5.2, which lets servers answer 400 too.
fn is_of_the_key(status: u16, body: &[u8]) -> bool {
    let answer: Value = serde_json::from_slice(body).unwrap_or_default();
    let names_the_client =
        matches!(answer["error"].as_str(), Some("invalid_client" | "unauthorized_client"));
    matches!(status, 401 | 403) || status == 400 && names_the_client
}

fn read(body: &[u8]) -> Option<Token> {
    let answer: Value = serde_json::from_slice(body).ok()?;
    let text = answer["access_token"].as_str()?;
    let seconds = answer["expires_in"].as_f64().filter(|seconds| (1.0..1e9).contains(seconds));
    let is_token = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic());
    is_token.then(|| Token {
        text: text.into(),
        lifetime: seconds.map_or(USUAL_LIFETIME, Duration::from_secs_f64),
    })
}

/// Returns the error that an answer names, if any.
fn said(body: &[u8]) -> String {
    const SHOWN_MAX: usize = 200;
    let answer: Value = serde_json::from_slice(body).unwrap_or_default();
    let names = ["error_description", "error", "detail", "message"];
    let text = names.iter().find_map(|name| answer[*name].as_str()).unwrap_or_default();
    let text: String = text.chars().filter(|c| !c.is_control()).take(SHOWN_MAX).collect();
    if text.is_empty() { text } else { format!(" ({text})") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_response_states_its_lifetime() {
        let token = read(br#"{"access_token": "abc", "expires_in": 1800.0}"#).unwrap();
        let unlimited = read(br#"{"access_token": "abc"}"#).unwrap();

        assert_eq!((token.text.as_str(), token.lifetime.as_secs()), ("abc", 1800));
        assert_eq!((token.renew_after().as_secs(), unlimited.lifetime), (1199, USUAL_LIFETIME));
    }

    #[test]
    fn a_refusal_of_the_key_is_told_from_others() {
        let cases = [
            (401, "", true),
            (403, "{}", true),
            (400, r#"{"error": "invalid_client"}"#, true),
            (400, r#"{"error": "invalid_request"}"#, false),
            (404, "", false),
            (429, r#"{"error": "invalid_client"}"#, false),
        ];
        for (status, body, expected) in cases {
            assert_eq!(is_of_the_key(status, body.as_bytes()), expected, "{status} {body}");
        }
    }

    #[test]
    fn a_refusal_says_what_to_check() {
        let (url, why) = ("http://h/oauth/token".to_owned(), "it answers 404".to_owned());
        let of_key = TokenError::NotAuthorized { url: url.clone(), why: why.clone() }.to_string();
        let other = TokenError::Refused { url, why }.to_string();

        assert_eq!(other, "no token from http://h/oauth/token: it answers 404; check --target");
        assert!(of_key.ends_with("; check --key and --secret"), "{of_key}");
    }

    #[test]
    fn an_invalid_token_response_gives_no_token() {
        for body in ["", "{}", "abc", r#"{"access_token": ""}"#, r#"{"access_token": "a\r\nb: c"}"#]
        {
            assert_eq!(read(body.as_bytes()), None, "{body}");
        }
    }

    #[test]
    fn the_token_endpoint_is_found_in_the_discovery_document() {
        for (body, path) in [
            (r#"{"urls": {"oauth": "https://h/WebApi/oauth/token"}}"#, Some("/WebApi/oauth/token")),
            (r#"{"urls": {"oauth": "/oauth/token"}}"#, Some("/oauth/token")),
            (r#"{"urls": {"oauth": "https://h"}}"#, None),
            (r#"{"urls": {"oauth": "/a b"}}"#, None),
            (r#"{"urls": {}}"#, None),
            ("<html>", None),
        ] {
            assert_eq!(discovered(body.as_bytes()).as_deref(), path, "{body}");
        }
    }

    #[test]
    fn a_refusal_is_shown_in_the_targets_words() {
        assert_eq!(said(br#"{"error": "invalid_client"}"#), " (invalid_client)");
        assert_eq!(said(b"<html>"), "");
    }

    #[test]
    fn neither_secret_nor_token_is_shown() {
        let key = Key { id: "the-key".into(), secret: "the-secret".into() };
        let token = Token { text: "the-token".into(), lifetime: USUAL_LIFETIME };

        let shown = format!("{key:?} {token:?}");

        assert!(!shown.contains("the-"), "{shown}");
    }
}
