//! The target of a redirect, and the parts of the request that are sent there.

use http::header::{
    ACCEPT, ACCEPT_CHARSET, ACCEPT_ENCODING, ACCEPT_LANGUAGE, CACHE_CONTROL, CONTENT_ENCODING,
    CONTENT_LANGUAGE, CONTENT_LENGTH, CONTENT_LOCATION, CONTENT_TYPE, HOST, IF_MODIFIED_SINCE,
    IF_NONE_MATCH, LOCATION, RANGE, TRANSFER_ENCODING, USER_AGENT,
};
use http::{HeaderMap, Method, StatusCode};

use crate::url::Url;

/// Whether a client follows redirects.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Redirects {
    /// The caller gets the redirecting answer.
    #[default]
    Returned,
    /// The client follows at most this many in a row. It never goes from https to http. To another
    /// origin it sends no body, and only headers that are known to contain no secret, such as `Accept`.
    Followed(u32),
}

/// The next request of a chain of redirects.
#[derive(Debug, PartialEq, Eq)]
pub struct Step {
    /// Its URL.
    pub url: Url,
    /// Its method.
    pub method: Method,
    /// Whether the body is sent again.
    pub keeps_body: bool,
}

impl Redirects {
    /// Returns the next request after an answer; `None` if the caller gets this answer. `followed` is
    /// the number of redirects so far.
    ///
    /// # Errors
    ///
    /// The reason why the redirect is not followed.
    ///
    /// Source: RFC 9110 §15.4.
    pub fn step(
        self,
        followed: u32,
        from: (&Method, &Url),
        answer: (StatusCode, &HeaderMap),
    ) -> Result<Option<Step>, &'static str> {
        let Self::Followed(most) = self else { return Ok(None) };
        let (status, headers) = answer;
        let (method, url) = from;
        let becomes_get = match status.as_u16() {
            301 | 302 => method == Method::POST,
            303 => method != Method::GET && method != Method::HEAD,
            307 | 308 => false,
            _ => return Ok(None),
        };
        let Some(location) = headers.get(LOCATION) else { return Ok(None) };
        if followed >= most {
            return Err("there were too many before it");
        }
        let location = location.to_str().map_err(|_| "its target is not a URL")?;
        let target = url.join(location)?;
        if url.origin().is_secure && !target.origin().is_secure {
            return Err("it leads from https to http");
        }
        let method = if becomes_get { Method::GET } else { method.clone() };
        Ok(Some(Step { url: target, method, keeps_body: !becomes_get }))
    }
}

impl Step {
    /// Returns whether the next request goes to another origin.
    pub fn leaves(&self, from: &Url) -> bool {
        from.origin() != self.url.origin()
    }

    /// Removes the headers that must not be sent with the next request: those that may be secret if it
    /// goes to another origin, and those that describe the body if it has none.
    pub fn strip(&self, from: &Url, headers: &mut HeaderMap) {
        headers.remove(HOST);
        if self.leaves(from) {
            let mut kept = HeaderMap::new();
            for name in [
                ACCEPT,
                ACCEPT_CHARSET,
                ACCEPT_ENCODING,
                ACCEPT_LANGUAGE,
                CACHE_CONTROL,
                IF_MODIFIED_SINCE,
                IF_NONE_MATCH,
                RANGE,
                USER_AGENT,
            ] {
                for value in headers.get_all(&name) {
                    kept.append(&name, value.clone());
                }
            }
            *headers = kept;
        }
        if !self.keeps_body {
            for name in [
                CONTENT_ENCODING,
                CONTENT_LANGUAGE,
                CONTENT_LENGTH,
                CONTENT_LOCATION,
                CONTENT_TYPE,
                TRANSFER_ENCODING,
            ] {
                headers.remove(name);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use http::header::{AUTHORIZATION, COOKIE};
    use http::{HeaderName, HeaderValue};

    use super::*;

    fn url(text: &str) -> Url {
        Url::parse(text).unwrap()
    }

    fn step(
        method: &Method,
        from: &str,
        status: u16,
        to: &'static str,
    ) -> Result<Option<Step>, &'static str> {
        let mut headers = HeaderMap::new();
        headers.insert(LOCATION, HeaderValue::from_static(to));
        let status = StatusCode::from_u16(status).unwrap();
        Redirects::Followed(3).step(2, (method, &url(from)), (status, &headers))
    }

    #[test]
    fn the_status_decides_method_and_body() {
        for (method, status, next, keeps_body) in [
            (Method::POST, 301, Method::GET, false),
            (Method::POST, 302, Method::GET, false),
            (Method::PUT, 302, Method::PUT, true),
            (Method::PUT, 303, Method::GET, false),
            (Method::HEAD, 303, Method::HEAD, true),
            (Method::POST, 307, Method::POST, true),
            (Method::POST, 308, Method::POST, true),
        ] {
            let found = step(&method, "http://a/x/y", status, "z").unwrap().unwrap();

            assert_eq!(found, Step { url: url("http://a/x/z"), method: next, keeps_body });
        }
        assert_eq!(step(&Method::GET, "http://a/", 304, "z"), Ok(None));
        assert_eq!(step(&Method::GET, "http://a/", 200, "z"), Ok(None));
    }

    #[test]
    fn an_invalid_or_endless_redirect_is_an_error() {
        for target in ["http://a/", "ftp://a/", "https://u:p@a/", "//", "https://"] {
            assert!(step(&Method::GET, "https://a/", 302, target).is_err(), "{target}");
        }
        let headers = HeaderMap::from_iter([(LOCATION, HeaderValue::from_static("/"))]);
        let from = (&Method::GET, &url("http://a/"));
        let chain = |followed| {
            Redirects::Followed(3).step(followed, from, (StatusCode::FOUND, &headers)).is_ok()
        };
        assert_eq!([chain(2), chain(3)], [true, false]);
    }

    #[test]
    fn headers_that_may_be_secret_are_not_sent_to_another_origin() {
        let key = HeaderName::from_static("x-api-key");
        let names = [AUTHORIZATION, COOKIE, key.clone(), ACCEPT, CONTENT_TYPE, HOST];
        let headers: HeaderMap =
            names.iter().map(|name| (name.clone(), HeaderValue::from_static("x"))).collect();
        for (target, keeps_body, kept) in [
            ("https://a/y", true, vec![&AUTHORIZATION, &COOKIE, &key, &ACCEPT, &CONTENT_TYPE]),
            ("https://a:443/y", false, vec![&AUTHORIZATION, &COOKIE, &key, &ACCEPT]),
            ("https://a:444/y", true, vec![&ACCEPT]),
            ("https://b/y", false, vec![&ACCEPT]),
        ] {
            let step = Step { url: url(target), method: Method::GET, keeps_body };
            let mut headers = headers.clone();

            step.strip(&url("https://A/x"), &mut headers);

            let found: Vec<_> = names.iter().filter(|name| headers.contains_key(*name)).collect();
            assert_eq!(found, kept, "{target}");
        }
    }
}
