//! A published API that is served: the path of a call from its route to its target and back.

mod answering;
mod passing;

use std::borrow::Cow;
use std::collections::HashMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use arc_swap::ArcSwap;
use homeroom_access::{ApiClient, Call, Scope};
use homeroom_client::Network;
use homeroom_gateway::{Gate, Gates};
use homeroom_http::{
    BodyLimits, Cors, Credential, Guard, Kind, Known, MethodsAt, Problem, RequestBody, Response,
    Route, handler, other_methods,
};
use http::header::{ALLOW, CONTENT_ENCODING, CONTENT_LENGTH, WWW_AUTHENTICATE};
use http::{HeaderMap, HeaderValue, Method, StatusCode, request};
use tokio::sync::watch;

use crate::changing::Changing;
use crate::check::{PARTS, network};
use crate::definition::{Api, Security};
use crate::groups::Groups;
use crate::headers::{Asker, Changes, goes_round};
use crate::issuer::{Issuers, KeySets};
use crate::limit::{self, ApiLimit, Counting, PlanLimit};
use crate::operations::{Found, Operations, Scopes, are_granted};
use crate::path::rest_of;
use crate::secret::secret;
use crate::subscription::Subscription;
use crate::target::TargetChanges;
use crate::transform::{Transform, Unfit};
use crate::upstream::Clients;

/// Longest time for a request's body; it must make progress all the while.
const BODY_TIME: Duration = Duration::from_hours(1);

/// When whoever calls an API that cannot be served should try again.
const UNSERVED_SECONDS: u32 = 5;

/// The methods of an API that does not say which it has.
const USUAL_METHODS: [Method; 7] = [
    Method::GET,
    Method::HEAD,
    Method::POST,
    Method::PUT,
    Method::PATCH,
    Method::DELETE,
    Method::OPTIONS,
];

/// Answers a request within this server.
pub type Local = Arc<
    dyn Fn(request::Parts, RequestBody) -> Pin<Box<dyn Future<Output = Response> + Send>>
        + Send
        + Sync,
>;

/// What keys subscribe to, by key.
pub(crate) type Subscriptions = ArcSwap<HashMap<String, Arc<Subscription>>>;

/// What all published APIs share.
pub(crate) struct Shared {
    pub(crate) subscriptions: Subscriptions,
    pub(crate) plans: ArcSwap<HashMap<String, Arc<PlanLimit>>>,
    pub(crate) clients: Clients,
    pub(crate) gates: Gates,
    pub(crate) counting: Counting,
    pub(crate) changing: Changing,
    pub(crate) key_sets: KeySets,
    /// How many APIs cannot be served.
    pub(crate) unserved: AtomicU64,
    /// Connections that have changed their protocol each have a receiver.
    pub(crate) upgraded: watch::Sender<()>,
}

/// A published API that is served.
pub(crate) struct LiveApi {
    api: Arc<Api>,
    base: String,
    operations: Option<Arc<Operations>>,
    usual: [Box<[String]>; 1],
    limits: Arc<[ApiLimit]>,
    request: Option<Arc<Transform>>,
    response: Option<Arc<Transform>>,
    target_changes: TargetChanges,
    request_headers: Changes,
    response_headers: Changes,
    allow: Vec<Network>,
    deny: Vec<Network>,
    target: Target,
    gate: Arc<Gate>,
    issuers: Option<Arc<Issuers>>,
    shared: Arc<Shared>,
}

enum Target {
    /// The path of a part, and what answers there.
    Part(&'static str, Local),
    Upstreams(Groups),
}

impl LiveApi {
    /// Prepares an API to be served.
    ///
    /// # Errors
    ///
    /// Why it cannot be served on this machine, such as a secret that is not there.
    pub(crate) fn new(
        api: &Arc<Api>,
        operations: Option<Arc<Operations>>,
        shared: &Arc<Shared>,
        local: &Local,
    ) -> Result<Self, String> {
        let part = api.part.as_ref().and_then(|part| PARTS.iter().find(|(name, _)| name == part));
        let target = match part {
            Some((_, path)) => Target::Part(path, Arc::clone(local)),
            None => {
                let groups = Groups::new(api, &shared.clients);
                Target::Upstreams(groups.map_err(|error| error.to_string())?)
            }
        };
        let transform = |operations: &[_]| {
            let compiled = Transform::new(operations);
            let compiled = compiled.map_err(|(number, error)| format!("{number}: {error}"))?;
            Ok::<_, String>(Some(compiled).filter(|compiled| !compiled.is_empty()).map(Arc::new))
        };
        let issuers = (!api.issuers.is_empty())
            .then(|| Issuers::new(&api.issuers, &shared.key_sets).map(Arc::new))
            .transpose()?;
        Ok(Self {
            issuers,
            base: api.base(),
            operations,
            usual: [api.scopes.clone().into_boxed_slice()],
            limits: shared.counting.limits(&api.name, &api.limits.0),
            request: transform(&api.transform.request)?,
            response: transform(&api.transform.response)?,
            target_changes: TargetChanges::new(&api.request_path, &api.request_query),
            request_headers: Changes::new(&api.request_headers, &secret)
                .map_err(|reason| format!("request_headers: {reason}"))?,
            response_headers: Changes::new(&api.response_headers, &secret)
                .map_err(|reason| format!("response_headers: {reason}"))?,
            allow: api.allow.iter().filter_map(|text| network(text)).collect(),
            deny: api.deny.iter().filter_map(|text| network(text)).collect(),
            target,
            gate: shared.gates.gate(&api.name),
            shared: Arc::clone(shared),
            api: Arc::clone(api),
        })
    }

