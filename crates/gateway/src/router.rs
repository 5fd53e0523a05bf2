//! Matches a method and a path to a route.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use homeroom_http::{
    Guard, Kind, PROBLEMS, PUBLIC_BODY_BYTES_MAX, Params, Problem, Refusals, Route, other_methods,
};
use http::header::ALLOW;
use http::{HeaderValue, Method};
use percent_encoding::percent_decode_str;

use crate::labels::{label, name_of};

/// A table of routes that contradicts itself.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RouteError {
    /// Two templates cannot be told apart.
    #[error("the route {template} conflicts with another: {reason}")]
    Conflict {
        /// The later template.
        template: String,
        /// The matcher's message.
        reason: String,
    },
    /// A template has the same method twice.
    #[error("{method} {template} is defined twice")]
    Twice {
        /// The method that both routes have.
        method: Method,
        /// The template that both routes have.
        template: String,
    },
    /// A route has secrets in its path and nothing that recognizes them, or the other way round.
    #[error("{template} does not say how its callers are recognized")]
    Unrecognizable {
        /// The route's template.
        template: String,
    },
    /// The routes of a published API are not all below one path `/apis/{context}/{version}`.
    #[error("the route {template} is not below /apis/CONTEXT/VERSION with the others of its API")]
    Base {
        /// The template; empty where the API has no routes.
        template: String,
    },
    /// A route of a published API is for another site.
    #[error("the route {template} is of a published API, which is served with the API only")]
    Site {
        /// The route's template.
        template: String,
    },
    /// A public route takes longer bodies than strangers may send.
    #[error("{template} is public and takes bodies of more than {PUBLIC_BODY_BYTES_MAX} bytes")]
    LongPublicBody {
        /// The route's template.
        template: String,
    },
}

/// A table of routes, ready to be matched.
pub struct Router<C> {
    /// The number of each template, by its path with fixed segments in lower case.
    tree: matchit::Router<usize>,
    templates: Box<[Template]>,
    routes: Box<[Route<C>]>,
    /// The name of each route in metrics and logs.
    labels: Box<[&'static str]>,
    /// Forms of refusal for addresses that no route has.
    refusals: Box<[&'static Refusals]>,
}

/// The route of a request.
#[derive(Debug)]
pub struct Found<'r, C> {
    /// The route.
    pub route: &'r Route<C>,
    /// Its name in metrics and logs: the template, or one name for all routes beyond a number.
    pub label: &'static str,
    /// The values of its placeholders.
    pub params: Params,
}

/// The routes of one template.
struct Template {
    /// The names of its placeholders, in order. Templates of one router share equal lists.
    names: Arc<[Cow<'static, str>]>,
    /// Whether its last placeholder matches the rest of the path.
    has_rest: bool,
    routes: Box<[usize]>,
}

impl<C> Router<C> {
    /// Builds a router.
    ///
    /// # Errors
    ///
    /// [`RouteError`] names the routes that contradict each other.
    pub fn new(routes: Vec<Route<C>>) -> Result<Self, RouteError> {
        let mut by_template: HashMap<&str, Vec<usize>> = HashMap::new();
        let mut order: Vec<&Cow<'static, str>> = vec![];
        let mut refusals: Vec<&'static Refusals> = vec![];
        for (at, route) in routes.iter().enumerate() {
            let same = by_template.entry(&route.template).or_insert_with(|| {
                order.push(&route.template);
                vec![]
            });
            let others = || same.iter().flat_map(|other| &routes[*other].methods);
            if let Some(method) = route.methods.iter().find(|m| others().any(|other| other == *m)) {
                let (method, template) = (method.clone(), route.template.to_string());
                return Err(RouteError::Twice { method, template });
            }
            if route.guard == Guard::Public && route.body.bytes > PUBLIC_BODY_BYTES_MAX {
                return Err(RouteError::LongPublicBody { template: route.template.to_string() });
            }
            if (route.guard == Guard::Secret) != route.recognizer.is_some() {
                return Err(RouteError::Unrecognizable { template: route.template.to_string() });
            }
            same.push(at);
            let form = route.refusals;
            if !form.prefix.is_empty() && !refusals.iter().any(|r| r.prefix == form.prefix) {
                refusals.push(form);
            }
        }
        let mut tree = matchit::Router::new();
        let mut templates: Vec<Template> = Vec::with_capacity(order.len());
        for template in order {
            let routes = by_template.remove(&**template).unwrap_or_default().into_boxed_slice();
            let names = placeholders(template);
            let shared = templates.iter().rev().find(|before| before.names[..] == names[..]);
            let names = shared.map_or_else(|| names.into(), |before| Arc::clone(&before.names));
            let conflict = |error: matchit::InsertError| RouteError::Conflict {
                template: template.to_string(),
                reason: error.to_string(),
            };
            let number = templates.len();
            tree.insert(lower_case(template), number).map_err(conflict)?;
            templates.push(Template { names, has_rest: template.contains("{*"), routes });
        }
        // The longest prefix is the most particular one.
        refusals.sort_unstable_by_key(|form| std::cmp::Reverse(form.prefix.len()));
        let labels = routes.iter().map(|route| label(&route.template)).collect();
        Ok(Self {
            // A copy has no room to spare, which the tree has wherever it grew.
            tree: tree.clone(),
            templates: templates.into_boxed_slice(),
            routes: routes.into_boxed_slice(),
            labels,
            refusals: refusals.into_boxed_slice(),
        })
    }

