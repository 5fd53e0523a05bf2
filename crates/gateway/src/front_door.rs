//! A request's path through the server: id and time, route, client, target, answer.

use std::net::IpAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use bytes::Bytes;
use homeroom_access::{Access as AccessPart, ApiClient, Call};
use homeroom_http::{
    Access, Kind, Params, Problem, Query, RequestBody, Response, Route, Timestamp,
};
use homeroom_store::{Kept, keeping};
use http::header::{CONNECTION, HeaderName, HeaderValue};
use http::{HeaderMap, Method, StatusCode, Version, request};
use http_body_util::Full;
use hyper::body::Body as _;
use tokio::sync::Semaphore;

use crate::budget::{Holders, Kind as HolderKind, Pot, Refused, Taken};
use crate::budgets::Budgets;
use crate::caller::{Caller, Callers};
use crate::forwarded::{base_url, client_address, host};
use crate::metrics::Metrics;
use crate::router::{RouteError, Router};
use crate::visit::Visit;

/// Header by which clients correlate; it is returned in the body and as a header.
const CORRELATION_ID: HeaderName = HeaderName::from_static("correlationid");
/// An alternative spelling of the same header.
const CORRELATION_ID_TOO: HeaderName = HeaderName::from_static("correlation-id");
/// The same as a query parameter, matched in any case.
const CORRELATION_PARAMETER: &str = "correlationId";
/// Header that carries the server's own id of a request.
const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
/// Longest wait for a body on a public route.
const STRANGERS_BODY_TIME_MAX: Duration = Duration::from_secs(5);
/// Bytes counted for an open HTTP/2 request in addition to its header.
const STREAM_BYTES: u64 = 4 << 10;
/// Answers up to this size are not counted: a connection's own buffers are larger.
pub(crate) const SMALL_ANSWER: u64 = 16 << 10;
/// HTTP/2 answers up to this size are covered by what the open request takes. The limit is lower
/// because many answers can wait on one connection.
const SMALL_STREAM_ANSWER: u64 = 1 << 10;
/// Most KiB of answers that wait for room, for keys and for public routes.
const WAITING_KIB_MAX: usize = 64 << 10;
const PUBLIC_WAITING_KIB_MAX: usize = 16 << 10;
/// How often, and with what pause, an answer retries for room that stalled callers give back.
const ROOM_ROUNDS: u32 = 20;
const ROOM_PAUSE: Duration = Duration::from_millis(25);

/// Limits of the front door. Each limit that all requests share is a budget ([`Pot`]).
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Most connections.
    pub connections: usize,
    /// Most requests being processed at the same time; the rest are answered 503 at once. Four
    /// times as many may wait for their bodies.
    pub in_flight: u32,
    /// Most requests in flight that read lists of documents.
    pub lists: usize,
    /// Most requests in flight that write.
    pub writes: usize,
    /// Most bytes of open HTTP/2 requests, not counting their bodies.
    pub stream_bytes: usize,
    /// Most bytes of bodies on public routes.
    pub stranger_bytes: usize,
    /// Most bytes of all other bodies that do not arrive at once.
    pub body_bytes: usize,
    /// Most bytes of large answers (more than 16 KiB) that their callers have not read yet.
    pub answer_bytes: usize,
    /// The same for answers on public routes, so that callers without a token take no client's
    /// room.
    pub public_answer_bytes: usize,
    /// Whether the `X-Forwarded-…` headers of a reverse proxy are trusted.
    pub trust_forwarded: bool,
    /// Longest time that any large answer may take; its size adds to that.
    pub quiet: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: 16_384,
            in_flight: 4_096,
            lists: 512,
            writes: 1_024,
            stream_bytes: 64 << 20,
            stranger_bytes: 32 << 20,
            body_bytes: 256 << 20,
            answer_bytes: 512 << 20,
            public_answer_bytes: 128 << 20,
            trust_forwarded: false,
            quiet: Duration::from_secs(75),
        }
    }
}

/// The server's front door.
pub struct FrontDoor {
    router: Router<ApiClient>,
    access: Arc<AccessPart>,
    metrics: Arc<Metrics>,
    limits: Limits,
    budgets: Arc<Budgets>,
    callers: Arc<Callers>,
    /// Room for answers that wait for their budget, for keys and for public routes.
    waiting: Semaphore,
    public_waiting: Semaphore,
}

