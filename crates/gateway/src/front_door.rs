//! One request's way: id and moment, route, client, target, answer.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use homeroom_access::{Access as AccessPart, ApiClient, Call};
use homeroom_http::{Access, Kind, Params, Problem, RequestBody, Response, Route, Timestamp};
use http::header::{CONNECTION, HeaderName, HeaderValue};
use http::{HeaderMap, Method, StatusCode, request};
use http_body_util::Full;
use tokio::sync::{Semaphore, SemaphorePermit};

use crate::forwarded::base_url;
use crate::metrics::Metrics;
use crate::router::{RouteError, Router};
use crate::unread::Unread;

/// Header by which clients correlate; it comes back in body and header.
const CORRELATION_ID: HeaderName = HeaderName::from_static("correlationid");
/// Own id of a request.
const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// What the front door lets in.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Most requests that are answered at the same time; more are told 503 at once.
    pub in_flight: i64,
    /// Most bytes of all large bodies (of more than 64 KiB) that are held at the same time.
    pub body_bytes: usize,
    /// Most bytes of all large answers (of more than 64 KiB) that their callers have not taken yet.
    pub answer_bytes: usize,
    /// The same for the answers of public routes, so that strangers take no client's room.
    pub public_answer_bytes: usize,
    /// Whether `X-Forwarded-…` of a reverse proxy is believed.
    pub trust_forwarded: bool,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            in_flight: 4_096,
            body_bytes: 256 << 20,
            answer_bytes: 512 << 20,
            public_answer_bytes: 128 << 20,
            trust_forwarded: false,
        }
    }
}

/// The front door of a server.
pub struct FrontDoor {
    router: Router<ApiClient>,
    access: Arc<AccessPart>,
    metrics: Arc<Metrics>,
    limits: Limits,
    body_kib: Semaphore,
    unread: Unread,
    public_unread: Unread,
    strangers: Semaphore,
}

impl FrontDoor {
    /// Builds the front door over all parts' routes.
    ///
    /// # Errors
    ///
    /// [`RouteError`] when two routes contradict each other.
    pub fn new(
        routes: Vec<Route<ApiClient>>,
        access: Arc<AccessPart>,
        metrics: Arc<Metrics>,
        limits: Limits,
    ) -> Result<Self, RouteError> {
        let body_kib = Semaphore::new(limits.body_bytes / 1_024);
        let unread = Unread::new(limits.answer_bytes);
        let public_unread = Unread::new(limits.public_answer_bytes);
        Ok(Self {
            router: Router::new(routes)?,
            access,
            metrics,
            limits,
            body_kib,
            unread,
            public_unread,
            strangers: Semaphore::new(STRANGERS_MAX),
        })
    }

    /// All routes; a test walks them.
    pub fn routes(&self) -> &[Route<ApiClient>] {
        self.router.routes()
    }

    /// Answers a request.
    pub async fn answer(&self, head: request::Parts, body: RequestBody) -> Response {
        let begun = Instant::now();
        let request_id = request_id(&head.headers);
        let correlation_id = correlation_id(&head.headers).unwrap_or_else(|| request_id.clone());
        let method = known_method(&head.method);
        let is_head = head.method == Method::HEAD;
        let found = self.router.find(&head.method, head.uri.path());
        // Strangers who send no body hold no place that others need meanwhile.
        let body = match &found {
            Ok((route, _)) if is_read_first(route) => {
                self.read_first(&head.headers, body, route).await
            }
            _ => Ok(body),
        };
        let Some(in_flight) = self.metrics.begin(self.limits.in_flight) else {
            let problem = Problem::busy(1)
                .detail("The server answers as many requests as it can at this moment.");
            return finish(problem.into_response(&correlation_id), &request_id, &correlation_id);
        };
        let mut route = "";
        let mut client = None;
        let answered = match found {
            Ok((found, params)) => {
                route = found.template;
                let ids = (&*request_id, &*correlation_id);
                self.pass(found, params, head, body, ids, &mut client).await
            }
            Err(problem) => Err(problem),
        };
        let mut response = answered.unwrap_or_else(|problem| {
            if let Some(internal) = &problem.internal {
                tracing::error!(request_id, correlation_id, route, error = internal, "failed");
            }
            problem.into_response(&correlation_id)
        });
        if is_head {
            drop_body(&mut response);
        }
        let time = begun.elapsed();
        let status = response.status().as_u16();
        in_flight.end(method, route, status, time);
        tracing::debug!(
            method,
            route,
            status,
            client = client.as_deref(),
            micros = u64::try_from(time.as_micros()).unwrap_or(u64::MAX),
            request_id,
            correlation_id,
            "answered"
        );
        finish(response, &request_id, &correlation_id)
    }

