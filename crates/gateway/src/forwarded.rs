//! What a trusted reverse proxy reports about a request: the server's address as the caller sees
//! it, with the path that the proxy puts in front, and the caller's address.
//!
//! A proxy appends what it has seen to what the caller sent, which can be anything. So of several
//! values, on one line or more, the last one counts: it comes from the trusted hop. A proxy that
//! replaces the header sends only one. `Forwarded` (RFC 7239) is not read.

use std::net::{IpAddr, SocketAddr};

use http::HeaderMap;
use http::uri::Uri;

/// Longest path that a proxy may put in front.
const PREFIX_BYTES_MAX: usize = 128;

/// Returns scheme, host and port of a request, `https://api.example.org`. With `trusted`, the
/// `X-Forwarded-…` headers of a reverse proxy come first, and the path that it takes off requests
/// follows, `https://example.org/ods`; `is_secure` says whether the connection is within TLS.
pub(crate) fn base_url(headers: &HeaderMap, uri: &Uri, trusted: bool, is_secure: bool) -> String {
    let forwarded = |name: &str| if trusted { last(headers, name) } else { None };
    let scheme = forwarded("x-forwarded-proto").filter(|s| matches!(*s, "http" | "https"));
    let scheme = scheme.unwrap_or(if is_secure { "https" } else { "http" });
    let host = forwarded("x-forwarded-host")
        .or_else(|| headers.get("host").and_then(|value| value.to_str().ok()))
        .or_else(|| uri.authority().map(http::uri::Authority::as_str))
        .filter(|host| is_host(host))
        .unwrap_or("localhost");
    let usual = if scheme == "https" { "443" } else { "80" };
    let prefix = forwarded("x-forwarded-prefix").and_then(prefix).unwrap_or("");
    match forwarded("x-forwarded-port").filter(|p| p.parse::<u16>().is_ok() && *p != usual) {
        Some(port) if !host.contains(':') => format!("{scheme}://{host}:{port}{prefix}"),
        _ => [scheme, "://", host, prefix].concat(),
    }
}

/// Returns a path without the slash at its end, if it is one and has nothing that could lead elsewhere
/// or break out of a URL: segments of letters, digits and `-._~`.
fn prefix(sent: &str) -> Option<&str> {
    let path = sent.strip_suffix('/').unwrap_or(sent);
    let is_segment = |segment: &str| {
        !matches!(segment, "" | "." | "..")
            && segment.bytes().all(|b| b.is_ascii_alphanumeric() || b"-._~".contains(&b))
    };
    let segments = path.strip_prefix('/')?;
    (path.len() <= PREFIX_BYTES_MAX && segments.split('/').all(is_segment)).then_some(path)
}

/// Returns the caller's address as a trusted proxy gives it in `X-Forwarded-For`; one of IPv4 as such,
/// however it is written.
pub(crate) fn client_address(headers: &HeaderMap) -> Option<IpAddr> {
    let sent = last(headers, "x-forwarded-for")?;
    let bare = sent.trim_start_matches('[').trim_end_matches(']');
    let with_port = || sent.parse::<SocketAddr>().ok().map(|with_port| with_port.ip());
    let address: IpAddr = bare.parse().ok().or_else(with_port)?;
    Some(address.to_canonical())
}

/// Returns the last value of a header over all its lines; [`None`] where it is empty or not text.
fn last<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    let line = headers.get_all(name).iter().next_back()?.to_str().ok()?;
    line.rsplit(',').next().map(str::trim).filter(|value| !value.is_empty())
}

/// Returns host and port that the request itself names, in its target or in `Host`. The result is
/// empty where there is none, or where they do not agree.
///
/// Source: RFC 9112 §3.2, RFC 9113 §8.3.1 (`:authority`).
pub(crate) fn host(headers: &HeaderMap, uri: &Uri) -> String {
    let sent = headers.get_all(http::header::HOST).iter().map(|value| value.to_str().unwrap_or(""));
    let mut named = uri.authority().map(http::uri::Authority::as_str).into_iter().chain(sent);
    let first = named.next().unwrap_or_default();
    if named.all(|other| other == first) { first.to_owned() } else { String::new() }
}

