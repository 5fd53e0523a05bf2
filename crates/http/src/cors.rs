//! Which pages of other origins may call a route from a browser.
//!
//! Source: the Fetch standard, §3.2 (CORS protocol). Callers show tokens or keys, never cookies, so no
//! answer allows credentials.

use std::time::Duration;

use http::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, ACCESS_CONTROL_REQUEST_HEADERS,
    ACCESS_CONTROL_REQUEST_METHOD, ORIGIN, VARY,
};
use http::{HeaderMap, HeaderValue, Method, StatusCode};

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
}

impl Default for Cors {
    fn default() -> Self {
        Self { origins: vec![], max_age: Duration::from_mins(10) }
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

    /// Returns the answer to a preflight, where `methods` are those of the address. [`None`] where
    /// the request is none, or its origin may not call.
    pub fn preflight(
        &self,
        method: &Method,
        headers: &HeaderMap,
        methods: &[&Method],
    ) -> Option<Response> {
        if *method != Method::OPTIONS || !headers.contains_key(ACCESS_CONTROL_REQUEST_METHOD) {
            return None;
        }
        let origin = headers.get(ORIGIN).filter(|origin| self.allows(origin))?.clone();
        let mut answer = empty_response(StatusCode::NO_CONTENT);
        let out = answer.headers_mut();
        out.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin);
        let names: Vec<&str> = methods.iter().map(|method| method.as_str()).collect();
        out.insert(ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_str(&names.join(", ")).ok()?);
        if let Some(asked) = headers.get(ACCESS_CONTROL_REQUEST_HEADERS)
            && asked.len() <= HEADER_NAMES_BYTES_MAX
        {
            out.insert(ACCESS_CONTROL_ALLOW_HEADERS, asked.clone());
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

    /// Lets the page that sent a request read its answer, where its origin may call.
    pub fn expose(&self, origin: &HeaderValue, answer: &mut Response) {
        if self.origins.is_empty() {
            return;
        }
        answer.headers_mut().append(VARY, HeaderValue::from_static("Origin"));
        if self.allows(origin) {
            let headers = answer.headers_mut();
            headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin.clone());
            headers.insert(ACCESS_CONTROL_EXPOSE_HEADERS, HeaderValue::from_static("*"));
        }
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
            let methods = [&Method::GET, &Method::PUT];
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
