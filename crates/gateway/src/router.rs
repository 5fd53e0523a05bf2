//! From a path and a method to a route.

use std::collections::HashMap;

use homeroom_http::{Kind, Params, Problem, Route};
use http::header::ALLOW;
use http::{HeaderValue, Method};
use percent_encoding::percent_decode_str;

/// A table of routes that contradicts itself.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RouteError {
    /// Two templates cannot be told apart.
    #[error("the route {template} cannot stand beside another: {reason}")]
    Conflict {
        /// The later template.
        template: String,
        /// Why.
        reason: String,
    },
    /// A template has the same method twice.
    #[error("{method} {template} stands twice")]
    Twice {
        /// Method.
        method: Method,
        /// Template.
        template: String,
    },
}

/// All routes, ready to be matched.
pub struct Router<C> {
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
            same.push(at);
        }
        let mut templates = matchit::Router::new();
        for template in order {
            let routes = by_template.remove(template).unwrap_or_default();
            templates.insert(template, routes).map_err(|error| RouteError::Conflict {
                template: template.into(),
                reason: error.to_string(),
            })?;
        }
        Ok(Self { templates, routes })
    }

    /// All routes.
    pub fn routes(&self) -> &[Route<C>] {
        &self.routes
    }

    /// The route for a method and a path, and the values of its placeholders. HEAD is answered by
    /// the GET route.
    ///
    /// # Errors
    ///
    /// 404 for an unknown path, 405 with `Allow` for a known one with other methods; 400 for
    /// percent-encoding that is not UTF-8.
    pub fn find(&self, method: &Method, path: &str) -> Result<(&Route<C>, Params), Problem> {
        let found = self.templates.at(path).map_err(|_| Problem::of(Kind::NotFound))?;
        let wanted = if *method == Method::HEAD { &Method::GET } else { method };
        let Some(at) = found.value.iter().find(|at| self.routes[**at].method == *wanted) else {
            return Err(self.not_allowed(found.value));
        };
        let mut params = Vec::with_capacity(found.params.len());
        for (name, value) in found.params.iter() {
            let value = percent_decode_str(value).decode_utf8().map_err(|_| {
                Problem::of(Kind::BadRequest).error("The path is not UTF-8 when decoded.")
            })?;
            params.push((name.to_owned(), value.into_owned()));
        }
        Ok((&self.routes[*at], Params(params)))
    }

    fn not_allowed(&self, routes: &[usize]) -> Problem {
        let mut methods: Vec<&str> =
            routes.iter().map(|at| self.routes[*at].method.as_str()).collect();
        if methods.contains(&"GET") {
            methods.push("HEAD");
        }
        methods.sort_unstable();
        let allow = HeaderValue::try_from(methods.join(", "))
            .unwrap_or_else(|_| HeaderValue::from_static(""));
        Problem::of(Kind::MethodNotAllowed).header(ALLOW, allow)
    }
}
