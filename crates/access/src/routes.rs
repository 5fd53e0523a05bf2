//! The addresses of this part.

use std::sync::Arc;

use homeroom_http::{Access as Entry, Kind, Problem, Response, Route, handler, json_response};
use http::{HeaderValue, Method, StatusCode, header};

use crate::access::Access;
use crate::client::{ApiClient, Call};
use crate::oauth::{Fields, OAuthError, TokenRequest, issued, uncached};
use crate::recognize::{ANY_SCOPE, TokenRefusal, bearer_token};
use crate::token_info::token_info;

/// Most bytes of a body.
const BODY_LIMIT: usize = 16 << 10;

/// The routes of this part.
pub fn routes(access: &Arc<Access>) -> Vec<Route<ApiClient>> {
    let route = |method: Method, template: &'static str, entry: Entry, handler| Route {
        method,
        template,
        access: entry,
        body_limit: BODY_LIMIT,
        handler,
    };
    let recognized = Entry::Token { scope: ANY_SCOPE };
    vec![
        route(Method::POST, "/oauth/token", Entry::Public, handler(access, post_token)),
        route(Method::POST, "/oauth/token_info", recognized, handler(access, post_token_info)),
        route(Method::GET, "/.well-known/jwks.json", Entry::Public, handler(access, get_keys)),
    ]
}

async fn post_token(access: Arc<Access>, mut call: Call) -> Result<Response, Problem> {
    let body = call.read_body().await?;
    let content_type = call.header(header::CONTENT_TYPE.as_str());
    // A header that is no text is one in a bad form, not one that is absent.
    let authorization =
        call.headers.get(header::AUTHORIZATION).map(|value| value.to_str().unwrap_or("Basic ?"));
    let request = match TokenRequest::read(authorization, content_type, &body) {
        Ok(request) => request,
        Err(error) => return Ok(error.into_response()),
    };
    let scope = request.scope.as_deref();
    match access.issue(&request.key, &request.secret, scope, call.now) {
        Ok(token) => Ok(issued(&token)),
        Err(TokenRefusal::Client) => Ok(OAuthError::invalid_client().into_response()),
        Err(TokenRefusal::Scope) => Ok(OAuthError::new(
            StatusCode::BAD_REQUEST,
            "invalid_scope",
            "The scope, where one is sent, is the id of one of the key's education organizations.",
        )
        .into_response()),
        Err(TokenRefusal::TooMany(seconds)) => Err(Problem::of(Kind::TooManyTokens)
            .header(header::RETRY_AFTER, HeaderValue::from(seconds))),
        Err(TokenRefusal::NoRandom) => Err(Problem::internal("the system gives no random bytes")),
    }
}

async fn post_token_info(access: Arc<Access>, mut call: Call) -> Result<Response, Problem> {
    let body = call.read_body().await?;
    let bearer = bearer_token(call.header(header::AUTHORIZATION.as_str()))?;
    let fields = Fields::read(call.header(header::CONTENT_TYPE.as_str()), &body)
        .map_err(|what| Problem::of(Kind::BadRequest).error(what))?;
    let Some(token) = fields.get("token") else {
        return Err(Problem::of(Kind::BadRequest)
            .error("The body needs the token as its member `token`.")
            .hint("Send `token=TOKEN` as a form or `{\"token\": \"TOKEN\"}` as JSON."));
    };
    if token.trim() != bearer {
        return Err(Problem::of(Kind::BadRequest)
            .error("The token in the body is not the one in the Authorization header."));
    }
    let expires = access
        .tokens
        .verify(bearer, call.now)
        .map_err(|error| Problem::of(Kind::AuthenticationFailed).error(error.to_string()))?
        .exp;
    let client = call.client();
    let known = match access.education_organizations() {
        Some(known) => known.find(&client.education_organizations).await?,
        None => vec![],
    };
    Ok(uncached(StatusCode::OK, &token_info(&access.model, client, &known, expires)))
}

async fn get_keys(access: Arc<Access>, _call: Call) -> Result<Response, Problem> {
    Ok(json_response(StatusCode::OK, access.tokens.key_set().to_string()))
}