    /// Returns its routes.
    pub(crate) fn routes(self: Arc<Self>) -> Vec<Route<ApiClient>> {
        let guard = guard_of(&self.api);
        let body = BodyLimits::of_bytes(self.api.max_body.0).within(BODY_TIME);
        let cors = (!self.api.cors_origins.is_empty()).then(|| {
            let (origins, credentials) = (self.api.cors_origins.clone(), self.api.cors_credentials);
            Arc::new(Cors { origins, credentials, ..Cors::default() })
        });
        let asked = Arc::clone(&self);
        let methods_at: MethodsAt = Arc::new(move |path| asked.methods_at(path));
        let templates = templates(&self.base);
        let route = |template: String| {
            let answer =
                handler(&self, |api: Arc<Self>, call| async move { api.answer(call).await });
            let route = Route::new(other_methods(), template, guard, answer)
                .with_body(body)
                .with_methods_at(Arc::clone(&methods_at));
            let route = match &cors {
                Some(cors) => route.with_cors(Arc::clone(cors)),
                None => route,
            };
            let route = match &self.issuers {
                Some(issuers) => {
                    let issuers = Arc::clone(issuers);
                    route.vouched_by(Arc::new(move |token, now| issuers.vouch(token, now)))
                }
                None => route,
            };
            if guard != Guard::Secret {
                return route;
            }
            // Whoever calls an open API takes from the shares of that API, not of strangers.
            let name = format!("api {}", self.api.name);
            route.by_secret(move |_, _| {
                let name = name.clone();
                async move { Ok(Known { name, client: None }) }
            })
        };
        templates.into_iter().map(route).collect()
    }

    /// Returns the methods that a page may use at a path: those of its operations, or all. A page may also
    /// find out that an address has no operation.
    fn methods_at(&self, path: &str) -> Vec<Method> {
        let rest = rest_of(path).unwrap_or_default();
        let of_path = |known: &Arc<Operations>| {
            let names = known.methods_at(if rest.is_empty() { "/" } else { rest });
            names.iter().filter_map(|name| Method::from_bytes(name.as_bytes()).ok()).collect()
        };
        let mut stated: Vec<Method> = self.operations.as_ref().map(of_path).unwrap_or_default();
        stated.retain(|method| *method != Method::TRACE);
        if stated.is_empty() { USUAL_METHODS.to_vec() } else { stated }
    }

    async fn answer(&self, mut call: Call) -> Result<Response, Problem> {
        let rest = rest_of(&call.path)?.to_owned();
        self.check_address(&call)?;
        self.check_method(&call)?;
        self.check_header(&call.headers)?;
        if goes_round(&call.headers) {
            return Err(Problem::of(Kind::BadGateway).error(
                "The call goes round in a circle: an upstream of this API leads back to it.",
            ));
        }
        let path = if rest.is_empty() { "/" } else { &rest };
        let operations = self.operations.as_ref();
        let found = operations.map(|known| known.find(&call.method, path)).transpose()?;
        let scopes = found.as_ref().map_or(&self.usual[..], |found| found.scopes);
        let plan = self.check_subscription(&call, scopes)?;
        let name = found.as_ref().filter(|_| !self.limits.is_empty()).map(Found::name);
        let asked = limit::Asked {
            key: match (&call.client, &call.foreign) {
                (Some(client), _) => &client.key,
                (None, Some(foreign)) => &foreign.name,
                (None, None) => "",
            },
            from: call.from,
            headers: &call.headers,
            operation: name.as_deref(),
            now: call.now,
        };
        let mut admitted = limit::admit(plan.as_deref(), &self.limits, &asked)?;
        match self.answer_admitted(&mut call, rest, found.as_ref()).await {
            Ok(mut answer) => {
                // A part is this server, too.
                let is_own = matches!(self.target, Target::Part(..));
                if is_own && answer.status() == StatusCode::SERVICE_UNAVAILABLE {
                    admitted.give_back();
                }
                admitted.tell(answer.headers_mut());
                Ok(answer)
            }
            Err(problem) => {
                // Only what this server refuses is such a problem; an upstream's own 503 is an answer.
                if problem.kind == Kind::ServiceUnavailable {
                    admitted.give_back();
                }
                let mut told = HeaderMap::new();
                admitted.tell(&mut told);
                let told = told.into_iter().filter_map(|(name, value)| Some((name?, value)));
                Err(told.fold(problem, |problem, (name, value)| problem.header(name, value)))
            }
        }
    }

