//! Where a redirect leads, and what of the request goes there.

use http::header::{
    AUTHORIZATION, CONTENT_ENCODING, CONTENT_LANGUAGE, CONTENT_LENGTH, CONTENT_LOCATION,
    CONTENT_TYPE, COOKIE, HOST, LOCATION, PROXY_AUTHORIZATION, TRANSFER_ENCODING,
};
use http::{HeaderMap, Method, StatusCode};

use crate::url::Url;

/// Whether a client follows redirects.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Redirects {
    /// The caller gets the answer that redirects.
    #[default]
    Returned,
    /// The client follows at most this many in a row. It never goes from https to http, and leaves
    /// credentials out where another origin is meant.
    Followed(u32),
}

/// The next request of a chain of redirects.
#[derive(Debug, PartialEq, Eq)]
pub struct Step {
    /// Where it goes.
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
    /// Why the redirect is not followed.
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
    /// Removes the headers that do not belong to the next request: credentials if it goes to another
    /// origin, and the body's if it has none.
    pub fn strip(&self, from: &Url, headers: &mut HeaderMap) {
        headers.remove(HOST);
        if from.origin() != self.url.origin() {
            for name in [AUTHORIZATION, COOKIE, PROXY_AUTHORIZATION] {
                headers.remove(name);
            }
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
    use http::HeaderValue;

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
    fn a_redirect_that_leads_astray_is_an_error() {
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
    fn credentials_stay_with_their_origin() {
        let names = [AUTHORIZATION, COOKIE, CONTENT_TYPE, LOCATION, HOST];
        let headers: HeaderMap =
            names.iter().map(|name| (name.clone(), HeaderValue::from_static("x"))).collect();
        for (target, keeps_body, kept) in [
            ("https://a/y", true, vec![&AUTHORIZATION, &COOKIE, &CONTENT_TYPE, &LOCATION]),
            ("https://a:443/y", false, vec![&AUTHORIZATION, &COOKIE, &LOCATION]),
            ("https://a:444/y", true, vec![&CONTENT_TYPE, &LOCATION]),
            ("https://b/y", false, vec![&LOCATION]),
        ] {
            let step = Step { url: url(target), method: Method::GET, keeps_body };
            let mut headers = headers.clone();

            step.strip(&url("https://A/x"), &mut headers);

            let found: Vec<_> = names.iter().filter(|name| headers.contains_key(*name)).collect();
            assert_eq!(found, kept, "{target}");
        }
    }
}
