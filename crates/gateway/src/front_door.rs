//! A request's path through the server: id and time, route, client, target, answer.
#![expect(
    clippy::disallowed_methods,
    reason = "a request gets its moment here, and its duration is measured"
)]

use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use homeroom_access::{Access, ApiClient, Call};
use homeroom_http::{Guard, Kind, Params, Problem, RequestBody, Response, Route, Timestamp};
use homeroom_store::{Kept, keeping};
use http::header::{CONNECTION, HeaderValue};
use http::{HeaderMap, Method, StatusCode, Version, request};
use http_body_util::Full;
use hyper::body::Body as _;

use crate::answer_room::{AnswerRoom, SMALL_ANSWER, SMALL_STREAM_ANSWER};
use crate::budget::{Capacity, Holders, Refused, Taken};
use crate::budgets::Budgets;
use crate::caller::Caller;
use crate::callers::Callers;
use crate::correlation::{correlation_id, finish, request_id};
use crate::forwarded::{base_url, client_address, host};
use crate::limits::Limits;
use crate::metrics::Metrics;
use crate::router::{RouteError, Router};
use crate::visit::Visit;

/// Longest wait for a body on a public route.
const STRANGERS_BODY_TIME_MAX: Duration = Duration::from_secs(5);
/// Bytes counted for an open HTTP/2 request in addition to its header.
const STREAM_BYTES: u64 = 4 << 10;

/// The server's front door.
pub struct FrontDoor {
    router: Router<ApiClient>,
    access: Arc<Access>,
    metrics: Arc<Metrics>,
    limits: Limits,
    budgets: Arc<Budgets>,
    callers: Arc<Callers>,
    answers: AnswerRoom,
}

impl FrontDoor {
    /// Builds the front door over all parts' routes.
    ///
    /// # Errors
    ///
    /// [`RouteError`] when two routes contradict each other, or a public one takes long bodies.
    pub fn new(
        routes: Vec<Route<ApiClient>>,
        access: Arc<Access>,
        metrics: Arc<Metrics>,
        limits: Limits,
    ) -> Result<Self, RouteError> {
        let budgets = Budgets::new(&limits);
        metrics.watch(&budgets);
        let callers = Callers::new(limits.quiet);
        let answers = AnswerRoom::new(&budgets, &callers);
        Ok(Self {
            router: Router::new(routes)?,
            access,
            metrics,
            limits,
            budgets,
            callers,
            answers,
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
        self.budgets.take(Capacity::Streams, &caller.holders(), bytes)
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
        match self.router.guard(head.uri.path()) {
            Some(Guard::Token { scope }) => {
                self.recognize(&head.headers, scope, Timestamp::now()).err().unwrap_or(problem)
            }
            Some(Guard::Public) | None => problem,
        }
    }

    #[expect(clippy::too_many_arguments, reason = "the parts of one request")]
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
        let client = match route.guard {
            Guard::Public => None,
            Guard::Token { scope } => Some(self.recognize(&head.headers, scope, now)?),
        };
        let (holders, unread) = match &client {
            Some(client) => {
                *key = Some(client.key.clone());
                (self.callers.of_key(caller, &client.key), Capacity::Answers)
            }
            None => (self.strangers(caller, &head.headers), Capacity::PublicAnswers),
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
                None => place = Some(self.budgets.borrow(Capacity::InFlight, &holders, 1)?),
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
        self.answers.hold(unread, &holders, small, answer).await
    }

    /// Takes the places of a request that goes into the store's queues.
    fn begin(&self, work: Capacity, holders: &Holders) -> Result<(Taken, Taken), Refused> {
        let in_flight = self.budgets.take(Capacity::InFlight, holders, 1)?;
        Ok((in_flight, self.budgets.take(work, holders, 1)?))
    }
}

/// Returns the budget that a request takes from besides requests in flight: the store has separate
/// queues for lists and for writes.
fn work_of(route: &Route<ApiClient>) -> Option<Capacity> {
    match (route.guard, &route.method) {
        (Guard::Public, _) => None,
        (Guard::Token { .. }, &Method::GET) if route.template.ends_with("/{id}") => None,
        (Guard::Token { .. }, &Method::GET) => Some(Capacity::Lists),
        (Guard::Token { .. }, _) => Some(Capacity::Writes),
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
