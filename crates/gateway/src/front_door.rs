//! A request's path through the server: id and time, route, client, target, answer.
#![expect(
    clippy::disallowed_methods,
    reason = "a request gets its moment here, and its duration is measured"
)]

mod counting;

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use homeroom_access::{Access, ApiClient, Call, Credentials, RefusedLogin};
use homeroom_http::{
    Body, Cors, Credential, Guard, Kind, Named, PROBLEMS, PUBLIC_BODY_BYTES_MAX, Params, Problem,
    RequestBody, Response, Route, Site, Timestamp, Via,
};
use homeroom_store::{Asker, Kept};
use http::header::{CONNECTION, CONTENT_LENGTH, EXPECT, HeaderValue, ORIGIN};
use http::{HeaderMap, Method, StatusCode, Version, request};
use hyper::body::Body as _;
use hyper::upgrade::OnUpgrade;

use crate::access_log::{AccessLog, Logged, Told};
use crate::answer_room::{AnswerRoom, SMALL_ANSWER, SMALL_STREAM_ANSWER};
use crate::budget::{Capacity, Holders, Refused, Taken};
use crate::budgets::{Budgets, Places};
use crate::caller::Caller;
use crate::callers::Callers;
use crate::correlation::{correlation_id, finish, request_id};
use crate::entrance::Entrance;
use crate::forwarded::{base_url, client_address, host};
use crate::limits::Limits;
use crate::live::{LIVE_BASE, LiveRoutes};
use crate::metrics::Metrics;
use crate::pacing::{HeldCount, Pacing};
use crate::patience::{Until, patience};
use crate::rate::{Rate, RateLimit};
use crate::recognition::{STRANGERS_BODY_TIME_MAX, is_in_body, recognize, recognize_in_body};
use crate::router::{Found, RouteError, Router};
use crate::sites::Sites;
use crate::visit::Visit;

/// Bodies of at most this many bytes that have arrived with their head are not waited for: a connection reads no
/// more ahead, and keeps them in its buffer.
const BODY_AT_HAND_MAX: u64 = 16 << 10;
/// Bytes counted for an open HTTP/2 request in addition to its header.
const STREAM_BYTES: u64 = 4 << 10;

