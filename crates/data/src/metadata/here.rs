//! Checks that the page at `/` is requested from this machine, where a demonstration may show its
//! credentials.
//!
//! Any site can make its own name resolve to this machine and then read what the server answers a
//! browser here (DNS rebinding). The site controls neither the `Host` header that the browser sends
//! nor what the browser says about the requesting site.
//!
//! Source: RFC 9110 §7.2 (`Host`), W3C Fetch Metadata Request Headers §2.2 (`Sec-Fetch-Site`).

use std::net::SocketAddr;

use http::HeaderMap;

/// The facts about a request for the page.
#[derive(Debug, Clone, Copy)]
pub struct PageRequest<'a> {
    /// Scheme, host and port as the client sees them.
    pub base_url: &'a str,
    /// Host and port that the request names; empty if it names none or more than one.
    pub host: &'a str,
    /// Its headers.
    pub headers: &'a HeaderMap,
}

/// Why credentials are not shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hidden {
    /// The server is reachable from other machines, too.
    Remote,
    /// The host is not a name of this machine.
    Host,
    /// A proxy forwarded the request for an unknown client.
    Forwarded,
    /// Another site caused the browser's request.
    OtherSite,
}

impl Hidden {
    /// Returns the reason as the end of a sentence.
    pub fn why(self) -> &'static str {
        match self {
            Self::Remote => "other machines reach this server, too",
            Self::Host => "the address of this page is not 127.0.0.1, [::1] or localhost",
            Self::Forwarded => "the request for this page was passed on by a proxy",
            Self::OtherSite => "another site led to this page",
        }
    }
}

/// Headers that a proxy adds.
const FORWARDED: [&str; 6] =
    ["forwarded", "via", "x-forwarded-for", "x-forwarded-host", "x-forwarded-proto", "x-real-ip"];

/// Checks that a request comes from this machine, and uses one of its addresses, on a server that
/// listens on `listening`.
///
/// # Errors
///
/// Returns the reason why this is not certain.
pub fn check(request: &PageRequest<'_>, listening: SocketAddr) -> Result<(), Hidden> {
    if !listening.ip().is_loopback() {
        return Err(Hidden::Remote);
    }
    if !is_loopback(request.host) && request.host != listening.to_string() {
        return Err(Hidden::Host);
    }
    if FORWARDED.iter().any(|name| request.headers.contains_key(*name)) {
        return Err(Hidden::Forwarded);
    }
    // If the user entered the address or followed a link on the page itself, the browser sends no
    // `Origin` and names no other site.
    let is_own = |site: &http::HeaderValue| site == "none" || site == "same-origin";
    if request.headers.contains_key(http::header::ORIGIN)
        || !request.headers.get_all("sec-fetch-site").iter().all(is_own)
    {
        return Err(Hidden::OtherSite);
    }
    Ok(())
}

/// Whether a host, with or without a port, is this machine regardless of name resolution.
fn is_loopback(host: &str) -> bool {
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.parse::<u16>().is_ok() => name,
        _ => host,
    };
    name.eq_ignore_ascii_case("localhost") || name == "127.0.0.1" || name == "[::1]"
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(host: &str, pairs: &[(&'static str, &str)], listening: &str) -> Result<(), Hidden> {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            headers.append(*name, value.parse().unwrap());
        }
        let request = PageRequest { base_url: "http://127.0.0.1", host, headers: &headers };
        check(&request, listening.parse().unwrap())
    }

    #[test]
    fn only_names_of_this_machine_count_as_local() {
        for host in [
            "127.0.0.1",
            "127.0.0.1:8080",
            "127.0.0.1:9",
            "[::1]",
            "[::1]:8080",
            "localhost",
            "LocalHost:8080",
            "127.0.0.9:8080",
        ] {
            assert_eq!(asked(host, &[], "127.0.0.9:8080"), Ok(()), "{host}");
        }
        for host in [
            "",
            "evil.example",
            "evil.example:8080",
            "127.0.0.1.evil.example",
            "localhost.evil.example:8080",
            "evil.example@127.0.0.1",
            "localhost.",
            "localhost:",
            "localhost:80:80",
            "localhost:99999",
            "::1",
            "[::1",
            "[::ffff:127.0.0.1]",
            "127.1",
            "2130706433",
            "0.0.0.0:8080",
            "127.0.0.2",
            "127.0.0.9",
            "127.0.0.9:8081",
            " localhost",
            "localhost, evil.example",
        ] {
            assert_eq!(asked(host, &[], "127.0.0.9:8080"), Err(Hidden::Host), "{host}");
        }
    }

    #[test]
    fn requests_that_another_site_triggers_do_not_count_as_local() {
        for (pairs, shown) in [
            (&[("sec-fetch-site", "none")][..], Ok(())),
            (&[("sec-fetch-site", "same-origin")], Ok(())),
            (&[("sec-fetch-site", "cross-site")], Err(Hidden::OtherSite)),
            (&[("sec-fetch-site", "same-site")], Err(Hidden::OtherSite)),
            (
                &[("sec-fetch-site", "none"), ("sec-fetch-site", "cross-site")],
                Err(Hidden::OtherSite),
            ),
            (&[("origin", "http://localhost:3000")], Err(Hidden::OtherSite)),
            (&[("x-forwarded-for", "10.0.0.7")], Err(Hidden::Forwarded)),
            (&[("x-forwarded-host", "localhost")], Err(Hidden::Forwarded)),
            (&[("forwarded", "for=10.0.0.7")], Err(Hidden::Forwarded)),
        ] {
            assert_eq!(asked("localhost:8080", pairs, "127.0.0.1:8080"), shown, "{pairs:?}");
        }
    }

    #[test]
    fn requests_to_a_server_reachable_by_others_do_not_count_as_local() {
        for listening in ["0.0.0.0:8080", "192.0.2.7:8080", "[::]:8080"] {
            for host in ["localhost:8080", "192.0.2.7:8080"] {
                assert_eq!(asked(host, &[], listening), Err(Hidden::Remote), "{host}");
            }
        }
    }
}
