//! The server's address as the caller sees it.

use http::HeaderMap;
use http::uri::Uri;

/// Scheme, host and port of a request, `https://api.example.org`. With `trusted`, what a reverse
/// proxy says in `X-Forwarded-…` comes first.
pub(crate) fn base_url(headers: &HeaderMap, uri: &Uri, trusted: bool) -> String {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let forwarded = |name: &str| {
        text(name).filter(|_| trusted).and_then(|value| value.split(',').next()).map(str::trim)
    };
    let scheme = forwarded("x-forwarded-proto").filter(|s| matches!(*s, "http" | "https"));
    let scheme = scheme.unwrap_or("http");
    let host = forwarded("x-forwarded-host")
        .or_else(|| text("host"))
        .or_else(|| uri.authority().map(http::uri::Authority::as_str))
        .filter(|host| is_host(host))
        .unwrap_or("localhost");
    let usual = if scheme == "https" { "443" } else { "80" };
    match forwarded("x-forwarded-port").filter(|p| p.parse::<u16>().is_ok() && *p != usual) {
        Some(port) if !host.contains(':') => format!("{scheme}://{host}:{port}"),
        _ => format!("{scheme}://{host}"),
    }
}

/// Whether a text can be a host and port: nothing that could break out of a URL.
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
            headers.insert(*name, value.parse().unwrap());
        }
        base_url(&headers, &Uri::from_static("/"), trusted)
    }

    #[test]
    fn the_proxy_is_believed_only_when_trusted() {
        let sent = [
            ("host", "10.0.0.1:8080"),
            ("x-forwarded-proto", "https"),
            ("x-forwarded-host", "api.example.org, inner"),
            ("x-forwarded-port", "8443"),
        ];

        assert_eq!(base(&sent, true), "https://api.example.org:8443");
        assert_eq!(base(&sent, false), "http://10.0.0.1:8080");
        assert_eq!(base(&[("host", "a\"b")], false), "http://localhost");
    }
}
