//! Where a published API is served: its routes at the front door.

use std::sync::Arc;
use std::time::Duration;

use homeroom_access::{ApiClient, Call, Scope};
use homeroom_http::{
    BodyLimits, Cors, Credential, Guard, Handler, Known, MethodsAt, Problem, Route, handler,
    other_methods,
};
use http::Method;

use super::LiveApi;
use crate::definition::{Api, Security};
use crate::operations::Operations;
use crate::path::rest_of;

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

impl LiveApi {
    /// Returns its routes.
    pub(crate) fn routes(self: Arc<Self>) -> Vec<Route<ApiClient>> {
        let guard = guard_of(&self.api);
        let body = BodyLimits::of_bytes(self.api.max_body.0).within(BODY_TIME);
        let asked = Arc::clone(&self);
        let methods_at: MethodsAt = Arc::new(move |path| asked.methods_at(path));
        let answer =
            handler(&self, |api: Arc<Self>, mut call| async move { api.answer(&mut call).await });
        let route = |route: Route<ApiClient>| {
            let route = route.with_body(body);
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
        routes_of(&self.api, guard, &answer, &methods_at).into_iter().map(route).collect()
    }

    /// Returns the methods that a page may use at a path: those of its operations, or all. A page may also
    /// find out that an address has no operation.
    pub(super) fn methods_at(&self, path: &str) -> Vec<Method> {
        let rest = rest_of(path).unwrap_or_default();
        let of_path = |known: &Arc<Operations>| {
            let names = known.methods_at(if rest.is_empty() { "/" } else { rest });
            names.iter().filter_map(|name| Method::from_bytes(name.as_bytes()).ok()).collect()
        };
        let mut stated: Vec<Method> = self.operations.as_ref().map(of_path).unwrap_or_default();
        stated.retain(|method| *method != Method::TRACE);
        if stated.is_empty() { USUAL_METHODS.to_vec() } else { stated }
    }
}

/// Returns the routes of an API that cannot be served now: whoever may call it gets 503.
pub(crate) fn unserved(api: &Api) -> Vec<Route<ApiClient>> {
    // Nobody here vouches for tokens of other issuers, and their bearers are to keep them.
    let guard = Some(guard_of(api)).filter(|_| api.issuers.is_empty());
    let guard = guard.filter(|guard| *guard != Guard::Secret);
    let answer = handler(&(), |(), _: Call| async {
        Err(Problem::busy(UNSERVED_SECONDS).detail("This API cannot be served at the moment."))
    });
    let methods_at: MethodsAt = Arc::new(|_| USUAL_METHODS.to_vec());
    routes_of(api, guard.unwrap_or(Guard::Public), &answer, &methods_at).into()
}

/// Returns the routes of an API, at its own path and at all below, which pages may call as it says.
fn routes_of(
    api: &Api,
    guard: Guard,
    answer: &Handler<ApiClient>,
    methods_at: &MethodsAt,
) -> [Route<ApiClient>; 2] {
    let cors = (!api.cors_origins.is_empty()).then(|| {
        let (origins, credentials) = (api.cors_origins.clone(), api.cors_credentials);
        Arc::new(Cors { origins, credentials, ..Cors::default() })
    });
    let base = api.base();
    [base.clone(), format!("{base}/{{*rest}}")].map(|template| {
        let route = Route::new(other_methods(), template, guard, Arc::clone(answer))
            .with_methods_at(Arc::clone(methods_at));
        match &cors {
            Some(cors) => route.with_cors(Arc::clone(cors)),
            None => route,
        }
    })
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
