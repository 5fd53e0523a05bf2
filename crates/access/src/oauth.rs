//! The token request and its errors.
//!
//! Source: RFC 6749 §2.3.1 (client password), §4.4 (client credentials), §5 (answers).

use std::borrow::Cow;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use homeroom_http::{Fingerprint, Kind, Problem, Query, Refusals, Response, json_response};
use http::{HeaderValue, StatusCode, header};
use serde_json::{Value, json};

use crate::recognize::{IssuedToken, Shown};
use crate::secret::Secret;

/// The path at which clients get tokens.
pub(crate) const TOKEN: &str = "/oauth/token";

/// A client's request to the token endpoint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TokenRequest {
    pub(crate) key: String,
    /// What it shows to be the key's client.
    pub(crate) shown: Shown,
    /// An education organization that the token is to be restricted to.
    pub(crate) scope: Option<String>,
}

/// A client's question about a token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TokenQuestion {
    pub(crate) key: String,
    /// What it shows to be the key's client.
    pub(crate) shown: Shown,
    /// The token that it asks about.
    pub(crate) token: String,
}

/// Why no token was issued, as RFC 6749 §5.2 words it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct OAuthError {
    pub(crate) status: StatusCode,
    pub(crate) error: &'static str,
    pub(crate) description: String,
}

impl OAuthError {
    pub(crate) fn new(status: StatusCode, error: &'static str, description: &str) -> Self {
        Self { status, error, description: description.to_owned() }
    }

    /// Returns 400 `invalid_request`.
    pub(crate) fn invalid_request(description: &str) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "invalid_request", description)
    }

    /// Returns 401 `invalid_client`, the same for an unknown key, a wrong secret or certificate, and a
    /// revoked key.
    pub(crate) fn invalid_client() -> Self {
        Self::new(
            StatusCode::UNAUTHORIZED,
            "invalid_client",
            "The key, or its secret or certificate, is wrong.",
        )
    }

    pub(crate) fn into_response(self) -> Response {
        let description = allowed(&self.description);
        let body = json!({"error": self.error, "error_description": description});
        let mut response = uncached(self.status, &body);
        if self.status == StatusCode::UNAUTHORIZED {
            let challenge = HeaderValue::from_static(r#"Basic realm="homeroom""#);
            response.headers_mut().insert(header::WWW_AUTHENTICATE, challenge);
        }
        response
    }
}

/// The form in which whatever is wrong with a token request is told, even before it is read. A client
/// that knows the Ed-Fi problems finds their `type` beside the members of the standard.
pub(crate) static OAUTH: Refusals = Refusals { prefix: "", answer: refused };

fn refused(problem: Problem, correlation_id: &str) -> Response {
    let detail = problem.detail.as_deref().unwrap_or_else(|| problem.kind.detail());
    let sentences = [detail].into_iter().chain(problem.errors.iter().map(String::as_str));
    let description = sentences.chain(problem.hint.as_deref()).collect::<Vec<_>>().join(" ");
    let body = json!({
        "error": error_of(problem.kind),
        "error_description": allowed(&description),
        "type": problem.kind.urn(),
        "correlationId": correlation_id,
    });
    let mut response = uncached(problem.kind.status(), &body);
    for (name, value) in &problem.headers {
        response.headers_mut().append(name, value.clone());
    }
    response
}

/// Returns the error code for a refusal. The last two are those of the authorization endpoint, since
/// the token endpoint has none for a server that cannot answer.
///
/// Source: RFC 6749 §5.2, §4.1.2.1.
fn error_of(kind: Kind) -> &'static str {
    match kind.status() {
        StatusCode::UNAUTHORIZED => "invalid_client",
        StatusCode::FORBIDDEN => "unauthorized_client",
        StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE => {
            "temporarily_unavailable"
        }
        status if status.is_server_error() => "server_error",
        _ => "invalid_request",
    }
}

/// Returns a description with only the characters that one may have.
///
/// Source: RFC 6749 §5.2.
fn allowed(description: &str) -> String {
    let allowed = |c| match c {
        '"' | '\\' => '\'',
        ' '..='~' => c,
        _ => '?',
    };
    description.chars().map(allowed).collect()
}

/// Returns the answer with a new token, and the scope that it was requested with.
pub(crate) fn issued(issued: &IssuedToken, scope: Option<&str>) -> Response {
    let mut body = json!({
        "access_token": issued.token.expose(),
        "expires_in": issued.expires_in,
        "token_type": "bearer",
    });
    if let Some(scope) = scope.map(str::trim).filter(|scope| !scope.is_empty()) {
        body["scope"] = scope.into();
    }
    uncached(StatusCode::OK, &body)
}

