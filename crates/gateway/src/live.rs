//! Routes that come and go while the server runs: those of published APIs.

use std::collections::HashMap;
use std::hash::{BuildHasher as _, RandomState};
use std::sync::{Arc, Mutex, PoisonError};

use arc_swap::ArcSwap;
use homeroom_http::{Route, Served};

use crate::router::{RouteError, Router};

/// The path below which published APIs have theirs: `/apis/{context}/{version}`.
pub const LIVE_BASE: &str = "/apis";

/// How many tables the APIs are spread over. A change copies one of them.
const SHARDS: usize = 64;

/// The tables of routes of all published APIs. A request sees an API as it was at one moment; a
/// change rebuilds that API and copies pointers to some others.
pub struct LiveRoutes<C> {
    shards: [ArcSwap<Shard<C>>; SHARDS],
    spread: RandomState,
    /// Held while a table is replaced.
    change: Mutex<()>,
}

/// Routers by the path below which they are, in lower case.
type Shard<C> = HashMap<String, Arc<Router<C>>>;

impl<C> Default for LiveRoutes<C> {
    fn default() -> Self {
        Self {
            shards: std::array::from_fn(|_| ArcSwap::default()),
            spread: RandomState::new(),
            change: Mutex::default(),
        }
    }
}

impl<C> std::fmt::Debug for LiveRoutes<C> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "LiveRoutes({})", self.len())
    }
}

impl<C> LiveRoutes<C> {
    /// Publishes the routes of an API, or replaces them. The path of each begins with
    /// `/apis/{context}/{version}`, which is the same for all of them.
    ///
    /// # Errors
    ///
    /// [`RouteError`] when the routes contradict each other, are not all below one such path, or are for
    /// another site than the API.
    /// What was published before then stays.
    pub fn publish(&self, routes: Vec<Route<C>>) -> Result<(), RouteError> {
        let first = routes.first().and_then(|route| base(&route.template));
        let first = first.unwrap_or_default().to_ascii_lowercase();
        let stray = routes.iter().map(|route| &route.template).find(|template| {
            first.is_empty() || base(template).is_none_or(|base| !base.eq_ignore_ascii_case(&first))
        });
        if routes.is_empty() || stray.is_some() {
            let template = stray.map_or_else(String::new, ToString::to_string);
            return Err(RouteError::Base { template });
        }
        if let Some(route) = routes.iter().find(|route| route.served != Served::Api) {
            return Err(RouteError::Site { template: route.template.to_string() });
        }
        let api = Arc::new(Router::new(routes)?);
        self.replace(&first, Some(api));
        Ok(())
    }

    /// Withdraws the API below a path such as `/apis/payments/v1`. Returns whether there was one.
    /// Requests that it is answering are still answered.
    pub fn withdraw(&self, base: &str) -> bool {
        self.replace(&base.to_ascii_lowercase(), None)
    }

    /// Returns the router of the API to which a path belongs.
    pub fn router_of(&self, path: &str) -> Option<Arc<Router<C>>> {
        let base = base(path)?;
        if base.bytes().any(|byte| byte.is_ascii_uppercase()) {
            self.get(&base.to_ascii_lowercase())
        } else {
            self.get(base)
        }
    }

    /// Returns how many APIs are published.
    pub fn len(&self) -> usize {
        self.shards.iter().map(|shard| shard.load().len()).sum()
    }

    /// Returns whether no API is published.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn get(&self, base: &str) -> Option<Arc<Router<C>>> {
        self.shard(base).load().get(base).cloned()
    }

    fn replace(&self, base: &str, router: Option<Arc<Router<C>>>) -> bool {
        let _changes = self.change.lock().unwrap_or_else(PoisonError::into_inner);
        let shard = self.shard(base);
        let mut all = Shard::clone(&shard.load());
        let before = match router {
            Some(router) => all.insert(base.to_owned(), router),
            None => all.remove(base),
        };
        shard.store(Arc::new(all));
        before.is_some()
    }

    fn shard(&self, base: &str) -> &ArcSwap<Shard<C>> {
        let shard = self.spread.hash_one(base) % SHARDS as u64;
        &self.shards[usize::try_from(shard).unwrap_or(0)]
    }
}

