//! Tells a client whether a token of this server is valid, and whose it is.
//!
//! A client learns of its own tokens; one with the scope `admin` learns of all. Every other token is to it as
//! one that does not exist.
//!
//! Source: RFC 7662 §2 (introspection), §4 (tokens must not be found out by asking).

use std::sync::Arc;

use homeroom_http::{Kind, Problem, Response, Timestamp};
use http::{StatusCode, header};
use serde_json::{Value, json};

use crate::access::Access;
use crate::client::{ANY_SCOPE, ApiClient, Call, Scope};
use crate::login::RefusedLogin;
use crate::oauth::{OAuthError, TokenQuestion, uncached};
use crate::recognize::TokenRefusal;
use crate::recognized::changing;

/// The path of introspection.
pub(crate) const INTROSPECT: &str = "/oauth/introspect";

/// Answers a question about a token.
///
/// # Errors
///
/// 503 while the outcome of a change is unknown, and those of reading a body.
pub(crate) async fn post_introspect(
    access: Arc<Access>,
    mut call: Call,
) -> Result<Response, Problem> {
    let asker = match asker(&access, &mut call, INTROSPECT).await {
        Ok(asker) => asker,
        Err(answer) => return answer,
    };
    let answer = told(&access, &asker.client, &asker.token, call.now);
    access.naming(&asker.client.key, answer.map(|told| uncached(StatusCode::OK, &told)))
}

/// A client that has shown who it is, and the token that its request is about.
pub(crate) struct Asker {
    pub(crate) client: Arc<ApiClient>,
    pub(crate) token: String,
}

/// Reads a request about a token.
///
/// # Errors
///
/// If the caller is no client, the error is the answer that it gets.
pub(crate) async fn asker(
    access: &Access,
    call: &mut Call,
    route: &'static str,
) -> Result<Asker, Result<Response, Problem>> {
    let body = call.read_body().await.map_err(Err)?;
    let content_type = call.header(header::CONTENT_TYPE.as_str());
    let authorization =
        call.headers.get(header::AUTHORIZATION).map(|value| value.to_str().unwrap_or("Basic ?"));
    let question = TokenQuestion::read(authorization, content_type, &body, call.certificate);
    let TokenQuestion { key, shown, token } =
        question.map_err(|error| Ok(error.into_response()))?;
    let mut asker = access.authenticate(&key, &shown, call.now);
    if matches!(asker, Err(TokenRefusal::Client))
        && access.catch_up().await.map_err(|full| Err(full.into()))?
    {
        asker = access.authenticate(&key, &shown, call.now);
    }
    let answer = match asker {
        Ok(asker) => return Ok(Asker { client: asker.client, token }),
        Err(TokenRefusal::InDoubt) => Err(changing()),
        Err(_) => {
            let reason = "the key is unknown, suspended or revoked, or its secret is wrong";
            access.refused_token(&RefusedLogin::of(call, route, reason), Some(&key));
            Ok(OAuthError::invalid_client().into_response())
        }
    };
    Err(access.naming(&key, answer))
}

fn told(access: &Access, asker: &ApiClient, token: &str, now: Timestamp) -> Result<Value, Problem> {
    let inactive = json!({"active": false});
    let token = token.trim();
    let Ok(claims) = access.tokens.verify(token, now) else { return Ok(inactive) };
    if claims.sub != asker.key && !asker.has_scope(Scope::Admin) {
        return Ok(inactive);
    }
    match access.recognize(Some(&format!("Bearer {token}")), ANY_SCOPE, now) {
        Ok(client) => {
            let subscribed = access.subscribed(&client.key);
            let mut scopes: Vec<&str> = client.scopes.iter().map(|scope| scope.name()).collect();
            if client.has_scope(Scope::Apis) {
                let is_held = |scope: &&str| {
                    client.held_to.as_ref().is_none_or(|held| held.iter().any(|word| word == scope))
                };
                scopes.extend(subscribed.scopes.iter().map(String::as_str).filter(is_held));
            }
            let mut told = json!({
                "active": true,
                "client_id": client.key,
                "sub": client.key,
                "scope": scopes.join(" "),
                "token_type": "bearer",
                "iat": claims.iat,
                "exp": claims.exp,
                "jti": claims.jti,
            });
            if let Some(issuer) = claims.iss {
                told["iss"] = issuer.into();
                told["aud"] = claims.aud.into();
            }
            Ok(told)
        }
        Err(problem) if problem.kind == Kind::ServiceUnavailable => Err(problem),
        Err(_) => Ok(inactive),
    }
}