impl FrontDoor {
    /// Builds the front door over all parts' routes.
    ///
    /// # Errors
    ///
    /// [`RouteError`] when two routes contradict each other, or a public one takes long bodies.
    pub fn new(
        routes: Vec<Route<ApiClient>>,
        access: Arc<AccessPart>,
        metrics: Arc<Metrics>,
        limits: Limits,
    ) -> Result<Self, RouteError> {
        let budgets = Budgets::new(&limits);
        metrics.watch(&budgets);
        let callers = Callers::new(limits.quiet);
        Ok(Self {
            router: Router::new(routes)?,
            access,
            metrics,
            limits,
            budgets,
            callers,
            waiting: Semaphore::new(WAITING_KIB_MAX),
            public_waiting: Semaphore::new(PUBLIC_WAITING_KIB_MAX),
        })
    }

    /// Returns all routes; a test walks them.
    pub fn routes(&self) -> &[Route<ApiClient>] {
        self.router.routes()
    }

    pub(crate) fn limits(&self) -> &Limits {
        &self.limits
    }

    pub(crate) fn budgets(&self) -> &Budgets {
        &self.budgets
    }

    pub(crate) fn callers(&self) -> &Arc<Callers> {
        &self.callers
    }

    /// Answers a request that came over no connection.
    pub async fn answer(&self, head: request::Parts, body: RequestBody) -> Response {
        self.answer_to(&Arc::new(Caller::inside()), head, body).await
    }