    /// Refuses a request that is not understood well enough to be matched to a route, and lets the
    /// connection close.
    pub fn refuse(head: &request::Parts, problem: Problem) -> Response {
        let request_id = request_id(&head.headers);
        let correlation_id = correlation_id(&head.headers).unwrap_or_else(|| request_id.clone());
        let problem = problem.header(CONNECTION, HeaderValue::from_static("close"));
        finish(problem.into_response(&correlation_id), &request_id, &correlation_id)
    }

    /// Room for a large body, until the value goes; all large bodies together have a limit.
    fn room_for_body(&self, bytes: usize) -> Result<Option<SemaphorePermit<'_>>, Problem> {
        if bytes <= SMALL_BODY {
            return Ok(None);
        }
        let kib = u32::try_from(bytes.div_ceil(1_024)).unwrap_or(u32::MAX);
        self.body_kib.try_acquire_many(kib).map(Some).map_err(|_| {
            Problem::busy(1).detail("The server holds as many large request bodies as it can.")
        })
    }

    /// Reads a stranger's body.
    async fn read_first(
        &self,
        headers: &HeaderMap,
        body: RequestBody,
        route: &Route<ApiClient>,
    ) -> Result<RequestBody, Problem> {
        refuse_long_body(headers, route.body_limit)?;
        let _one = self.strangers.try_acquire().map_err(|_| {
            Problem::busy(1).detail("The server waits for as many request bodies as it can.")
        })?;
        let body = body.read_within(route.body_limit, STRANGERS_BODY_TIME_MAX).await;
        body.map(RequestBody::Bytes)
    }

    async fn pass(
        &self,
        route: &Route<ApiClient>,
        params: Params,
        head: request::Parts,
        body: Result<RequestBody, Problem>,
        (request_id, correlation_id): (&str, &str),
        key: &mut Option<String>,
    ) -> Result<Response, Problem> {
        let now = Timestamp::now();
        let body = body?;
        let client = match route.access {
            Access::Public => None,
            Access::Token { scope } => {
                let mut sent = head.headers.get_all(http::header::AUTHORIZATION).iter();
                let authorization = sent.next().map(|value| value.to_str().unwrap_or(""));
                // Of two, nobody knows which is meant: neither is looked at.
                let authorization = if sent.next().is_some() { Some("") } else { authorization };
                Some(self.access.recognize(authorization, scope, now)?)
            }
        };
        if let Some(client) = &client {
            *key = Some(client.key.clone());
        }
        refuse_long_body(&head.headers, route.body_limit)?;
        let bytes = bytes_of_body(&head.headers, &body, route.body_limit);
        let _room = self.room_for_body(bytes)?;
        let base_url = base_url(&head.headers, &head.uri, self.limits.trust_forwarded);
        let call = Call {
            path: head.uri.path().to_owned(),
            query: head.uri.query().unwrap_or("").to_owned(),
            method: head.method,
            headers: head.headers,
            params,
            client,
            request_id: request_id.to_owned(),
            correlation_id: correlation_id.to_owned(),
            base_url,
            now,
            body,
            body_limit: route.body_limit,
        };
        let answer = (route.handler)(call).await?;
        match route.access {
            Access::Public => self.public_unread.hold(answer),
            Access::Token { .. } => self.unread.hold(answer),
        }
    }
}

/// Whether a route's body is read before the request is counted: what anybody may send. Such bodies
/// are small.
fn is_read_first(route: &Route<ApiClient>) -> bool {
    route.access == Access::Public && route.method != Method::GET
}

/// Most bytes that a body can turn out to have.
fn bytes_of_body(headers: &HeaderMap, body: &RequestBody, limit: usize) -> usize {
    if body.is_empty() { 0 } else { content_length(headers).unwrap_or(limit).min(limit) }
}