/// The server's front door.
pub struct FrontDoor {
    sites: Sites<ApiClient>,
    live: LiveRoutes<ApiClient>,
    access: Arc<Access>,
    metrics: Arc<Metrics>,
    limits: Limits,
    budgets: Arc<Budgets>,
    callers: Arc<Callers>,
    answers: Arc<AnswerRoom>,
    pacing: Arc<Pacing>,
    cors: Cors,
    rate: Option<Arc<RateLimit>>,
    log: Option<AccessLog>,
    is_leaving: AtomicBool,
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
        metrics.watch_access(&access);
        let entrance = Arc::new(Entrance::new(limits.entrance));
        let callers = Callers::new(limits.quiet, Arc::clone(&entrance));
        let answers = Arc::new(AnswerRoom::new(&budgets, &callers, &limits));
        let waiting = Arc::clone(&answers);
        metrics.watch_queues(move || waiting.figures().to_vec());
        let held = Arc::new(HeldCount::new(limits.held_refusals));
        let pacing = Arc::new(Pacing::new(Arc::clone(&held)));
        let waiting = Arc::clone(budgets.waiting());
        metrics.watch_queues(move || vec![waiting.figures()]);
        let connections = limits.connections;
        metrics.watch_queues(move || {
            vec![held.figures(), entrance.figures(), entrance.waiting(connections)]
        });
        let (connected, size) = (Arc::clone(&callers), limits.waiting_connections);
        metrics.watch_queues(move || vec![connected.waiting(size)]);
        Ok(Self {
            sites: Sites::new(routes)?,
            live: LiveRoutes::default(),
            access,
            metrics,
            limits,
            budgets,
            callers,
            answers,
            pacing,
            cors: Cors::default(),
            rate: None,
            log: None,
            is_leaving: AtomicBool::new(false),
        })
    }

    /// Returns the same front door, whose routes pages of these origins may call.
    #[must_use]
    pub fn with_cors(self, cors: Cors) -> Self {
        Self { cors, ..self }
    }

    /// Returns the same front door, which admits so many requests of each client.
    #[must_use]
    pub fn with_rate(self, rate: Rate) -> Self {
        let rate = Arc::new(RateLimit::new(rate));
        self.metrics.watch_rate(&rate);
        Self { rate: Some(rate), ..self }
    }

    /// Returns the same front door, which logs its requests.
    #[must_use]
    pub fn with_log(self, log: AccessLog) -> Self {
        Self { log: Some(log), ..self }
    }

    /// Closes HTTP/1 connections after their next answer from now on: the server is about to stop, and
    /// whoever has connections in reserve opens new ones elsewhere.
    pub fn leave(&self) {
        self.is_leaving.store(true, Ordering::Release);
    }

    pub(crate) fn is_leaving(&self) -> bool {
        self.is_leaving.load(Ordering::Acquire)
    }

    /// Returns every route with each of its methods; a test walks them.
    pub fn routes(&self) -> impl Iterator<Item = (&Method, &Route<ApiClient>)> {
        self.sites
            .routes()
            .flat_map(|route| route.methods.iter().map(move |method| (method, route)))
    }

    /// Returns the routes of published APIs, which can be changed while requests are answered.
    pub fn live(&self) -> &LiveRoutes<ApiClient> {
        &self.live
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
        // The routes of a published API stay as they are while they answer this request.
        let site = caller.way.site;
        let live = (site == Site::Api).then(|| self.live.router_of(head.uri.path())).flatten();
        let router = live.as_deref().unwrap_or(self.sites.of(site));
        let origin = head.headers.get(ORIGIN).cloned();
        let mut told = Told::new(self.log.is_some());
        let preflight = self.preflight(router, &head);
        let is_preflight = preflight.is_some();
        let (answered, refusals) = match preflight {
            Some(answered) => (answered, &PROBLEMS),
            None => match router.find(&head.method, head.uri.path()) {
                Ok(found) => {
                    let refusals = found.route.refusals;
                    told.route = found.label;
                    let ids = (&*request_id, &*correlation_id);
                    (self.pass(caller, found, head, body, ids, &mut told).await, refusals)
                }
                Err(problem) => {
                    let refusals = router.refusals(head.uri.path());
                    let refused = self.refused(router, problem, caller, &head, &mut told);
                    let problem = Box::pin(refused).await;
                    (Err(problem), refusals)
                }
            },
        };
        if matches!(&answered, Err(problem) if problem.budget.is_some()) {
            self.pacing.hold(begun).await;
        }
        let named = match &answered {
            Ok(response) => response.extensions().get::<Named>(),
            Err(problem) => problem.named.as_ref(),
        };
        if let Some(named) = named {
            told.of_named(named);
        }
        let route = told.route;
        let mut response = answered.unwrap_or_else(|mut problem| {
            told.via = problem.via.take();
            if let Some(internal) = &problem.internal {
                tracing::error!(request_id, correlation_id, route, error = internal, "failed");
            }
            (refusals.answer)(problem, &correlation_id)
        });
        if told.via.is_none() {
            told.via = response.extensions_mut().remove::<Via>();
        }
        if is_head {
            drop_body(&mut response);
        }
        let time = begun.elapsed();
        let status = response.status().as_u16();
        self.metrics.answered(method, route, status, time);
        if let Some(log) = &self.log {
            let (request_id, correlation_id) = (&*request_id, &*correlation_id);
            let at = Timestamp::now();
            log.write(&Logged {
                at,
                method,
                status,
                time,
                told: &told,
                request_id,
                correlation_id,
            });
        }
        tracing::debug!(
            method,
            route,
            status,
            key = told.key.as_deref(),
            micros = u64::try_from(time.as_micros()).unwrap_or(u64::MAX),
            request_id,
            correlation_id,
            "answered"
        );
        let mut response = finish(response, request_id, correlation_id);
        if let Some(origin) = origin.filter(|_| !is_preflight) {
            told.cors.as_deref().unwrap_or(&self.cors).expose(&origin, &mut response);
        }
        response
    }

    /// Returns the answer to a browser that asks whether a page may send a request; [`None`] where it asks
    /// something else, or where nobody has said which pages may call. A route that has said so refuses
    /// the pages of other origins.
    fn preflight(
        &self,
        router: &Router<ApiClient>,
        head: &request::Parts,
    ) -> Option<Result<Response, Problem>> {
        if !Cors::is_preflight(&head.method, &head.headers) {
            return None;
        }
        let path = head.uri.path();
        let of_path: Vec<_> = router.routes_of(path).collect();
        let own = of_path.iter().find_map(|route| route.cors.as_deref());
        let named = of_path.iter().flat_map(|route| &route.methods).filter(|m| m.as_str() != "*");
        let mut methods: Vec<Method> = named.cloned().collect();
        if methods.is_empty() {
            let at = of_path.iter().find_map(|route| route.methods_at.as_ref())?;
            methods = at(path);
        }
        let cors = own.unwrap_or(&self.cors);
        match (cors.preflight(&head.method, &head.headers, &methods), own) {
            (None, Some(_)) => Some(Err(Problem::of(Kind::AccessDenied)
                .detail("Pages of this origin may not call this API."))),
            (answer, _) => answer.map(Ok),
        }
    }

    /// Refuses a request that was not understood well enough to match it to a route, and lets the
    /// connection close.
    pub fn refuse(head: &request::Parts, problem: Problem) -> Response {
        let request_id = request_id(&head.headers);
        let correlation_id = correlation_id(head).unwrap_or_else(|| request_id.clone());
        let problem = problem.header(CONNECTION, HeaderValue::from_static("close"));
        finish(problem.into_response(&correlation_id), request_id, correlation_id)
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

    /// Returns the problem for a request that matches no route. Callers without a valid token do
    /// not learn which methods a guarded address has.
    async fn refused(
        &self,
        router: &Router<ApiClient>,
        problem: Problem,
        caller: &Caller,
        head: &request::Parts,
        told: &mut Told,
    ) -> Problem {
        let mut of_path = router.routes_of(head.uri.path());
        let (headers, now) = (&head.headers, Timestamp::now());
        let Some(first) = of_path.next().filter(|_| problem.kind == Kind::MethodNotAllowed) else {
            return self.counted(problem, caller, headers, now);
        };
        if matches!(first.guard, Guard::Secret) || of_path.any(|route| route.guard != first.guard) {
            return self.counted(problem, caller, headers, now);
        }
        let (params, certificate) = (Params::default(), caller.certificate());
        let guesses = self.guesses(first, caller, headers, now);
        let known = recognize(&self.access, first, &params, headers, certificate, guesses, now);
        match known.await {
            Ok(sender) => {
                told.of_sender(&sender);
                self.admit(first, &sender, caller, headers, now).err().unwrap_or(problem)
            }
            Err(unknown) => self.counted(unknown, caller, headers, now),
        }
    }

    async fn pass(
        &self,
        caller: &Arc<Caller>,
        found: Found<'_, ApiClient>,
        mut head: request::Parts,
        body: RequestBody,
        ids: (&str, &str),
        told: &mut Told,
    ) -> Result<Response, Problem> {
        let Found { route, params, .. } = found;
        let (request_id, correlation_id) = ids;
        let mut now = Timestamp::now();
        told.of_route(route, &params);
        // Read before the client is looked up, so that a later change has a greater number.
        let recognized_at = self.access.generation();
        let certificate = caller.certificate();
        let guesses = self.guesses(route, caller, &head.headers, now);
        let (sender, body) = if is_in_body(route, &head.method, &head.headers, certificate) {
            refuse_long_body(&head.headers, route.body.bytes.min(PUBLIC_BODY_BYTES_MAX))
                .map_err(|problem| self.counted(problem, caller, &head.headers, now))?;
            let visit =
                Visit::of_stranger(&self.budgets, caller, self.strangers(caller, &head.headers))?;
            let visit = Arc::new(visit);
            let body = body.admitted(visit);
            let headers = &mut head.headers;
            Box::pin(recognize_in_body(&self.access, route, headers, body, guesses, now)).await
        } else {
            let headers = &head.headers;
            let known = recognize(&self.access, route, &params, headers, certificate, guesses, now);
            known.await.map(|sender| (sender, body))
        }
        .map_err(|problem| {
            self.note_refused(&problem, route, caller, &head, ids, now);
            self.counted(problem, caller, &head.headers, now)
        })?;
        told.of_sender(&sender);
        let (holders, unread) = match sender.name() {
            Some(name) => (self.callers.of_key(caller, name), Capacity::Answers),
            None => (self.strangers(caller, &head.headers), Capacity::PublicAnswers),
        };
        caller.acts_for(holders.number());
        self.admit(route, &sender, caller, &head.headers, now)?;
        refuse_long_body(&head.headers, route.body.bytes)?;
        // A request that waits for its body takes no place among the requests in flight.
        let is_awaited = route.body.bytes > 0
            && !matches!(head.method, Method::GET | Method::HEAD | Method::DELETE)
            && !body.is_empty();
        // A call that waits for an upstream has no place in the store's queues that would outlast it.
        let is_looked_at = is_awaited
            && route.template.starts_with(LIVE_BASE)
            && sender.name().is_some()
            && head.version == Version::HTTP_11
            && !head.headers.contains_key(EXPECT);
        let body = if is_looked_at { body.at_hand(BODY_AT_HAND_MAX).await } else { body };
        let work = work_of(route, &head.method);
        let mut place = None;
        // Travels with the work into the store's queues, even when the caller hangs up.
        let mut kept: Option<Kept> = None;
        let body = if !is_awaited || matches!(body, RequestBody::Bytes(_)) {
            match work {
                Some(_) => kept = Some(Arc::new(self.begin(work, &holders).await?)),
                None => match self.budgets.place(&holders) {
                    Ok(taken) => place = Some(taken),
                    Err(refused) => {
                        let places = self.budgets.places_in_turn(refused, None, &holders);
                        kept = Some(Arc::new(Box::pin(places).await?));
                    }
                },
            }
            body
        } else if sender.name().is_some() {
            let visit = Visit::of_key(&self.budgets, caller, holders.clone(), work)?;
            let visit = Arc::new(visit);
            kept = Some(visit.clone());
            body.admitted(visit)
        } else {
            let visit = Arc::new(Visit::of_stranger(&self.budgets, caller, holders.clone())?);
            kept = Some(visit.clone());
            let body = body.admitted(visit);
            let body = Box::pin(body.read(route.body.within(STRANGERS_BODY_TIME_MAX))).await?;
            now = Timestamp::now();
            RequestBody::Bytes(body)
        };
        let small =
            if head.version == Version::HTTP_2 { SMALL_STREAM_ANSWER } else { SMALL_ANSWER };
        let trusted = self.limits.trust_forwarded;
        let base_url = base_url(&head.headers, &head.uri, trusted, caller.way.is_secure);
        let host = host(&head.headers, &head.uri);
        let upgrade = head.extensions.remove::<OnUpgrade>();
        let sent_on = head.extensions.remove::<Until>();
        let from = if trusted { client_address(&head.headers) } else { None }.or(caller.from());
        let call = Call {
            path: head.uri.path().to_owned(),
            query: head.uri.query().unwrap_or("").to_owned(),
            method: head.method,
            headers: head.headers,
            params,
            client: sender.client().cloned(),
            foreign: sender.foreign().cloned(),
            accepts: route.guard.accepts(),
            certificate,
            recognized_at,
            request_id: request_id.to_owned(),
            correlation_id: correlation_id.to_owned(),
            base_url,
            host,
            from,
            now,
            body,
            body_limits: route.body,
            upgrade,
        };
        let answer = match &kept {
            Some(kept) => {
                let (kept, owner) = (Arc::clone(kept), holders.number());
                let until = patience(&call.headers, sent_on);
                Asker { kept, owner, until }.run((route.handler)(call)).await?
            }
            None => (route.handler)(call).await?,
        };
        // A request that waits for room for its answer is no longer being processed.
        drop((place, kept));
        self.answers.hold(unread, &holders, small, answer).await
    }

    /// Writes into the audit log that the credentials of a request were refused, if it had any.
    fn note_refused(
        &self,
        problem: &Problem,
        route: &Route<ApiClient>,
        caller: &Caller,
        head: &request::Parts,
        (request_id, correlation_id): (&str, &str),
        now: Timestamp,
    ) {
        if problem.kind.status() != StatusCode::UNAUTHORIZED {
            return;
        }
        let by = route.guard.accepts();
        let certificate = caller.certificate().filter(|_| by.contains(&Credential::Certificate));
        let credentials = Credentials::of(&head.headers).with_certificate(certificate);
        if credentials.is_empty() && !is_in_body(route, &head.method, &head.headers, certificate) {
            return;
        }
        let trusted = self.limits.trust_forwarded;
        let from = if trusted { client_address(&head.headers) } else { None }.or(caller.from());
        let login = RefusedLogin {
            reason: problem.errors.first().map_or(problem.kind.title(), String::as_str),
            route: &route.template,
            from,
            request_id,
            correlation_id,
            now,
        };
        self.access.refused_credentials(&login, by, &credentials);
    }

    /// Takes the places of a request that goes into the store's queues.
    async fn begin(&self, work: Option<Capacity>, of: &Holders) -> Result<Places, Refused> {
        match self.budgets.places(work, of) {
            Ok(places) => Ok(places),
            Err(refused) => Box::pin(self.budgets.places_in_turn(refused, work, of)).await,
        }
    }
}