    async fn answer_admitted(
        &self,
        call: &mut Call,
        rest: String,
        found: Option<&Found<'_>>,
    ) -> Result<Response, Problem> {
        if let Some(found) = found {
            Box::pin(found.check(call)).await?;
        }
        let rest = self.target_changes.path(rest);
        call.query = self.target_changes.query(std::mem::take(&mut call.query));
        match &self.target {
            Target::Part(path, local) => {
                Box::pin(self.answer_by_part(call, &rest, path, local)).await
            }
            Target::Upstreams(groups) => self.pass_on(call, &rest, groups).await,
        }
    }

    /// Refuses methods that would show a caller what this server tells an upstream.
    fn check_method(&self, call: &Call) -> Result<(), Problem> {
        if !matches!(call.method.as_str(), "TRACE" | "TRACK" | "CONNECT") {
            return Ok(());
        }
        let methods = self.methods_at(&call.path);
        let names = methods.iter().map(Method::as_str).collect::<Vec<_>>().join(", ");
        let allow = HeaderValue::try_from(names.as_str()).unwrap_or(HeaderValue::from_static(""));
        Err(Problem::of(Kind::MethodNotAllowed)
            .error(format!("{} is not allowed here; allowed: {names}.", call.method))
            .header(ALLOW, allow))
    }

    fn check_address(&self, call: &Call) -> Result<(), Problem> {
        if self.allow.is_empty() && self.deny.is_empty() {
            return Ok(());
        }
        let is_in = |networks: &[Network]| {
            call.from.is_some_and(|from| networks.iter().any(|network| network.contains(from)))
        };
        let is_allowed = self.allow.is_empty() || is_in(&self.allow);
        if is_allowed && !is_in(&self.deny) {
            return Ok(());
        }
        Err(Problem::of(Kind::AccessDenied).detail("This API may not be called from this address."))
    }

    /// Refuses a header that is longer than this API takes.
    fn check_header(&self, headers: &HeaderMap) -> Result<(), Problem> {
        let Some(most) = self.api.max_header else { return Ok(()) };
        let bytes: usize =
            headers.iter().map(|(name, value)| name.as_str().len() + value.len()).sum();
        if bytes <= most.0 {
            return Ok(());
        }
        let detail =
            format!("The request's header is larger than the {} bytes allowed here.", most.0);
        Err(Problem::of(Kind::HeadersTooLarge).detail(detail))
    }

    /// Returns the plan by which the call is limited.
    fn check_subscription(
        &self,
        call: &Call,
        scopes: &Scopes,
    ) -> Result<Option<Arc<PlanLimit>>, Problem> {
        if self.api.security == Security::None {
            return self.plan(self.api.plan.as_deref());
        }
        if let Some(foreign) = &call.foreign {
            return if are_granted(scopes, &foreign.scopes) {
                self.plan(self.api.plan.as_deref())
            } else {
                Err(insufficient(scopes))
            };
        }
        let subscriptions = self.shared.subscriptions.load();
        let own = subscriptions.get(&call.client().key);
        let Some(own) = own.filter(|own| own.has(&self.api.name)) else {
            return Err(Problem::of(Kind::AccessDenied)
                .detail(format!("This key has not subscribed to the API {}.", self.api.name))
                .hint("Create a key for it with `homeroom keys create --apis NAME --plan PLAN`."));
        };
        if !are_granted(scopes, &own.scopes) {
            return Err(lacks(scopes, "key"));
        }
        if let Some(held_to) = &call.client().held_to {
            let both = own.scopes.iter().filter(|scope| held_to.contains(scope));
            if !are_granted(scopes, &both.cloned().collect::<Vec<_>>()) {
                return Err(insufficient(scopes));
            }
        }
        self.plan(own.plan.as_deref().or(self.api.plan.as_deref()))
    }

