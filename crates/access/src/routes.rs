//! The routes of this part.

use std::sync::Arc;

use homeroom_http::{BodyLimits, Guard, Kind, Problem, Response, Route, Timestamp, handler};
use http::{HeaderValue, Method, StatusCode, header};

use crate::access::Access;
use crate::client::{ApiClient, Call, Scope};
use crate::introspect::{INTROSPECT, post_introspect};
use crate::login::RefusedLogin;
use crate::lookups::LookupsFull;
use crate::metadata::{KEYS, METADATA, get_keys, get_metadata};
use crate::oauth::{OAUTH, OAuthError, TOKEN, TokenRequest, issued};
use crate::recognize::{Asked, IssuedToken, TokenRefusal};
use crate::recognized::changing;
use crate::revoke::{REVOKE, post_revoke};

/// Most bytes of the body of a request about a token.
pub const TOKEN_REQUEST_BYTES_MAX: usize = 16 << 10;

/// Where clients of the Admin API get tokens.
const ADMIN_TOKEN: &str = "/adminapi/connect/token";

/// The scope that clients of the Ed-Fi Admin API ask for.
const ADMIN_SCOPE: &str = "edfi_admin_api/full_access";

const NOT_ITS_SCOPE: &str = "A scope must be the id of one of the key's education organizations, one of its \
                             scopes, or one that it has for published APIs.";

const NOT_THE_ADMIN_SCOPE: &str = "A scope must be edfi_admin_api/full_access.";

/// Returns the routes of this part. The route of `/oauth/token_info` belongs to the part that knows
/// documents; it answers with a [`TokenInfo`](crate::TokenInfo).
pub fn routes(access: &Arc<Access>) -> Vec<Route<ApiClient>> {
    let route = |method: Method, template: &'static str, handler| {
        Route::new(method, template, Guard::Public, handler)
            .with_body(BodyLimits::of_bytes(TOKEN_REQUEST_BYTES_MAX))
    };
    vec![
        route(Method::POST, TOKEN, handler(access, post_token)).refused_as(&OAUTH),
        route(Method::POST, ADMIN_TOKEN, handler(access, post_admin_token)).refused_as(&OAUTH),
        route(Method::POST, INTROSPECT, handler(access, post_introspect)).refused_as(&OAUTH),
        route(Method::POST, REVOKE, handler(access, post_revoke)).refused_as(&OAUTH),
        route(Method::GET, KEYS, handler(access, get_keys)),
        route(Method::GET, METADATA, handler(access, get_metadata)),
    ]
}

async fn post_token(access: Arc<Access>, mut call: Call) -> Result<Response, Problem> {
    let request = match token_request(&mut call).await? {
        Ok(request) => request,
        Err(error) => return Ok(malformed(&access, &call, TOKEN, error)),
    };
    let scope = request.scope.as_deref();
    let asked = Asked { scope, base_url: &call.base_url };
    let issued = issue(&access, &request, &asked, call.now).await;
    told(&access, &call, TOKEN, &request, &issued);
    access.naming(&request.key, answer(issued, scope, NOT_ITS_SCOPE))
}

/// Issues a token for the Admin API. It works as any other token, but only for management keys, and
/// its scopes are spelled as in the Admin API.
async fn post_admin_token(access: Arc<Access>, mut call: Call) -> Result<Response, Problem> {
    let request = match token_request(&mut call).await? {
        Ok(request) => request,
        Err(error) => return Ok(malformed(&access, &call, ADMIN_TOKEN, error)),
    };
    let mut scopes = request.scope.iter().flat_map(|scope| scope.split_whitespace());
    let issued = if scopes.all(|scope| scope == ADMIN_SCOPE) {
        let asked = Asked { scope: None, base_url: &call.base_url };
        issue(&access, &request, &asked, call.now).await
    } else {
        Err(TokenRefusal::Scope)
    };
    let is_admin = access.look_up(|registry| {
        let registered = registry.clients.get(&request.key);
        registered.is_some_and(|registered| registered.client.has_scope(Scope::Admin))
    });
    if issued.is_ok() && !is_admin {
        let reason = "the key is not for management";
        access.refused_token(&RefusedLogin::of(&call, ADMIN_TOKEN, reason), Some(&request.key));
        let refused = OAuthError::new(
            StatusCode::BAD_REQUEST,
            "unauthorized_client",
            "This key is not for management; the server's operator can create one with --scope \
             admin.",
        );
        return access.naming(&request.key, Ok(refused.into_response()));
    }
    told(&access, &call, ADMIN_TOKEN, &request, &issued);
    let answer = answer(issued, request.scope.as_deref(), NOT_THE_ADMIN_SCOPE);
    access.naming(&request.key, answer)
}