/// Returns whether a text can be a host and port, with nothing that could break out of a URL.
fn is_host(text: &str) -> bool {
    !text.is_empty()
        && text.len() <= 255
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || b".-:[]_".contains(&b))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn base(pairs: &[(&'static str, &str)], trusted: bool) -> String {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            headers.append(*name, value.parse().unwrap());
        }
        base_url(&headers, &Uri::from_static("/"), trusted, false)
    }

    #[test]
    fn the_host_is_what_the_request_names_and_no_proxy() {
        let of = |pairs: &[(&'static str, &str)], uri: &'static str| {
            let mut headers = HeaderMap::new();
            for (name, value) in pairs {
                headers.append(*name, value.parse().unwrap());
            }
            host(&headers, &Uri::from_static(uri))
        };

        assert_eq!(of(&[("host", "a:1"), ("x-forwarded-host", "localhost")], "/"), "a:1");
        assert_eq!(of(&[("host", "a:1")], "http://a:1/"), "a:1");
        assert_eq!(of(&[], "http://a:1/"), "a:1");
        assert_eq!(of(&[("host", "localhost")], "http://a:1/"), "");
        assert_eq!(of(&[("host", "localhost"), ("host", "a")], "/"), "");
        assert_eq!(of(&[], "/"), "");
    }

    #[test]
    fn the_proxy_is_believed_only_when_trusted() {
        let sent = [
            ("host", "10.0.0.1:8080"),
            ("x-forwarded-proto", "https"),
            ("x-forwarded-host", "api.example.org"),
            ("x-forwarded-port", "8443"),
        ];

        assert_eq!(base(&sent, true), "https://api.example.org:8443");
        assert_eq!(base(&sent, false), "http://10.0.0.1:8080");
        assert_eq!(base(&[("host", "a\"b")], false), "http://localhost");
        let within_tls = base_url(&HeaderMap::new(), &Uri::from_static("/"), false, true);
        assert_eq!(within_tls, "https://localhost");
    }

    #[test]
    fn a_trusted_proxy_may_put_a_path_in_front_that_is_nothing_but_a_path() {
        let with = |prefix: &str, trusted: bool| {
            base(&[("host", "api.example.org"), ("x-forwarded-prefix", prefix)], trusted)
        };

        for (sent, seen) in [
            ("/ods", "/ods"),
            ("/ods/", "/ods"),
            ("/districts/north-1/v1.2", "/districts/north-1/v1.2"),
            ("/evil, /ods", "/ods"),
            ("/", ""),
            ("ods", ""),
            ("//evil.example", ""),
            ("/ods//x", ""),
            ("/ods/../x", ""),
            ("/%2e%2e", ""),
            ("/a\"b", ""),
            ("/a?b", ""),
        ] {
            assert_eq!(with(sent, true), format!("http://api.example.org{seen}"), "{sent}");
        }
        assert_eq!(with(&format!("/{}", "a".repeat(128)), true), "http://api.example.org");
        assert_eq!(with("/ods", false), "http://api.example.org");
    }

    #[test]
    fn of_what_several_hops_say_the_last_one_counts() {
        for sent in [
            &[("x-forwarded-host", "evil.example, api.example.org")][..],
            &[("x-forwarded-host", "evil.example,api.example.org ")],
            &[("x-forwarded-host", "evil.example"), ("x-forwarded-host", "api.example.org")],
            &[("x-forwarded-host", "a, evil.example"), ("x-forwarded-host", "b, api.example.org")],
        ] {
            let all = [&[("host", "inner"), ("x-forwarded-proto", "http, https")], sent].concat();
            assert_eq!(base(&all, true), "https://api.example.org", "{sent:?}");
        }
        let port = [("host", "inner"), ("x-forwarded-port", "1"), ("x-forwarded-port", "2, 8443")];
        assert_eq!(base(&port, true), "http://inner:8443");
        let nothing = [("host", "inner"), ("x-forwarded-host", "evil.example, ")];
        assert_eq!(base(&nothing, true), "http://inner", "an earlier hop is not believed instead");
    }

    #[test]
    fn the_caller_is_the_one_whom_the_trusted_hop_has_seen() {
        let address = |lines: &[&str]| {
            let mut headers = HeaderMap::new();
            for line in lines {
                headers.append("x-forwarded-for", line.parse().unwrap());
            }
            client_address(&headers).map(|address| address.to_string())
        };

        for (lines, expected) in [
            (&["192.0.2.1"][..], Some("192.0.2.1")),
            (&["198.51.100.9, 192.0.2.1"], Some("192.0.2.1")),
            (&["198.51.100.9", "192.0.2.1:4711"], Some("192.0.2.1")),
            (&["[2001:db8::1]"], Some("2001:db8::1")),
            (&["[2001:db8::1]:80"], Some("2001:db8::1")),
            (&["2001:db8::1"], Some("2001:db8::1")),
            (&["::ffff:192.0.2.1"], Some("192.0.2.1")),
            (&["[::ffff:192.0.2.1]:80"], Some("192.0.2.1")),
            (&["192.0.2.1, unknown"], None),
            (&[], None),
        ] {
            assert_eq!(address(lines).as_deref(), expected, "{lines:?}");
        }
    }
}