    /// Answers a request of a caller.
    pub(crate) async fn answer_to(
        &self,
        caller: &Arc<Caller>,
        head: request::Parts,
        body: RequestBody,
    ) -> Response {
        let begun = Instant::now();
        let request_id = request_id(&head.headers);
        let correlation_id = correlation_id(&head).unwrap_or_else(|| request_id.clone());
        let method = known_method(&head.method);
        let is_head = head.method == Method::HEAD;
        let mut route = "";
        let mut client = None;
        let answered = match self.router.find(&head.method, head.uri.path()) {
            Ok((found, params)) => {
                route = found.template;
                let ids = (&*request_id, &*correlation_id);
                self.pass(caller, found, params, head, body, ids, &mut client).await
            }
            Err(problem) => Err(self.refused(problem, &head)),
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
        self.metrics.answered(method, route, status, time);
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

    /// Refuses a request that was not understood well enough to match it to a route, and lets the
    /// connection close.
    pub fn refuse(head: &request::Parts, problem: Problem) -> Response {
        let request_id = request_id(&head.headers);
        let correlation_id = correlation_id(head).unwrap_or_else(|| request_id.clone());
        let problem = problem.header(CONNECTION, HeaderValue::from_static("close"));
        finish(problem.into_response(&correlation_id), &request_id, &correlation_id)
    }

    /// Takes the place of an open HTTP/2 request, from its header to the last byte of its answer.
    pub(crate) fn stream(&self, caller: &Caller, head: &request::Parts) -> Result<Taken, Refused> {
        let header: usize = head.headers.iter().map(|(n, v)| n.as_str().len() + v.len()).sum();
        let target = head.uri.path_and_query().map_or(0, |target| target.as_str().len())
            + head.uri.authority().map_or(0, |authority| authority.as_str().len());
        let bytes = STREAM_BYTES + (header + target) as u64;
        self.budgets.take(Pot::Streams, &caller.holders(), bytes)
    }

    /// Returns the holders of what a request on a public route takes.
    fn strangers(&self, caller: &Caller, headers: &HeaderMap) -> Holders {
        let forwarded: Option<IpAddr> =
            if self.limits.trust_forwarded { client_address(headers) } else { None };
        match forwarded {
            Some(address) => self.callers.of_address(caller, address),
            None => caller.holders(),
        }
    }

    /// Recognizes the client that sent the request.
    fn recognize(
        &self,
        headers: &HeaderMap,
        scope: &str,
        now: Timestamp,
    ) -> Result<Arc<ApiClient>, Problem> {
        let mut sent = headers.get_all(http::header::AUTHORIZATION).iter();
        let authorization = sent.next().map(|value| value.to_str().unwrap_or(""));
        // With two `Authorization` headers it is unclear which one is meant, so neither is used.
        let authorization = if sent.next().is_some() { Some("") } else { authorization };
        self.access.recognize(authorization, scope, now)
    }

    /// Returns the problem for a request that matches no route. Callers without a valid token do
    /// not learn which methods a guarded address has.
    fn refused(&self, problem: Problem, head: &request::Parts) -> Problem {
        if problem.kind != Kind::MethodNotAllowed {
            return problem;
        }
        match self.router.access(head.uri.path()) {
            Some(Access::Token { scope }) => {
                self.recognize(&head.headers, scope, Timestamp::now()).err().unwrap_or(problem)
            }
            Some(Access::Public) | None => problem,
        }
    }

    #[expect(clippy::too_many_arguments, reason = "what a request is, taken apart")]
    async fn pass(
        &self,
        caller: &Arc<Caller>,
        route: &Route<ApiClient>,
        params: Params,
        head: request::Parts,
        body: RequestBody,
        (request_id, correlation_id): (&str, &str),
        key: &mut Option<String>,
    ) -> Result<Response, Problem> {
        let mut now = Timestamp::now();
        // Read before the client is looked up, so that a later change has a greater number.
        let recognized_at = self.access.generation();
        let client = match route.access {
            Access::Public => None,
            Access::Token { scope } => Some(self.recognize(&head.headers, scope, now)?),
        };
        let (holders, unread) = match &client {
            Some(client) => {
                *key = Some(client.key.clone());
                (self.callers.of_key(caller, &client.key), Pot::Answers)
            }
            None => (self.strangers(caller, &head.headers), Pot::PublicAnswers),
        };
        refuse_long_body(&head.headers, route.body_limit)?;
        // A request that waits for its body takes no place among the requests in flight.
        let is_awaited = route.body_limit > 0
            && !matches!(route.method, Method::GET | Method::DELETE)
            && !body.is_empty();
        let work = work_of(route);
        let mut place = None;
        // Travels with the work into the store's queues, even when the caller hangs up.
        let mut kept: Option<Kept> = None;
        let body = if !is_awaited {
            match work {
                Some(work) => kept = Some(Arc::new(self.begin(work, &holders)?)),
                None => place = Some(self.budgets.borrow(Pot::InFlight, &holders, 1)?),
            }
            body
        } else if client.is_some() {
            let visit = Visit::of_key(&self.budgets, caller, holders.clone(), work)?;
            let visit = Arc::new(visit);
            kept = Some(visit.clone());
            body.admitted(visit)
        } else {
            let visit = Arc::new(Visit::of_stranger(&self.budgets, caller, holders.clone())?);
            kept = Some(visit.clone());
            let body = body.admitted(visit);
            let body = body.read_within(route.body_limit, STRANGERS_BODY_TIME_MAX).await?;
            now = Timestamp::now();
            RequestBody::Bytes(body)
        };
        let small =
            if head.version == Version::HTTP_2 { SMALL_STREAM_ANSWER } else { SMALL_ANSWER };
        let base_url = base_url(&head.headers, &head.uri, self.limits.trust_forwarded);
        let host = host(&head.headers, &head.uri);
        let call = Call {
            path: head.uri.path().to_owned(),
            query: head.uri.query().unwrap_or("").to_owned(),
            method: head.method,
            headers: head.headers,
            params,
            client,
            recognized_at,
            request_id: request_id.to_owned(),
            correlation_id: correlation_id.to_owned(),
            base_url,
            host,
            now,
            body,
            body_limit: route.body_limit,
        };
        let answer = match &kept {
            Some(kept) => keeping(Arc::clone(kept), (route.handler)(call)).await?,
            None => (route.handler)(call).await?,
        };
        // A request that waits for room for its answer is no longer being processed.
        drop((place, kept));
        self.hold(unread, &holders, small, answer).await
    }

    /// Takes the places of a request that goes into the store's queues.
    fn begin(&self, work: Pot, holders: &Holders) -> Result<(Taken, Taken), Refused> {
        let in_flight = self.budgets.take(Pot::InFlight, holders, 1)?;
        Ok((in_flight, self.budgets.take(work, holders, 1)?))
    }

    /// Takes room for a large answer, until its last byte has been handed to the system.
    ///
    /// # Errors
    ///
    /// 503 when there is no room.
    async fn hold(
        &self,
        pot: Pot,
        holders: &Holders,
        small: u64,
        response: Response,
    ) -> Result<Response, Problem> {
        let size = response.body().size_hint().lower();
        if size <= small {
            return Ok(response);
        }
        let place = match self.budgets.take(pot, holders, size) {
            Ok(place) => place,
            Err(refused) => self.wait_for_room(pot, holders, size, refused).await?,
        };
        Ok(response.map(|body| {
            let bytes = body.into_inner().unwrap_or_default();
            Full::new(Bytes::from_owner(Held { bytes, _place: place }))
        }))
    }
}

impl FrontDoor {
    /// Closes connections that read their answers too slowly, and waits briefly for the room that
    /// this frees. When only the asking holder's share is used up, only that holder's connections
    /// are closed. The waiting answer is in memory already, so waiting answers have a limit of
    /// their own.
    async fn wait_for_room(
        &self,
        pot: Pot,
        holders: &Holders,
        size: u64,
        mut refused: Refused,
    ) -> Result<Taken, Refused> {
        let (waiting, max) = match pot {
            Pot::PublicAnswers => (&self.public_waiting, PUBLIC_WAITING_KIB_MAX),
            _ => (&self.waiting, WAITING_KIB_MAX),
        };
        let kib = usize::try_from(size.div_ceil(1 << 10)).unwrap_or(max).min(max);
        let Ok(_waits) = waiting.try_acquire_many(u32::try_from(kib).unwrap_or(u32::MAX)) else {
            return Err(refused);
        };
        for _ in 0..ROOM_ROUNDS {
            let of = match refused.share_of() {
                None => None,
                // A connection's own share is freed only when its caller reads.
                Some(HolderKind::Connection) => return Err(refused),
                Some(HolderKind::Address | HolderKind::Key) => holders.owner.as_ref(),
            };
            if !self.callers.close_stalled(pot, of) {
                return Err(refused);
            }
            tokio::time::sleep(ROOM_PAUSE).await;
            refused = match self.budgets.take(pot, holders, size) {
                Ok(place) => return Ok(place),
                Err(refused) => refused,
            };
        }
        Err(refused)
    }
}

/// An answer's bytes and their place; both are released when the last byte has been handed to the
/// system.
struct Held {
    bytes: Bytes,
    _place: Taken,
}

impl AsRef<[u8]> for Held {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

/// Returns the budget that a request takes from besides requests in flight: the store has separate
/// queues for lists and for writes.
fn work_of(route: &Route<ApiClient>) -> Option<Pot> {
    match (route.access, &route.method) {
        (Access::Public, _) => None,
        (Access::Token { .. }, &Method::GET) if route.template.ends_with("/{id}") => None,
        (Access::Token { .. }, &Method::GET) => Some(Pot::Lists),
        (Access::Token { .. }, _) => Some(Pot::Writes),
    }
}

/// Returns the body length that the request declares.
fn content_length(headers: &HeaderMap) -> Option<usize> {
    headers.get(http::header::CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}

/// Refuses a body whose declared length is too long, before any of it is read.
fn refuse_long_body(headers: &HeaderMap, limit: usize) -> Result<(), Problem> {
    if limit > 0 && content_length(headers).is_some_and(|length| length > limit) {
        return Err(Problem::of(Kind::PayloadTooLarge)
            .detail(format!("The request body is larger than the {limit} bytes allowed here.")));
    }
    Ok(())
}

/// Returns the trace id of a `traceparent`, or a new id.
fn request_id(headers: &HeaderMap) -> String {
    headers
        .get("traceparent")
        .and_then(|value| value.to_str().ok())
        .and_then(|value| value.split('-').nth(1))
        .filter(|id| id.len() == 32 && id.bytes().all(|byte| byte.is_ascii_hexdigit()))
        .map_or_else(new_request_id, str::to_owned)
}

/// Returns a new id: a random part for this process, then a counter, so that no request waits for
/// the system's randomness.
fn new_request_id() -> String {
    static PROCESS: OnceLock<u64> = OnceLock::new();
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let process = PROCESS.get_or_init(|| uuid::Uuid::new_v4().as_u64_pair().0);
    format!("{process:016x}{:016x}", NEXT.fetch_add(1, Ordering::Relaxed))
}

/// Returns the caller's correlation id from the headers or the query string, if it has at most 128
/// printable characters.
fn correlation_id(head: &request::Parts) -> Option<String> {
    let fits = |id: &&str| {
        !id.is_empty() && id.len() <= 128 && id.bytes().all(|byte| byte.is_ascii_graphic())
    };
    let mut named = [CORRELATION_ID, CORRELATION_ID_TOO].into_iter();
    let of_headers = named.find_map(|name| head.headers.get(name)?.to_str().ok().filter(fits));
    if let Some(id) = of_headers {
        return Some(id.to_owned());
    }
    let query = head.uri.query().filter(|query| query.len() >= CORRELATION_PARAMETER.len())?;
    let name = CORRELATION_PARAMETER.as_bytes();
    // Most requests have none, so their query strings are not decoded.
    query.as_bytes().windows(name.len()).find(|part| part.eq_ignore_ascii_case(name))?;
    Query::read(query).ok()?.get(CORRELATION_PARAMETER).filter(fits).map(str::to_owned)
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

/// Removes the body and states its length; the body of a status without content has no length.
///
/// Source: RFC 9110 §8.6.
fn drop_body(response: &mut Response) {
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