    /// Returns a plan by its name. One that is not there limits nothing, so it admits nothing.
    fn plan(&self, name: Option<&str>) -> Result<Option<Arc<PlanLimit>>, Problem> {
        let Some(name) = name else { return Ok(None) };
        let found = self.shared.plans.load().get(name).cloned();
        found.map(Some).ok_or_else(|| {
            Problem::of(Kind::AccessDenied)
                .detail(format!("There is no plan {name}, by which these calls would be limited."))
                .hint("Publish the plan, or give the key another with `homeroom keys subscribe`.")
        })
    }

    /// Changes the body of a request, if the API does that.
    async fn change_request(&self, call: &mut Call) -> Result<(), Problem> {
        match &self.request {
            Some(transform) => Box::pin(self.change_by(transform, call)).await,
            None => Ok(()),
        }
    }

    async fn change_by(&self, transform: &Arc<Transform>, call: &mut Call) -> Result<(), Problem> {
        if call.headers.contains_key(CONTENT_ENCODING) && !call.body.is_empty() {
            return Err(Problem::of(Kind::UnsupportedMediaType).detail(
                "This API changes JSON bodies, which must be sent without a Content-Encoding.",
            ));
        }
        let body = call.read_body().await?;
        if body.is_empty() {
            return Ok(());
        }
        let changing = &self.shared.changing;
        let _room = changing.room([&self.api.name, &caller_of(call)], body.len()).await?;
        let changed = changing.change(transform, body).await?.map_err(|error| {
            let detail = match error {
                Unfit::NotJson(_) => {
                    "This API changes JSON bodies, and the request's body is not JSON."
                }
                Unfit::Twice(_) => "This API changes a member that the request's body has twice.",
            };
            Problem::of(Kind::BadRequest).detail(detail).error(error.to_string())
        })?;
        call.headers.remove(CONTENT_LENGTH);
        call.body = RequestBody::Bytes(changed);
        call.body_limits = BodyLimits::of_bytes(usize::MAX);
        Ok(())
    }

    fn asker<'a>(&'a self, call: &'a Call) -> Asker<'a> {
        let has_operations = self.operations.is_some();
        let Call { from, base_url, request_id, .. } = call;
        Asker { from: *from, base_url, base: &self.base, request_id, has_operations }
    }
}

/// Returns 403 for a token that was not asked for with the scopes, or not given them.
///
/// Source: RFC 6750 §3.1.
fn insufficient(scopes: &Scopes) -> Problem {
    let challenge = HeaderValue::from_static(r#"Bearer error="insufficient_scope""#);
    lacks(scopes, "token").header(WWW_AUTHENTICATE, challenge)
}

/// Returns how the callers of an API are recognized.
fn guard_of(api: &Api) -> Guard {
    let scope = Scope::Apis.name();
    match api.security {
        Security::Oauth2 => Guard::Token { scope },
        Security::ApiKey => Guard::Key { scope, by: &[Credential::ApiKey] },
        Security::Mtls => Guard::Key { scope, by: &[Credential::Certificate] },
        Security::None => Guard::Secret,
    }
}

/// Returns the paths of an API: its own, and all below.
fn templates(base: &str) -> [String; 2] {
    [base.to_owned(), format!("{base}/{{*rest}}")]
}

/// Returns the routes of an API that cannot be served now: whoever may call it gets 503.
pub(crate) fn unserved(api: &Api) -> Vec<Route<ApiClient>> {
    let guard = Some(guard_of(api)).filter(|guard| *guard != Guard::Secret);
    let route = |template| {
        let answer = handler(&(), |(), _: Call| async {
            Err(Problem::busy(UNSERVED_SECONDS).detail("This API cannot be served at the moment."))
        });
        Route::new(other_methods(), template, guard.unwrap_or(Guard::Public), answer)
    };
    templates(&api.base()).into_iter().map(route).collect()
}

fn lacks(scopes: &Scopes, whose: &str) -> Problem {
    let asked: Vec<String> = scopes.iter().map(|list| list.join(" ")).collect();
    Problem::of(Kind::AccessDenied).detail(format!(
        "This operation asks for the scope {}, which this {whose} does not have.",
        asked.join(", or ")
    ))
}

/// Returns the name under which a caller takes turns, and shares, with others.
fn caller_of(call: &Call) -> Cow<'_, str> {
    match (&call.client, &call.foreign, call.from) {
        (Some(client), _, _) => Cow::Borrowed(&client.key),
        (None, Some(foreign), _) => Cow::Borrowed(&foreign.name),
        (None, None, Some(address)) => Cow::Owned(address.to_string()),
        (None, None, None) => Cow::Borrowed(""),
    }
}

fn malformed() -> Problem {
    Problem::of(Kind::BadRequest).detail("The path or the query is not what a URL may have.")
}