/// Returns the budget that a request takes from besides requests in flight: the store has separate
/// queues for lists and for writes.
fn work_of(route: &Route<ApiClient>, method: &Method) -> Option<Capacity> {
    match (route.guard, method) {
        (Guard::Public | Guard::Secret, _) => None,
        // A published API waits for its upstream and not for the store; a part that it publishes takes
        // the place itself.
        _ if route.template.starts_with(LIVE_BASE) => None,
        (_, &(Method::GET | Method::HEAD)) if route.template.ends_with("/{id}") => None,
        (_, &(Method::GET | Method::HEAD)) => Some(Capacity::Lists),
        _ => Some(Capacity::Writes),
    }
}

/// Returns the body length that the request declares.
fn content_length(headers: &HeaderMap) -> Option<usize> {
    headers.get(CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
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

/// Removes the body and states its length; the body of a status without content has no length. An upstream
/// has sent none, and what it says of the length stays; where it says nothing, nothing is known.
///
/// Source: RFC 9110 §8.6.
fn drop_body(response: &mut Response) {
    if !matches!(response.status(), StatusCode::NO_CONTENT | StatusCode::NOT_MODIFIED)
        && let Some(length) = response.body().size_hint().exact().filter(|length| *length > 0)
        && !response.headers().contains_key(CONTENT_LENGTH)
    {
        response.headers_mut().insert(CONTENT_LENGTH, HeaderValue::from(length));
    }
    *response.body_mut() = Body::empty();
}
