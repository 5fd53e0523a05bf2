//! What is wrong with a head that hyper accepts: whatever another server could read differently.

use homeroom_http::{Kind, Problem};
use http::header::{HOST, TRANSFER_ENCODING};
use http::uri::Authority;
use http::{HeaderValue, Version, request};

/// Returns what is wrong with a head that hyper accepts.
///
/// Source: RFC 9112 §3.2 (a target is a path, or a whole URL for proxies; one `Host`), §6.1 (a coding
/// that is not known is 501); RFC 9113 §8.3.1 (`:authority` and `Host` agree); RFC 9110 §4.2.4 (no user
/// names).
pub(super) fn malformed(head: &request::Parts) -> Option<Problem> {
    let fault = |text: &str| Some(Problem::of(Kind::BadRequest).error(text));
    if head.uri.path().is_empty() {
        return fault("The request target is not a path; a path begins with a slash.");
    }
    let mut hosts = head.headers.get_all(HOST).iter();
    let (host, other) = (hosts.next(), hosts.next());
    if other.is_some() || (head.version == Version::HTTP_11 && host.is_none()) {
        return fault("A request must have exactly one Host header.");
    }
    if host.is_some_and(|host| !is_host(host.as_bytes())) {
        return fault("The Host header is not a host with an optional port.");
    }
    if let Some(authority) = head.uri.authority() {
        if authority.as_str().contains('@') {
            return fault("The request target has a user name.");
        }
        if host.is_some_and(|host| !is_same(authority, host, head.uri.scheme_str())) {
            return fault("The Host header is not the host of the request target.");
        }
    }
    let mut codings = head.headers.get_all(TRANSFER_ENCODING).iter();
    let is_chunked = |coding: &HeaderValue| coding.as_bytes().eq_ignore_ascii_case(b"chunked");
    if codings.next().is_some_and(|coding| !is_chunked(coding)) || codings.next().is_some() {
        return Some(
            Problem::of(Kind::NotImplemented)
                .detail("The only transfer coding that this server reads is chunked, once."),
        );
    }
    None
}

/// Returns whether bytes are a host with an optional port, or nothing.
fn is_host(bytes: &[u8]) -> bool {
    bytes.iter().all(|byte| byte.is_ascii_alphanumeric() || b".-_~%!$&'()*+;=:[]".contains(byte))
}

/// Returns whether the target of a request and its `Host` name the same host and port.
fn is_same(target: &Authority, host: &HeaderValue, scheme: Option<&str>) -> bool {
    let usual = if scheme == Some("https") { ":443" } else { ":80" };
    let bare = |text: &str| text.strip_suffix(usual).unwrap_or(text).to_ascii_lowercase();
    host.to_str().is_ok_and(|host| bare(host) == bare(target.as_str()))
}

#[cfg(test)]
mod tests {
    use http::Request;

    use super::*;

    fn status(target: &str, version: Version, headers: &[(&str, &str)]) -> Option<u16> {
        let mut request = Request::builder().uri(target).version(version);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let (head, ()) = request.body(()).unwrap().into_parts();
        malformed(&head).map(|problem| problem.kind.status().as_u16())
    }

    #[test]
    fn a_request_names_one_host() {
        let v1 = Version::HTTP_11;
        for (target, version, headers, expected) in [
            ("/", v1, &[("host", "a:1")][..], None),
            ("/", v1, &[("host", "")], None),
            ("/", v1, &[("host", "[::1]:80")], None),
            ("/", Version::HTTP_10, &[], None),
            ("/", v1, &[], Some(400)),
            ("/", v1, &[("host", "a"), ("host", "a")], Some(400)),
            ("/", Version::HTTP_10, &[("host", "a"), ("host", "b")], Some(400)),
            ("/", v1, &[("host", "a b")], Some(400)),
            ("/", v1, &[("host", "a@b")], Some(400)),
            ("/", v1, &[("host", "a/b")], Some(400)),
            ("/", v1, &[("host", "a,b")], Some(400)),
            ("http://A/", v1, &[("host", "a:80")], None),
            ("http://a/", v1, &[("host", "b")], Some(400)),
            ("http://a:1/", v1, &[("host", "a")], Some(400)),
            ("http://x@a/", v1, &[("host", "a")], Some(400)),
            ("https://a/", Version::HTTP_2, &[("host", "a:443")], None),
            ("https://a/", Version::HTTP_2, &[], None),
            ("https://a/", Version::HTTP_2, &[("host", "b")], Some(400)),
        ] {
            assert_eq!(status(target, version, headers), expected, "{target} {headers:?}");
        }
    }

    #[test]
    fn a_body_is_chunked_once_or_not_at_all() {
        for (codings, expected) in [
            (&["chunked"][..], None),
            (&["Chunked"], None),
            (&["gzip, chunked"], Some(501)),
            (&["chunked, chunked"], Some(501)),
            (&["chunked", "chunked"], Some(501)),
            (&["identity"], Some(501)),
            (&["chunked;q=1"], Some(501)),
        ] {
            let mut headers = vec![("host", "a")];
            headers.extend(codings.iter().map(|coding| ("transfer-encoding", *coding)));

            assert_eq!(status("/", Version::HTTP_11, &headers), expected, "{codings:?}");
        }
    }
}
