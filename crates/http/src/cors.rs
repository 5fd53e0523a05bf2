//! Which pages of other origins may call a route from a browser.
//!
//! Source: the Fetch standard, §3.2 (CORS protocol). Callers show tokens or keys; what a browser sends by
//! itself, such as cookies and client certificates, is allowed only where a route says so.

use std::time::Duration;

use http::header::{
    ACCESS_CONTROL_ALLOW_CREDENTIALS, ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS,
    ACCESS_CONTROL_ALLOW_ORIGIN, ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE,
    ACCESS_CONTROL_REQUEST_HEADERS, ACCESS_CONTROL_REQUEST_METHOD, ORIGIN, VARY,
};
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};

use crate::response::{Response, empty_response};

/// Longest list of header names that a preflight is granted, in bytes.
const HEADER_NAMES_BYTES_MAX: usize = 1_024;

/// The origins whose pages may call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cors {
    /// Origins such as `https://app.example.org`, or `*` for all; none by default.
    pub origins: Vec<String>,
    /// How long a browser may keep the answer to a preflight.
    pub max_age: Duration,
    /// Whether pages may have cookies and client certificates sent along; never to all origins.
    pub credentials: bool,
}

/// Headers of answers that are this server's to say, where origins are named.
const OWN: [HeaderName; 6] = [
    ACCESS_CONTROL_ALLOW_CREDENTIALS,
    ACCESS_CONTROL_ALLOW_HEADERS,
    ACCESS_CONTROL_ALLOW_METHODS,
    ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS,
    ACCESS_CONTROL_MAX_AGE,
];

/// Headers of every answer, which pages may read without being told.
const SAFELISTED: [&str; 3] = ["content-length", "content-type", "vary"];

impl Default for Cors {
    fn default() -> Self {
        Self { origins: vec![], max_age: Duration::from_mins(10), credentials: false }
    }
}

impl Cors {
    /// Returns whether a text is an origin as browsers send it: scheme, host, and a port unless it
    /// is the usual one; or `*`.
    pub fn is_origin(text: &str) -> bool {
        let host = |host: &str| {
            !host.is_empty()
                && host.bytes().all(|b| b.is_ascii_alphanumeric() || b".-:[]_".contains(&b))
        };
        text == "*"
            || text.split_once("://").is_some_and(|(scheme, rest)| {
                !scheme.is_empty()
                    && scheme.bytes().all(|b| b.is_ascii_alphanumeric() || b"+.-".contains(&b))
                    && host(rest)
            })
    }

    /// Returns whether a browser asks with a request whether a page may send another.
    pub fn is_preflight(method: &Method, headers: &HeaderMap) -> bool {
        *method == Method::OPTIONS
            && headers.contains_key(ORIGIN)
            && headers.contains_key(ACCESS_CONTROL_REQUEST_METHOD)
    }