/// Logs a request that names no key and secret, and answers it.
fn malformed(access: &Access, call: &Call, route: &str, error: OAuthError) -> Response {
    access.refused_token(&RefusedLogin::of(call, route, "the request is malformed"), None);
    error.into_response()
}

/// Logs a refusal.
fn told(
    access: &Access,
    call: &Call,
    route: &str,
    request: &TokenRequest,
    issued: &Result<IssuedToken, TokenRefusal>,
) {
    let Err(refusal) = issued else { return };
    let reason = match refusal {
        TokenRefusal::Client => "the key is unknown, suspended or revoked, or its secret is wrong",
        TokenRefusal::Scope => "the key does not have the scope",
        TokenRefusal::InDoubt => "the outcome of a change of keys is unknown",
        TokenRefusal::TooMany(_) => "the key has too many live tokens",
        TokenRefusal::Lookups => "too many callers wait for unknown keys to be looked up",
        TokenRefusal::NoRandom => "the system provides no random bytes",
    };
    access.refused_token(&RefusedLogin::of(call, route, reason), Some(&request.key));
}

/// Issues a token; a key that is unknown is first looked up in the store.
async fn issue(
    access: &Access,
    request: &TokenRequest,
    asked: &Asked<'_>,
    now: Timestamp,
) -> Result<IssuedToken, TokenRefusal> {
    let issued = access.issue(&request.key, &request.shown, asked, now);
    match issued {
        Err(unknown @ (TokenRefusal::Client | TokenRefusal::Scope)) => {
            match access.catch_up().await {
                Ok(true) => access.issue(&request.key, &request.shown, asked, now),
                Ok(false) => Err(unknown),
                Err(LookupsFull) => Err(TokenRefusal::Lookups),
            }
        }
        issued => issued,
    }
}

/// Reads a token request. The inner error is an OAuth answer.
async fn token_request(call: &mut Call) -> Result<Result<TokenRequest, OAuthError>, Problem> {
    let body = call.read_body().await?;
    let content_type = call.header(header::CONTENT_TYPE.as_str());
    // A header that is not text counts as malformed, not as absent.
    let authorization =
        call.headers.get(header::AUTHORIZATION).map(|value| value.to_str().unwrap_or("Basic ?"));
    Ok(TokenRequest::read(authorization, content_type, &body, call.certificate))
}

fn answer(
    outcome: Result<IssuedToken, TokenRefusal>,
    scope: Option<&str>,
    wrong_scope: &str,
) -> Result<Response, Problem> {
    match outcome {
        Ok(token) => Ok(issued(&token, scope)),
        Err(TokenRefusal::Client) => Ok(OAuthError::invalid_client().into_response()),
        Err(TokenRefusal::Scope) => {
            Ok(OAuthError::new(StatusCode::BAD_REQUEST, "invalid_scope", wrong_scope)
                .into_response())
        }
        Err(TokenRefusal::TooMany(seconds)) => Err(Problem::of(Kind::TooManyTokens)
            .header(header::RETRY_AFTER, HeaderValue::from(seconds))),
        Err(TokenRefusal::InDoubt) => Err(changing()),
        Err(TokenRefusal::Lookups) => Err(LookupsFull.into()),
        Err(TokenRefusal::NoRandom) => {
            Err(Problem::internal("the system provides no random bytes"))
        }
    }
}