    /// All routes.
    pub fn routes(&self) -> &[Route<C>] {
        &self.routes
    }

    /// Returns the route for a method and a path, with the values of its placeholders.
    ///
    /// The GET route also answers HEAD. Fixed segments match in any case and a trailing slash is
    /// ignored, as clients of the Ed-Fi ODS/API expect; the rest of a path that `{*name}` matches
    /// is neither decoded nor shortened.
    ///
    /// # Errors
    ///
    /// 404 for an unknown path, 405 with `Allow` for a known one with other methods; 400 for
    /// percent-encoding that is not UTF-8.
    pub fn find(&self, method: &Method, path: &str) -> Result<Found<'_, C>, Problem> {
        let lower = folded(path);
        let found = self.tree.at(&lower).map_err(|_| Problem::of(Kind::NotFound))?;
        let template = self.template(*found.value);
        let wanted = if *method == Method::HEAD { &Method::GET } else { method };
        let route_of = |method: &Method| {
            let has = |at: &&usize| self.routes[**at].methods.contains(method);
            template.routes.iter().find(has).copied()
        };
        let Some(at) = route_of(wanted).or_else(|| route_of(&other_methods())) else {
            return Err(self.not_allowed(method, &template.routes));
        };
        let mut params = Vec::with_capacity(template.names.len());
        let last = template.names.len().saturating_sub(1);
        for (number, (name, (_, value))) in
            template.names.iter().zip(found.params.iter()).enumerate()
        {
            // The value is a part of `lower`, whose bytes are where they are in the path.
            let begin = value.as_ptr().addr() - lower.as_ptr().addr();
            let value = if template.has_rest && number == last {
                path[begin..].to_owned()
            } else {
                let sent = &path[begin..begin + value.len()];
                let value = percent_decode_str(sent).decode_utf8().map_err(|_| {
                    Problem::of(Kind::BadRequest).error("The path is not UTF-8 when decoded.")
                })?;
                value.into_owned()
            };
            params.push((name.clone(), value));
        }
        Ok(Found { route: &self.routes[at], label: self.labels[at], params: Params(params) })
    }

    /// Returns the routes of a path, whatever their methods.
    pub fn routes_of(&self, path: &str) -> impl Iterator<Item = &Route<C>> {
        let found = self.tree.at(&folded(path)).ok().map(|found| self.template(*found.value));
        found.into_iter().flat_map(|template| &template.routes).map(|at| &self.routes[*at])
    }

    fn template(&self, number: usize) -> &Template {
        &self.templates[number]
    }

    /// Returns the form in which a request is refused that no route answers: that of the path's
    /// other methods, or of the part to which its prefix belongs.
    pub fn refusals(&self, path: &str) -> &'static Refusals {
        let lower = folded(path);
        if let Ok(found) = self.tree.at(&lower)
            && let Some(at) = self.template(*found.value).routes.first()
        {
            return self.routes[*at].refusals;
        }
        let is_below = |form: &&&Refusals| {
            let rest = lower.get(form.prefix.len()..);
            let at_end = rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
            at_end && lower[..form.prefix.len()].eq_ignore_ascii_case(form.prefix)
        };
        self.refusals.iter().find(is_below).copied().unwrap_or(&PROBLEMS)
    }