    /// Returns the answer to a preflight, where `methods` are those of the address. [`None`] where
    /// the request is none, or its origin may not call.
    pub fn preflight(
        &self,
        method: &Method,
        headers: &HeaderMap,
        methods: &[Method],
    ) -> Option<Response> {
        if !Self::is_preflight(method, headers) {
            return None;
        }
        let origin = headers.get(ORIGIN).filter(|origin| self.allows(origin))?.clone();
        let mut answer = empty_response(StatusCode::NO_CONTENT);
        let out = answer.headers_mut();
        out.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin);
        let names: Vec<&str> = methods.iter().map(Method::as_str).collect();
        out.insert(ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_str(&names.join(", ")).ok()?);
        if let Some(asked) = headers.get(ACCESS_CONTROL_REQUEST_HEADERS)
            && asked.len() <= HEADER_NAMES_BYTES_MAX
        {
            out.insert(ACCESS_CONTROL_ALLOW_HEADERS, asked.clone());
        }
        if self.credentials {
            out.insert(ACCESS_CONTROL_ALLOW_CREDENTIALS, HeaderValue::from_static("true"));
        }
        out.insert(ACCESS_CONTROL_MAX_AGE, HeaderValue::from(self.max_age.as_secs()));
        out.insert(
            VARY,
            HeaderValue::from_static(
                "Origin, Access-Control-Request-Method, Access-Control-Request-Headers",
            ),
        );
        Some(answer)
    }

    /// Lets the page that sent a request read its answer, where its origin may call. What an upstream has
    /// said of other origins does not count.
    pub fn expose(&self, origin: &HeaderValue, answer: &mut Response) {
        if self.origins.is_empty() {
            return;
        }
        let headers = answer.headers_mut();
        for name in &OWN {
            headers.remove(name);
        }
        if self.allows(origin) {
            headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin.clone());
            if self.credentials {
                headers.insert(ACCESS_CONTROL_ALLOW_CREDENTIALS, HeaderValue::from_static("true"));
                // To a request with credentials, an asterisk is the name of a header.
                let names: Vec<&str> = headers.keys().map(HeaderName::as_str).collect();
                let is_told =
                    |name: &&str| !SAFELISTED.contains(name) && !name.starts_with("access-");
                let names: Vec<&str> = names.into_iter().filter(is_told).collect();
                if let Ok(names) = HeaderValue::try_from(names.join(", ")) {
                    headers.insert(ACCESS_CONTROL_EXPOSE_HEADERS, names);
                }
            } else {
                headers.insert(ACCESS_CONTROL_EXPOSE_HEADERS, HeaderValue::from_static("*"));
            }
        }
        headers.append(VARY, HeaderValue::from_static("Origin"));
    }

    fn allows(&self, origin: &HeaderValue) -> bool {
        self.origins.iter().any(|own| own == "*" || own.as_bytes() == origin.as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        pairs.iter().map(|(n, v)| (n.parse().unwrap(), HeaderValue::from_static(v))).collect()
    }

    fn of(origins: &[&str]) -> Cors {
        Cors { origins: origins.iter().map(|o| (*o).to_owned()).collect(), ..Cors::default() }
    }

    const ASKED: &[(&str, &str)] = &[
        ("origin", "https://app.test"),
        ("access-control-request-method", "PUT"),
        ("access-control-request-headers", "authorization,if-match"),
    ];

    #[test]
    fn a_preflight_of_an_allowed_origin_is_granted() {
        for cors in [of(&["https://app.test"]), of(&["*"])] {
            let methods = [Method::GET, Method::PUT];
            let answer = cors.preflight(&Method::OPTIONS, &headers(ASKED), &methods).unwrap();

            let said = |name: &str| answer.headers()[name].to_str().unwrap().to_owned();
            assert_eq!(answer.status(), 204);
            assert_eq!(said("access-control-allow-origin"), "https://app.test");
            assert_eq!(said("access-control-allow-methods"), "GET, PUT");
            assert_eq!(said("access-control-allow-headers"), "authorization,if-match");
            assert!(!answer.headers().contains_key("access-control-allow-credentials"));
        }
    }

    #[test]
    fn nothing_is_open_by_default_or_to_other_origins() {
        for cors in [Cors::default(), of(&["https://other.test", "http://app.test"])] {
            assert!(cors.preflight(&Method::OPTIONS, &headers(ASKED), &[]).is_none());
            let mut answer = empty_response(StatusCode::OK);
            cors.expose(&HeaderValue::from_static("https://app.test"), &mut answer);
            assert!(!answer.headers().contains_key("access-control-allow-origin"));
        }
        let cors = of(&["*"]);
        assert!(cors.preflight(&Method::GET, &headers(ASKED), &[]).is_none());
        assert!(cors.preflight(&Method::OPTIONS, &headers(&ASKED[..1]), &[]).is_none());
    }

    #[test]
    fn an_answer_says_that_it_depends_on_the_origin() {
        let cors = of(&["https://app.test"]);
        for (origin, is_allowed) in [("https://app.test", true), ("https://no.test", false)] {
            let mut answer = empty_response(StatusCode::OK);

            cors.expose(&HeaderValue::from_static(origin), &mut answer);

            assert_eq!(answer.headers()["vary"], "Origin");
            assert_eq!(answer.headers().contains_key("access-control-allow-origin"), is_allowed);
        }
    }

    #[test]
    fn with_credentials_the_headers_of_an_answer_are_named_and_an_upstream_allows_nothing() {
        let cors = Cors { credentials: true, ..of(&["https://app.test"]) };
        let preflight = cors.preflight(&Method::OPTIONS, &headers(ASKED), &[Method::PUT]).unwrap();
        let answered = |origin: &'static str| {
            let mut answer = empty_response(StatusCode::OK);
            *answer.headers_mut() = headers(&[
                ("etag", "\"1\""),
                ("content-type", "application/json"),
                ("access-control-allow-origin", "*"),
                ("access-control-allow-methods", "TRACE"),
            ]);
            cors.expose(&HeaderValue::from_static(origin), &mut answer);
            answer.headers().clone()
        };

        let own = answered("https://app.test");
        let other = answered("https://no.test");

        assert_eq!(preflight.headers()["access-control-allow-credentials"], "true");
        assert_eq!(own["access-control-allow-credentials"], "true");
        assert_eq!(own["access-control-allow-origin"], "https://app.test");
        assert_eq!(own["access-control-expose-headers"], "etag");
        assert!(
            other.keys().all(|name| !name.as_str().starts_with("access-control-")),
            "{other:?}"
        );
    }

    #[test]
    fn an_origin_has_no_path() {
        for (text, right) in [
            ("https://app.example.org", true),
            ("http://localhost:3000", true),
            ("http://[::1]:3000", true),
            ("*", true),
            ("https://app.example.org/", false),
            ("app.example.org", false),
            ("https://", false),
            ("", false),
        ] {
            assert_eq!(Cors::is_origin(text), right, "{text}");
        }
    }
}
