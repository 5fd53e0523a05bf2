//! Who sends a request: a stranger, a client with a key, or a caller whom the part recognizes.

use std::sync::Arc;
use std::time::Duration;

use crate::rate::Guesses;
use homeroom_access::{Access, ApiClient, Credentials, Unrecognized};
use homeroom_http::{
    BodyLimits, Credential, Fingerprint, Foreign, Guard, Known, PUBLIC_BODY_BYTES_MAX, Params,
    Problem, Query, RequestBody, Route, Timestamp, Vouched,
};
use http::header::{AUTHORIZATION, CONTENT_TYPE};
use http::{HeaderMap, HeaderValue, Method};

/// Longest wait for the body of a request whose sender is not known yet.
pub(crate) const STRANGERS_BODY_TIME_MAX: Duration = Duration::from_secs(5);

/// The sender of a request.
#[derive(Debug)]
pub(crate) enum Sender {
    /// Anyone, on a public route.
    Stranger,
    /// A client with a key.
    Client(Arc<ApiClient>),
    /// A caller whom the part has recognized.
    Known(Known<ApiClient>),
    /// A caller for whom another issuer vouches.
    Foreign(Arc<Foreign>),
}

impl Sender {
    /// Returns the client on whose behalf the request is sent.
    pub(crate) fn client(&self) -> Option<&Arc<ApiClient>> {
        match self {
            Self::Stranger | Self::Foreign(_) => None,
            Self::Client(client) => Some(client),
            Self::Known(known) => known.client.as_ref(),
        }
    }

    /// Returns the caller for whom another issuer vouches.
    pub(crate) fn foreign(&self) -> Option<&Arc<Foreign>> {
        match self {
            Self::Foreign(foreign) => Some(foreign),
            Self::Stranger | Self::Client(_) | Self::Known(_) => None,
        }
    }

    /// Returns the name that its shares are counted under; [`None`] for a stranger.
    pub(crate) fn name(&self) -> Option<&str> {
        match self {
            Self::Stranger => None,
            Self::Client(client) => Some(&client.key),
            Self::Known(known) => Some(&known.name),
            Self::Foreign(foreign) => Some(&foreign.name),
        }
    }
}

/// Returns whether the credentials of a request are in its body, which has to be read first.
pub(crate) fn is_in_body(
    route: &Route<ApiClient>,
    method: &Method,
    headers: &HeaderMap,
    certificate: Option<Fingerprint>,
) -> bool {
    let Guard::Key { by, .. } = route.guard else { return false };
    let certificate = certificate.filter(|_| by.contains(&Credential::Certificate));
    let is_form = || {
        let media = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or("");
        let media = media.split(';').next().unwrap_or("").trim();
        media.eq_ignore_ascii_case("application/x-www-form-urlencoded")
    };
    by.contains(&Credential::Form)
        && *method == Method::POST
        && Credentials::of(headers).with_certificate(certificate).is_empty()
        && is_form()
}

/// Recognizes the sender of a request by its headers, by what its connection has shown, or by its path.
///
/// # Errors
///
/// 401, 403 or 503; 429 for a secret that nobody has proved, of an address that may show no more of
/// them; on a route with secrets in the path, what its part says.
pub(crate) async fn recognize(
    access: &Access,
    route: &Route<ApiClient>,
    params: &Params,
    headers: &HeaderMap,
    certificate: Option<Fingerprint>,
    guesses: Guesses,
    now: Timestamp,
) -> Result<Sender, Problem> {
    match route.guard {
        Guard::Public => Ok(Sender::Stranger),
        Guard::Token { scope } => {
            if let Some(voucher) = &route.voucher
                && let Some(token) = bearer(headers)
            {
                match voucher(token, now) {
                    Vouched::No => {}
                    Vouched::Known(foreign) => return Ok(Sender::Foreign(foreign)),
                    Vouched::Asking(asking) => return Ok(Sender::Foreign(asking.await?)),
                }
            }
            let credentials = Credentials::of(headers);
            client(access, &[Credential::Bearer], &credentials, scope, guesses, now).await
        }
        Guard::Key { scope, by } => {
            let credentials = Credentials::of(headers).with_certificate(certificate);
            client(access, by, &credentials, scope, guesses, now).await
        }
        Guard::Secret => {
            let recognizer = route.recognizer.as_ref();
            let recognizer = recognizer.expect("the router refuses such routes without one");
            Ok(Sender::Known(recognizer(params.clone(), now).await?))
        }
    }
}

/// Reads the form of a request and recognizes its sender by the `Authorization` in it, which becomes one
/// of its headers: the part recognizes the sender again by them. Returns the body too, for the part.
///
/// # Errors
///
/// The same as [`recognize`], and those of reading a body.
pub(crate) async fn recognize_in_body(
    access: &Access,
    route: &Route<ApiClient>,
    headers: &mut HeaderMap,
    body: RequestBody,
    guesses: Guesses,
    now: Timestamp,
) -> Result<(Sender, RequestBody), Problem> {
    let limits = BodyLimits { bytes: PUBLIC_BODY_BYTES_MAX.min(route.body.bytes), ..route.body };
    let body = body.read(limits.within(STRANGERS_BODY_TIME_MAX)).await?;
    let form = std::str::from_utf8(&body).ok().and_then(|text| Query::read(text).ok());
    let authorization = form.as_ref().and_then(|form| form.get("Authorization")).unwrap_or("");
    let Guard::Key { scope, by } = route.guard else { return Ok((Sender::Stranger, body.into())) };
    let credentials = Credentials::of_authorization(authorization);
    let sender = client(access, by, &credentials, scope, guesses, now).await?;
    if let Ok(value) = HeaderValue::from_str(authorization) {
        headers.insert(AUTHORIZATION, value);
    }
    Ok((sender, body.into()))
}

/// Returns the bearer token of a request that has exactly one `Authorization`.
fn bearer(headers: &HeaderMap) -> Option<&str> {
    let mut sent = headers.get_all(AUTHORIZATION).iter();
    let (first, None) = (sent.next()?, sent.next()) else { return None };
    let (scheme, token) = first.to_str().ok()?.trim().split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim_start())
}

async fn client(
    access: &Access,
    by: &[Credential],
    credentials: &Credentials,
    scope: &str,
    guesses: Guesses,
    now: Timestamp,
) -> Result<Sender, Problem> {
    if access.is_unproven_secret(by, credentials, now) {
        guesses.admit()?;
    }
    let client = match access.recognize_by(by, credentials, scope, now) {
        Err(Unrecognized::Unknown(problem)) => {
            // Seldom, and large.
            if !Box::pin(access.catch_up()).await? {
                return Err(problem);
            }
            access.recognize_by(by, credentials, scope, now)
        }
        recognized => recognized,
    };
    Ok(Sender::Client(client?))
}