/// Returns an answer that no cache may keep.
pub(crate) fn uncached(status: StatusCode, body: &Value) -> Response {
    let mut response = json_response(status, body.to_string());
    let headers = response.headers_mut();
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(header::PRAGMA, HeaderValue::from_static("no-cache"));
    response
}

impl TokenRequest {
    /// Reads a request. Credentials are in a Basic header or in the body, not both; the body is a
    /// form or JSON. A key without a secret counts with the certificate of its connection.
    ///
    /// # Errors
    ///
    /// Answers like the Ed-Fi ODS/API, in its order: the header first, then the grant type, then
    /// missing members.
    pub(crate) fn read(
        authorization: Option<&str>,
        content_type: Option<&str>,
        body: &[u8],
        certificate: Option<Fingerprint>,
    ) -> Result<Self, OAuthError> {
        let fields =
            Fields::read(content_type, body).map_err(|e| OAuthError::invalid_request(&e))?;
        let basic = basic_of(authorization, &fields)?;
        if fields.get("grant_type") != Some("client_credentials") {
            return Err(OAuthError::new(
                StatusCode::BAD_REQUEST,
                "unsupported_grant_type",
                "Send grant_type=client_credentials; no other grant type is supported.",
            ));
        }
        let (key, shown) = client_of(basic, &fields, certificate)?;
        let scope = fields.get("scope").map(String::from);
        Ok(Self { key, shown, scope })
    }
}

impl TokenQuestion {
    /// Reads a question. Credentials are where they are in a [`TokenRequest`].
    ///
    /// # Errors
    ///
    /// 400 `invalid_request` without a token, and the errors of credentials.
    pub(crate) fn read(
        authorization: Option<&str>,
        content_type: Option<&str>,
        body: &[u8],
        certificate: Option<Fingerprint>,
    ) -> Result<Self, OAuthError> {
        let fields =
            Fields::read(content_type, body).map_err(|e| OAuthError::invalid_request(&e))?;
        let basic = basic_of(authorization, &fields)?;
        let (key, shown) = client_of(basic, &fields, certificate)?;
        let missing = || OAuthError::invalid_request("Send the token as token=TOKEN.");
        let token = fields.get("token").ok_or_else(missing)?.to_owned();
        Ok(Self { key, shown, token })
    }
}

/// Returns key and secret of a Basic header, beside which the body may have none.
fn basic_of(
    authorization: Option<&str>,
    fields: &Fields,
) -> Result<Option<(String, String)>, OAuthError> {
    let basic = authorization.map(basic_credentials).transpose()?;
    let is_in_body = fields.get("client_id").or(fields.get("client_secret")).is_some();
    if basic.is_some() && is_in_body {
        return Err(OAuthError::new(
            StatusCode::BAD_REQUEST,
            "invalid_client",
            "Send the credentials in the Authorization header or in the body, not in both.",
        ));
    }
    Ok(basic)
}

/// Returns the key of a request, and what it shows to be the key's client.
fn client_of(
    basic: Option<(String, String)>,
    fields: &Fields,
    certificate: Option<Fingerprint>,
) -> Result<(String, Shown), OAuthError> {
    let in_body = (fields.get("client_id"), fields.get("client_secret"));
    match (basic, in_body, certificate) {
        (Some((key, secret)), ..) => Ok((key, Shown::Secret(Secret::new(secret)))),
        (None, (Some(key), Some(secret)), _) => {
            Ok((key.to_owned(), Shown::Secret(Secret::new(secret))))
        }
        (None, (Some(key), None), Some(certificate)) => {
            Ok((key.to_owned(), Shown::Certificate(certificate)))
        }
        _ => Err(OAuthError::new(
            StatusCode::UNAUTHORIZED,
            "invalid_request",
            "Send key and secret, as a Basic Authorization header or as client_id and \
             client_secret in the body; or connect with a certificate and send client_id.",
        )),
    }
}

fn basic_credentials(header: &str) -> Result<(String, String), OAuthError> {
    let (scheme, encoded) = header.trim().split_once(' ').unwrap_or((header.trim(), ""));
    if !scheme.eq_ignore_ascii_case("Basic") {
        return Err(OAuthError::new(
            StatusCode::UNAUTHORIZED,
            "invalid_client",
            "The Authorization header of a token request must use the Basic scheme.",
        ));
    }
    if encoded.trim().is_empty() {
        return Err(OAuthError::new(
            StatusCode::UNAUTHORIZED,
            "invalid_client",
            "The Basic Authorization header has nothing after Basic.",
        ));
    }
    let decoded =
        BASE64.decode(encoded.trim()).ok().and_then(|bytes| String::from_utf8(bytes).ok());
    let pair = decoded.as_deref().and_then(|text| text.split_once(':'));
    match pair {
        Some((key, secret)) if !key.is_empty() && !secret.is_empty() => {
            Ok((key.to_owned(), secret.to_owned()))
        }
        _ => Err(OAuthError::invalid_request(
            "The Basic Authorization header must be the base64 of KEY:SECRET.",
        )),
    }
}