/// Most bodies of strangers that are waited for at the same time.
const STRANGERS_MAX: usize = 16_384;
/// Longest wait for one of them.
const STRANGERS_BODY_TIME_MAX: Duration = Duration::from_secs(5);
/// Bodies up to this size are let in without being counted.
const SMALL_BODY: usize = 64 << 10;

/// What a request says of its body's length.
fn content_length(headers: &HeaderMap) -> Option<usize> {
    headers.get(http::header::CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}

/// Refuses a body that says of itself that it is too long, before any of it is read.
fn refuse_long_body(headers: &HeaderMap, limit: usize) -> Result<(), Problem> {
    if limit > 0 && content_length(headers).is_some_and(|length| length > limit) {
        return Err(Problem::of(Kind::PayloadTooLarge)
            .detail(format!("The request body is larger than the {limit} bytes allowed here.")));
    }
    Ok(())
}

/// The trace id of a `traceparent`, or a new id.
fn request_id(headers: &HeaderMap) -> String {
    headers
        .get("traceparent")
        .and_then(|value| value.to_str().ok())
        .and_then(|value| value.split('-').nth(1))
        .filter(|id| id.len() == 32 && id.bytes().all(|byte| byte.is_ascii_hexdigit()))
        .map_or_else(new_request_id, str::to_owned)
}

/// A new id: random for this process, then counted, so that no request waits for the system's
/// randomness.
fn new_request_id() -> String {
    static PROCESS: OnceLock<u64> = OnceLock::new();
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let process = PROCESS.get_or_init(|| uuid::Uuid::new_v4().as_u64_pair().0);
    format!("{process:016x}{:016x}", NEXT.fetch_add(1, Ordering::Relaxed))
}

/// The caller's correlation id: at most 128 printable characters.
fn correlation_id(headers: &HeaderMap) -> Option<String> {
    let id = headers.get(CORRELATION_ID)?.to_str().ok()?;
    let fits = !id.is_empty() && id.len() <= 128 && id.bytes().all(|byte| byte.is_ascii_graphic());
    fits.then(|| id.to_owned())
}

fn known_method(method: &Method) -> &'static str {
    match method.as_str() {
        "GET" => "GET",
        "HEAD" => "HEAD",
        "POST" => "POST",
        "PUT" => "PUT",
        "DELETE" => "DELETE",
        "PATCH" => "PATCH",
        "OPTIONS" => "OPTIONS",
        _ => "_OTHER",
    }
}

/// Takes the body away and says how long it is; that of a status without one has no length.
///
/// Source: RFC 9110 §8.6.
fn drop_body(response: &mut Response) {
    use hyper::body::Body as _;
    if !matches!(response.status(), StatusCode::NO_CONTENT | StatusCode::NOT_MODIFIED) {
        let length = response.body().size_hint().exact().unwrap_or(0);
        response.headers_mut().insert(http::header::CONTENT_LENGTH, HeaderValue::from(length));
    }
    *response.body_mut() = Full::default();
}

fn finish(mut response: Response, request_id: &str, correlation_id: &str) -> Response {
    let headers = response.headers_mut();
    headers.insert(http::header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.entry(http::header::REFERRER_POLICY).or_insert(HeaderValue::from_static("no-referrer"));
    if let Ok(id) = HeaderValue::from_str(request_id) {
        headers.insert(REQUEST_ID, id);
    }
    if let Ok(id) = HeaderValue::from_str(correlation_id) {
        headers.insert(CORRELATION_ID, id);
    }
    response
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;

    #[test]
    fn a_body_of_unknown_length_takes_the_room_of_the_longest() {
        let (some, none) = (Bytes::from_static(b"{}"), Bytes::new());
        let mut known = HeaderMap::new();
        known.insert(http::header::CONTENT_LENGTH, HeaderValue::from(100));
        let bytes = |headers: &HeaderMap, body: &Bytes, limit| {
            bytes_of_body(headers, &RequestBody::Bytes(body.clone()), limit)
        };

        assert_eq!(bytes(&known, &some, 1_000), 100);
        assert_eq!(bytes(&known, &some, 10), 10);
        assert_eq!(bytes(&HeaderMap::new(), &some, 1_000), 1_000);
        assert_eq!(bytes(&HeaderMap::new(), &none, 1_000), 0);
    }
}
