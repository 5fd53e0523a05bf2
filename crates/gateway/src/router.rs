//! Matches a method and a path to a route.

use std::collections::HashMap;

use homeroom_http::{Guard, Kind, PUBLIC_BODY_BYTES_MAX, Params, Problem, Route, other_methods};
use http::header::ALLOW;
use http::{HeaderValue, Method};
use percent_encoding::percent_decode_str;

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
    /// A public route takes longer bodies than strangers may send.
    #[error(
        "{method} {template} is public and takes bodies of more than {PUBLIC_BODY_BYTES_MAX} bytes"
    )]
    LongPublicBody {
        /// The route's method.
        method: Method,
        /// The route's template.
        template: String,
    },
}

/// All routes, ready to be matched.
pub struct Router<C> {
    /// Routes by template, its fixed segments in lower case.
    templates: matchit::Router<Vec<usize>>,
    routes: Vec<Route<C>>,
}

impl<C> Router<C> {
    /// Builds a router.
    ///
    /// # Errors
    ///
    /// [`RouteError`] names the routes that contradict each other.
    pub fn new(routes: Vec<Route<C>>) -> Result<Self, RouteError> {
        let mut by_template: HashMap<&'static str, Vec<usize>> = HashMap::new();
        let mut order = vec![];
        for (at, route) in routes.iter().enumerate() {
            let same = by_template.entry(route.template).or_insert_with(|| {
                order.push(route.template);
                vec![]
            });
            if same.iter().any(|other| routes[*other].method == route.method) {
                return Err(RouteError::Twice {
                    method: route.method.clone(),
                    template: route.template.into(),
                });
            }
            if route.guard == Guard::Public && route.body_limit > PUBLIC_BODY_BYTES_MAX {
                return Err(RouteError::LongPublicBody {
                    method: route.method.clone(),
                    template: route.template.into(),
                });
            }
            same.push(at);
        }
        let mut templates = matchit::Router::new();
        for template in order {
            let routes = by_template.remove(template).unwrap_or_default();
            let conflict = |error: matchit::InsertError| RouteError::Conflict {
                template: template.into(),
                reason: error.to_string(),
            };
            templates.insert(lower_case(template), routes).map_err(conflict)?;
        }
        Ok(Self { templates, routes })
    }

    /// All routes.
    pub fn routes(&self) -> &[Route<C>] {
        &self.routes
    }

    /// Returns the route for a method and a path, and the values of its placeholders.
    ///
    /// The GET route also answers HEAD. Fixed segments match in any case and a trailing slash is
    /// ignored, as clients of the Ed-Fi ODS/API expect.
    ///
    /// # Errors
    ///
    /// 404 for an unknown path, 405 with `Allow` for a known one with other methods; 400 for
    /// percent-encoding that is not UTF-8.
    pub fn find(&self, method: &Method, path: &str) -> Result<(&Route<C>, Params), Problem> {
        let lower = match path {
            "/" => path.to_owned(),
            path => path.strip_suffix('/').unwrap_or(path).to_ascii_lowercase(),
        };
        let found = self.templates.at(&lower).map_err(|_| Problem::of(Kind::NotFound))?;
        let wanted = if *method == Method::HEAD { &Method::GET } else { method };
        let route_of = |method: &Method| {
            found.value.iter().find(|at| self.routes[**at].method == *method).copied()
        };
        let Some(at) = route_of(wanted).or_else(|| route_of(&other_methods())) else {
            return Err(self.not_allowed(method, found.value));
        };
        let mut params = Vec::with_capacity(found.params.len());
        for (name, value) in found.params.iter() {
            let value = as_sent(path, value);
            let value = percent_decode_str(value).decode_utf8().map_err(|_| {
                Problem::of(Kind::BadRequest).error("The path is not UTF-8 when decoded.")
            })?;
            params.push((name.to_owned(), value.into_owned()));
        }
        Ok((&self.routes[at], Params(params)))
    }

    /// Returns who may call a path, where all its methods agree.
    pub fn guard(&self, path: &str) -> Option<Guard> {
        let lower = path.strip_suffix('/').unwrap_or(path).to_ascii_lowercase();
        let routes = self.templates.at(&lower).ok()?.value;
        let mut all = routes.iter().map(|at| self.routes[*at].guard);
        let first = all.next()?;
        all.all(|guard| guard == first).then_some(first)
    }

    fn not_allowed(&self, method: &Method, routes: &[usize]) -> Problem {
        let mut methods: Vec<&str> =
            routes.iter().map(|at| self.routes[*at].method.as_str()).collect();
        if methods.contains(&"GET") {
            methods.push("HEAD");
        }
        methods.sort_unstable();
        let allow = HeaderValue::try_from(methods.join(", "))
            .unwrap_or_else(|_| HeaderValue::from_static(""));
        Problem::of(Kind::MethodNotAllowed)
            .error(format!("{method} is not allowed here; allowed: {}.", methods.join(", ")))
            .header(ALLOW, allow)
    }
}

/// A template with its fixed segments in lower case.
fn lower_case(template: &str) -> String {
    let fold = |segment: &str| {
        if segment.starts_with('{') { segment.to_owned() } else { segment.to_ascii_lowercase() }
    };
    template.split('/').map(fold).collect::<Vec<_>>().join("/")
}

/// Returns a placeholder's value in the case in which it was sent. The value is one path segment.
fn as_sent<'p>(path: &'p str, value: &'p str) -> &'p str {
    path.split('/').find(|segment| segment.eq_ignore_ascii_case(value)).unwrap_or(value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use homeroom_http::{empty_response, handler};

    fn router() -> Router<()> {
        let route = |method: Method, template| Route {
            method,
            template,
            guard: Guard::Public,
            body_limit: 0,
            handler: handler(&(), |(), _| async {
                Ok(empty_response(http::StatusCode::NO_CONTENT))
            }),
        };
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
            let (route, _) = router.find(&method, path).unwrap_or_else(|e| panic!("{path}: {e:?}"));

            assert_eq!(route.template, template, "{path}");
        }
        assert!(router.find(&Method::GET, "/data/v3/ed-fi/students//").is_err());
    }

    #[test]
    fn a_public_route_takes_no_long_bodies() {
        let route = |guard, body_limit| Route::<()> {
            method: Method::POST,
            template: "/long",
            guard,
            body_limit,
            handler: handler(&(), |(), _| async {
                Ok(empty_response(http::StatusCode::NO_CONTENT))
            }),
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

        let (_, params) = router.find(&Method::GET, "/DATA/v3/Ed-Fi/Students/AbC%2Fd").unwrap();

        assert_eq!(params.get("schema"), "Ed-Fi");
        assert_eq!(params.get("id"), "AbC/d");
    }

    #[test]
    fn a_known_path_with_another_method_names_those_that_are_allowed() {
        let problem = router().find(&Method::PATCH, "/data/v3/ed-fi/students").err().unwrap();

        assert_eq!(problem.kind, Kind::MethodNotAllowed);
        assert_eq!(problem.headers[0].1, "GET, HEAD, POST");
    }
}