/// Returns the first three segments of a path below [`LIVE_BASE`].
fn base(path: &str) -> Option<&str> {
    let (start, rest) = path.split_at_checked(LIVE_BASE.len())?;
    if !start.eq_ignore_ascii_case(LIVE_BASE) || !rest.starts_with('/') {
        return None;
    }
    let context = rest[1..].find('/')? + 2;
    let version = rest[context..].find('/').unwrap_or(rest.len() - context);
    let is_named = context > 2 && version > 0;
    is_named.then(|| &path[..LIVE_BASE.len() + context + version])
}

#[cfg(test)]
mod tests {
    use homeroom_http::{Guard, empty_response, handler};
    use http::{Method, StatusCode};

    use super::*;

    fn route(template: &str) -> Route<()> {
        let answer = handler(&(), |(), _| async { Ok(empty_response(StatusCode::NO_CONTENT)) });
        Route::new(Method::GET, template.to_owned(), Guard::Public, answer)
    }

    fn finds(live: &LiveRoutes<()>, path: &str) -> bool {
        live.router_of(path).is_some_and(|router| router.find(&Method::GET, path).is_ok())
    }

    #[test]
    fn the_base_of_a_path_is_its_first_three_segments() {
        for (path, expected) in [
            ("/apis/pay/v1", Some("/apis/pay/v1")),
            ("/apis/pay/v1/", Some("/apis/pay/v1")),
            ("/APIs/Pay/v1/a/b", Some("/APIs/Pay/v1")),
            ("/apis/pay", None),
            ("/apis/pay/", None),
            ("/apis//v1/a", None),
            ("/apisx/pay/v1", None),
            ("/data/v3/a", None),
            ("/", None),
        ] {
            assert_eq!(base(path), expected, "{path}");
        }
    }

    #[test]
    fn an_api_is_found_while_it_is_published() {
        let live = LiveRoutes::default();
        assert!(live.is_empty());

        live.publish(vec![route("/apis/Pay/v1"), route("/apis/Pay/v1/{*rest}")]).unwrap();
        live.publish(vec![route("/apis/pay/v2/{*rest}")]).unwrap();
        assert!(finds(&live, "/apis/pay/v1"));
        assert!(finds(&live, "/APIS/PAY/V1/A/b"));
        assert!(finds(&live, "/apis/pay/v2/a"));
        assert!(!finds(&live, "/apis/pay/v3/a"));

        live.publish(vec![route("/apis/pay/v1/only")]).unwrap();
        assert!(!finds(&live, "/apis/pay/v1/a"), "replaced");
        assert!(finds(&live, "/apis/pay/v1/only"));
        assert_eq!(live.len(), 2);

        assert!(live.withdraw("/apis/PAY/v1"));
        assert!(!live.withdraw("/apis/PAY/v1"));
        assert!(!finds(&live, "/apis/pay/v1/only"));
        assert!(finds(&live, "/apis/pay/v2/a"));
    }

    #[test]
    fn an_api_that_contradicts_itself_is_refused_and_the_one_before_stays() {
        let live = LiveRoutes::default();
        live.publish(vec![route("/apis/pay/v1/a")]).unwrap();

        let twice = live.publish(vec![route("/apis/pay/v1/b"), route("/apis/pay/v1/b")]);
        let elsewhere = live.publish(vec![route("/apis/pay/v1/b"), route("/apis/pay/v2/b")]);
        let outside = live.publish(vec![route("/data/v3/b")]);
        let with_content = live.publish(vec![route("/apis/pay/v1/b").served(Served::Both)]);

        assert!(matches!(with_content, Err(RouteError::Site { .. })), "{with_content:?}");
        assert!(matches!(twice, Err(RouteError::Twice { .. })), "{twice:?}");
        for refused in [elsewhere, outside, live.publish(vec![])] {
            assert!(matches!(refused, Err(RouteError::Base { .. })), "{refused:?}");
        }
        assert!(finds(&live, "/apis/pay/v1/a"));
    }

    #[test]
    fn a_request_keeps_the_routes_that_it_has_found() {
        let live = LiveRoutes::default();
        live.publish(vec![route("/apis/pay/v1/a")]).unwrap();
        let found = live.router_of("/apis/pay/v1/a").unwrap();

        live.withdraw("/apis/pay/v1");

        assert!(found.find(&Method::GET, "/apis/pay/v1/a").is_ok());
    }
}