    fn not_allowed(&self, method: &Method, routes: &[usize]) -> Problem {
        let mut methods: Vec<&str> =
            routes.iter().flat_map(|at| &self.routes[*at].methods).map(Method::as_str).collect();
        if methods.contains(&"GET") {
            methods.push("HEAD");
        }
        methods.sort_unstable();
        methods.dedup();
        let allow = HeaderValue::try_from(methods.join(", "))
            .unwrap_or_else(|_| HeaderValue::from_static(""));
        Problem::of(Kind::MethodNotAllowed)
            .error(format!("{method} is not allowed here; allowed: {}.", methods.join(", ")))
            .header(ALLOW, allow)
    }
}

/// Returns a path in lower case and without a slash at its end; its bytes keep their places.
fn folded(path: &str) -> Cow<'_, str> {
    let path = if path == "/" { path } else { path.strip_suffix('/').unwrap_or(path) };
    if path.bytes().any(|byte| byte.is_ascii_uppercase()) {
        Cow::Owned(path.to_ascii_lowercase())
    } else {
        Cow::Borrowed(path)
    }
}

/// Returns a template with its fixed segments in lower case.
fn lower_case(template: &str) -> String {
    let fold = |segment: &str| {
        if segment.starts_with('{') { segment.to_owned() } else { segment.to_ascii_lowercase() }
    };
    template.split('/').map(fold).collect::<Vec<_>>().join("/")
}