/// Members of a body, which is a form or a flat JSON object. Empty ones count as absent.
#[derive(Debug)]
pub(crate) struct Fields(Vec<(String, String)>);

impl Fields {
    /// Reads a body by its media type; without one, a body that starts with `{` is read as JSON.
    pub(crate) fn read(content_type: Option<&str>, body: &[u8]) -> Result<Self, String> {
        let text = std::str::from_utf8(body).map_err(|_| "The body is not UTF-8.")?;
        let media = content_type.and_then(|media| media.split(';').next()).map(str::trim);
        let is_json = match media.map(str::to_ascii_lowercase).as_deref() {
            Some("application/json") => true,
            Some("application/x-www-form-urlencoded") => false,
            None | Some("") => text.trim_start().starts_with('{'),
            Some(other) => {
                return Err(format!(
                    "The body is {other}; send application/x-www-form-urlencoded or application/json."
                ));
            }
        };
        let pairs = if is_json { json_pairs(text)? } else { form_pairs(text)? };
        for (at, (name, _)) in pairs.iter().enumerate() {
            if pairs[..at].iter().any(|(earlier, _)| earlier.eq_ignore_ascii_case(name)) {
                return Err(format!("The parameter {name} is given twice."));
            }
        }
        Ok(Self(pairs))
    }

    /// Returns a member by its name, in any case.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        let found = self.0.iter().find(|(found, _)| found.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_str()).filter(|value| !value.is_empty())
    }
}

fn form_pairs(text: &str) -> Result<Vec<(String, String)>, String> {
    let form =
        Query::read(text.trim()).map_err(|error| format!("The form cannot be read: {error}."))?;
    Ok(form.iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect())
}

/// The text without a comma after its last member, which is allowed in documents, too.
fn without_last_comma(text: &str) -> Cow<'_, str> {
    let members = text.trim_end().strip_suffix('}').map(str::trim_end);
    match members.and_then(|members| members.strip_suffix(',')) {
        Some(members) if !members.trim_end().ends_with([',', '{']) => format!("{members}}}").into(),
        _ => text.into(),
    }
}

fn json_pairs(text: &str) -> Result<Vec<(String, String)>, String> {
    let body: Value = serde_json::from_str(&without_last_comma(text))
        .map_err(|error| format!("The body is not valid JSON at line {}.", error.line()))?;
    let Value::Object(members) = body else { return Err("The body is not a JSON object.".into()) };
    let mut pairs = vec![];
    for (name, value) in members {
        match value {
            Value::Null => {}
            Value::String(text) => pairs.push((name, text)),
            Value::Number(number) => pairs.push((name, number.to_string())),
            Value::Bool(_) | Value::Array(_) | Value::Object(_) => {
                return Err(format!("The member {name} must be a string."));
            }
        }
    }
    Ok(pairs)
}

#[cfg(test)]
mod tests {
    use super::*;

    const FORM: Option<&str> = Some("application/x-www-form-urlencoded");
    const JSON: Option<&str> = Some("application/json; charset=utf-8");

    fn basic(pair: &str) -> String {
        format!("Basic {}", BASE64.encode(pair))
    }