/// Returns the names of a template's placeholders, in order.
#[expect(clippy::ptr_arg, reason = "what is borrowed is a part of the program")]
fn placeholders(template: &Cow<'static, str>) -> Vec<Cow<'static, str>> {
    fn names(template: &str) -> impl Iterator<Item = &str> {
        let braced = |segment: &'_ str| segment.starts_with('{') && segment.ends_with('}');
        template
            .split('/')
            .filter(move |segment| braced(segment))
            .map(|segment| segment[1..segment.len() - 1].trim_start_matches('*'))
    }
    match template {
        Cow::Borrowed(template) => names(template).map(Cow::Borrowed).collect(),
        Cow::Owned(template) => names(template).map(name_of).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use homeroom_http::{BodyLimits, Handler, empty_response, handler};

    fn nothing() -> Handler<()> {
        handler(&(), |(), _| async { Ok(empty_response(http::StatusCode::NO_CONTENT)) })
    }

    fn router() -> Router<()> {
        let route =
            |method: Method, template| Route::new(method, template, Guard::Public, nothing());
        Router::new(vec![
            route(Method::GET, "/"),
            route(Method::GET, "/data/v3/{schema}/{endpoint}"),
            route(Method::POST, "/data/v3/{schema}/{endpoint}"),
            route(Method::GET, "/data/v3/{schema}/{endpoint}/{id}"),
            route(Method::GET, "/data/v3/{schema}/{endpoint}/keyChanges"),
            route(Method::POST, "/oauth/token"),
        ])
        .unwrap()
    }

    #[test]
    fn paths_match_in_any_case_and_with_a_slash_at_the_end() {
        let router = router();
        for (method, path, template) in [
            (Method::GET, "/", "/"),
            (Method::GET, "/data/v3/ed-fi/students", "/data/v3/{schema}/{endpoint}"),
            (Method::HEAD, "/data/v3/ed-fi/students/", "/data/v3/{schema}/{endpoint}"),
            (Method::POST, "/DATA/V3/Ed-Fi/Students", "/data/v3/{schema}/{endpoint}"),
            (Method::GET, "/data/v3/ed-fi/x/keychanges", "/data/v3/{schema}/{endpoint}/keyChanges"),
            (
                Method::GET,
                "/data/v3/ed-fi/x/keyChanges/",
                "/data/v3/{schema}/{endpoint}/keyChanges",
            ),
            (Method::POST, "/OAuth/Token", "/oauth/token"),
            (Method::POST, "/oauth/token/", "/oauth/token"),
        ] {
            let found = router.find(&method, path).unwrap_or_else(|e| panic!("{path}: {e:?}"));

            assert_eq!((&*found.route.template, found.label), (template, template), "{path}");
        }
        assert!(router.find(&Method::GET, "/data/v3/ed-fi/students//").is_err());
    }

    #[test]
    fn a_public_route_takes_no_long_bodies() {
        let route = |guard, bytes| {
            Route::new(Method::POST, "/long", guard, nothing())
                .with_body(BodyLimits::of_bytes(bytes))
        };
        let long = PUBLIC_BODY_BYTES_MAX + 1;

        let public = Router::new(vec![route(Guard::Public, long)]).err();
        let guarded = Router::new(vec![route(Guard::Token { scope: "data" }, long)]);

        assert!(matches!(public, Some(RouteError::LongPublicBody { .. })), "{public:?}");
        assert!(guarded.is_ok());
        assert!(Router::new(vec![route(Guard::Public, long - 1)]).is_ok());
    }

    #[test]
    fn a_placeholder_has_the_case_in_which_it_was_sent() {
        let router = router();

        let found = router.find(&Method::GET, "/DATA/v3/Ed-Fi/Students/AbC%2Fd").unwrap();
        let params = found.params;

        assert_eq!(params.get("schema"), "Ed-Fi");
        assert_eq!(params.get("id"), "AbC/d");
    }

    #[test]
    fn a_known_path_with_another_method_names_those_that_are_allowed() {
        let problem = router().find(&Method::PATCH, "/data/v3/ed-fi/students").err().unwrap();

        assert_eq!(problem.kind, Kind::MethodNotAllowed);
        assert_eq!(problem.headers[0].1, "GET, HEAD, POST");
    }

    #[test]
    fn a_route_matches_each_of_its_methods() {
        let route = Route::new(Method::PUT, "/things/{id}", Guard::Public, nothing());
        let router = Router::new(vec![route.or(Method::POST)]).unwrap();

        for method in [Method::PUT, Method::POST] {
            assert!(router.find(&method, "/things/1").is_ok(), "{method}");
        }
        let problem = router.find(&Method::GET, "/things/1").err().unwrap();
        assert_eq!(problem.headers[0].1, "POST, PUT");
        let twice = Route::new(Method::POST, "/things/{id}", Guard::Public, nothing());
        let all = vec![router.routes()[0].clone(), twice];
        assert!(matches!(Router::new(all), Err(RouteError::Twice { .. })));
    }

    #[test]
    fn the_rest_of_a_path_is_handed_on_as_it_was_sent() {
        let template = "/Files/{owner}/{*rest}".to_owned();
        let route = Route::new(Method::GET, template, Guard::Public, nothing());
        let router = Router::new(vec![route]).unwrap();
        for (path, owner, rest) in [
            ("/files/Me/a", "Me", "a"),
            ("/FILES/me/A/b%2Fc/D", "me", "A/b%2Fc/D"),
            ("/files/m%C3%A9/x/me/", "mé", "x/me/"),
            ("/files/a/a/A//", "a", "a/A//"),
        ] {
            let params = router.find(&Method::GET, path).unwrap().params;

            assert_eq!((params.get("owner"), params.get("rest")), (owner, rest), "{path}");
        }
        assert!(router.find(&Method::GET, "/files/me").is_err());
    }

    #[test]
    fn an_address_is_refused_in_the_form_of_the_part_that_it_belongs_to() {
        static OTHER: Refusals = Refusals { prefix: "/Other", answer: Problem::into_response };
        let plain = Route::new(Method::GET, "/plain", Guard::Public, nothing());
        let other = Route::new(Method::GET, "/other/{id}", Guard::Public, nothing());
        let router = Router::new(vec![plain, other.refused_as(&OTHER)]).unwrap();

        for (path, prefix) in [
            ("/plain", ""),
            ("/nowhere", ""),
            ("/otherwise", ""),
            ("/other", "/Other"),
            ("/OTHER/1", "/Other"),
            ("/other/1/2", "/Other"),
        ] {
            assert_eq!(router.refusals(path).prefix, prefix, "{path}");
        }
    }
}