    #[test]
    fn credentials_are_read_from_the_header_or_from_either_body() {
        let expected =
            TokenRequest { key: "k".into(), shown: Shown::Secret(Secret::new("s:1")), scope: None };
        // A certificate does not count where there is a secret.
        let certificate = Some(Fingerprint::of(b"c"));
        let header = basic("k:s:1");
        for (authorization, media, body) in [
            (Some(header.as_str()), FORM, "grant_type=client_credentials"),
            (Some(&header), JSON, r#"{"grant_type": "client_credentials"}"#),
            (Some(&header), None, r#" {"Grant_type": "client_credentials", "scope": null}"#),
            (Some(&header), None, "grant_type=client_credentials&client_id=&scope="),
            (None, FORM, "client_id=k&client_secret=s%3A1&grant_type=client_credentials"),
            (
                None,
                JSON,
                r#"{"client_id":"k","client_secret":"s:1","grant_type":"client_credentials"}"#,
            ),
        ] {
            for certificate in [None, certificate] {
                let body = body.as_bytes();
                let request = TokenRequest::read(authorization, media, body, certificate);

                assert_eq!(request.as_ref(), Ok(&expected), "{body:?}");
            }
        }
    }

    #[test]
    fn each_fault_has_the_status_and_error_of_the_contract() {
        const GRANT: &str = "grant_type=client_credentials";
        let header = basic("k:s");
        let wrong_pairs = [basic("ks"), basic(":s"), basic("k:"), "Basic ?".into()];
        for wrong in &wrong_pairs {
            let error = TokenRequest::read(Some(wrong), FORM, GRANT.as_bytes(), None).unwrap_err();
            assert_eq!((error.status.as_u16(), error.error), (400, "invalid_request"), "{wrong}");
        }
        for (authorization, media, body, status, expected) in [
            (Some("Bearer x"), FORM, GRANT, 401, "invalid_client"),
            (Some("Basic"), FORM, GRANT, 401, "invalid_client"),
            (Some("Basic  "), FORM, GRANT, 401, "invalid_client"),
            (None, FORM, GRANT, 401, "invalid_request"),
            (None, FORM, "grant_type=client_credentials&client_id=k", 401, "invalid_request"),
            (
                Some(&header),
                FORM,
                "grant_type=client_credentials&client_id=k",
                400,
                "invalid_client",
            ),
            (Some(&header), FORM, "grant_type=password", 400, "unsupported_grant_type"),
            (Some(&header), FORM, "", 400, "unsupported_grant_type"),
            (Some(&header), JSON, "{", 400, "invalid_request"),
            (Some(&header), JSON, "[]", 400, "invalid_request"),
            (
                Some(&header),
                JSON,
                r#"{"grant_type": ["client_credentials"]}"#,
                400,
                "invalid_request",
            ),
            (Some(&header), FORM, "grant_type=a&grant_type=b", 400, "invalid_request"),
            (Some(&header), FORM, "grant_type=%ff", 400, "invalid_request"),
            (Some(&header), Some("text/xml"), GRANT, 400, "invalid_request"),
        ] {
            let error =
                TokenRequest::read(authorization, media, body.as_bytes(), None).unwrap_err();

            assert_eq!((error.status.as_u16(), error.error), (status, expected), "{body}");
        }
    }

    #[test]
    fn a_key_without_a_secret_counts_with_the_certificate_of_its_connection() {
        let certificate = Fingerprint::of(b"c");
        let read = |body: &str, shown| TokenRequest::read(None, FORM, body.as_bytes(), shown);

        let body = "grant_type=client_credentials&client_id=k";
        let request = read(body, Some(certificate)).unwrap();
        assert_eq!((&*request.key, request.shown), ("k", Shown::Certificate(certificate)));
        assert_eq!(read(body, None).unwrap_err().error, "invalid_request");
        let anonymous = read("grant_type=client_credentials", Some(certificate));
        assert_eq!(anonymous.unwrap_err().error, "invalid_request");
    }

    #[test]
    fn a_401_says_how_to_authenticate_and_nothing_is_cached() {
        let response = OAuthError::invalid_client().into_response();

        assert_eq!(response.status(), 401);
        assert!(response.headers()["www-authenticate"].to_str().unwrap().starts_with("Basic"));
        assert_eq!(response.headers()["cache-control"], "no-store");
    }

    #[test]
    fn every_kind_of_refusal_has_the_members_of_the_standard_and_keeps_its_headers() {
        for kind in Kind::ALL {
            let problem = Problem::of(*kind).error("A \"name\" of \u{e9}.").hint("Mend \\ it.");
            let problem = problem.header(header::RETRY_AFTER, 3.into());

            let response = refused(problem, "c-1");

            assert_eq!(response.status(), kind.status(), "{kind:?}");
            assert_eq!(response.headers()["retry-after"], "3", "{kind:?}");
            assert_eq!(response.headers()["cache-control"], "no-store", "{kind:?}");
            let media = response.headers()["content-type"].to_str().unwrap();
            assert!(media.starts_with("application/json"), "{kind:?}: {media}");
        }
        for (kind, error) in [
            (Kind::BadRequest, "invalid_request"),
            (Kind::AuthenticationFailed, "invalid_client"),
            (Kind::AccessDenied, "unauthorized_client"),
            (Kind::MethodNotAllowed, "invalid_request"),
            (Kind::RequestTimeout, "invalid_request"),
            (Kind::PayloadTooLarge, "invalid_request"),
            (Kind::UnsupportedMediaType, "invalid_request"),
            (Kind::TooManyTokens, "temporarily_unavailable"),
            (Kind::Internal, "server_error"),
            (Kind::ServiceUnavailable, "temporarily_unavailable"),
        ] {
            assert_eq!(error_of(kind), error, "{kind:?}");
        }
        assert_eq!(allowed("A \"name\" of \u{e9},\n\\."), "A 'name' of ?,?'.");
    }
}
