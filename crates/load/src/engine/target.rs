//! The server that requests go to.

use std::net::{SocketAddr, ToSocketAddrs};

use http::Uri;

/// A server's origin and the path of its root.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// Whether connections use TLS.
    pub secure: bool,
    /// The name or address, as in the URL.
    pub host: String,
    /// The TCP port.
    pub port: u16,
    /// The prefix of every path, without a trailing slash; often empty.
    pub prefix: String,
}

/// Why the URL of a target cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TargetError {
    /// It is not an absolute HTTP URL.
    #[error("{url:?} is not the URL of a server: write http://host:port or https://host/path")]
    NoUrl {
        /// What was given, without parts that may be a password.
        url: String,
    },
    /// Its name does not resolve to an address.
    #[error("{host} has no address: {why}")]
    NoAddress {
        /// The name that was looked up.
        host: String,
        /// The resolver's message.
        why: String,
    },
}

impl Target {
    /// Reads a URL: scheme, host, port and path. A user, query or fragment is not allowed.
    ///
    /// # Errors
    ///
    /// If it is not an HTTP URL, or has such parts.
    pub fn parse(url: &str) -> Result<Self, TargetError> {
        let no_url = || TargetError::NoUrl { url: shown(url) };
        let uri: Uri = url.trim().parse().map_err(|_| no_url())?;
        let secure = match uri.scheme_str() {
            Some("http") => false,
            Some("https") => true,
            _ => return Err(no_url()),
        };
        let authority = uri.authority().ok_or_else(no_url)?;
        if authority.as_str().contains('@') || uri.query().is_some() || url.contains('#') {
            return Err(no_url());
        }
        let port = match authority.port() {
            Some(port) => port.as_u16(),
            None => [80, 443][usize::from(secure)],
        };
        let host = authority.host().to_owned();
        if host.is_empty() {
            return Err(no_url());
        }
        Ok(Self { secure, host, port, prefix: uri.path().trim_end_matches('/').to_owned() })
    }

    /// Returns the value of the `Host` header, with the port only if it is not the scheme's
    /// default.
    pub fn authority(&self) -> String {
        match (self.secure, self.port) {
            (false, 80) | (true, 443) => self.host.clone(),
            _ => format!("{}:{}", self.host, self.port),
        }
    }

    /// Returns the URL without a trailing slash.
    pub fn url(&self) -> String {
        format!("{}{}", self.origin(), self.prefix)
    }

    /// Returns its scheme, host and port, as browsers name an origin.
    pub fn origin(&self) -> String {
        let scheme = if self.secure { "https" } else { "http" };
        format!("{scheme}://{}", self.authority())
    }

    /// Returns the name, without the brackets of an IPv6 address.
    pub fn name(&self) -> &str {
        self.host.trim_start_matches('[').trim_end_matches(']')
    }

    /// Looks up its addresses with the system's resolver.
    ///
    /// # Errors
    ///
    /// If there is none.
    pub fn resolve(&self) -> Result<Vec<SocketAddr>, TargetError> {
        let failed = |why: String| TargetError::NoAddress { host: self.host.clone(), why };
        let found: Vec<SocketAddr> = (self.name(), self.port)
            .to_socket_addrs()
            .map_err(|error| failed(error.to_string()))?
            .collect();
        if found.is_empty() { Err(failed("the resolver found none".into())) } else { Ok(found) }
    }
}

/// Returns the given URL without parts that may be a password or a parameter's value.
fn shown(url: &str) -> String {
    let end = url.find(['?', '#']).unwrap_or(url.len());
    let (place, rest) = match url.rfind('@') {
        // An `@` after a `?` or `#`: the parts cannot be told apart.
        Some(at) if at > end => ("", ""),
        _ => url.split_at(end),
    };
    let (scheme, place) = place.split_once("://").unwrap_or(("", place));
    let divider = if scheme.is_empty() { "" } else { "://" };
    let (user, place) = place.rsplit_once('@').map_or(("", place), |(_, place)| ("…@", place));
    let rest = if rest.is_empty() { "" } else { "…" };
    format!("{scheme}{divider}{user}{place}{rest}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_that_is_refused_is_shown_without_its_secrets() {
        for (url, wanted) in [
            ("localhost:8080", "\"localhost:8080\""),
            ("http://a:hunter2@c/d", "\"http://…@c/d\""),
            ("http://a:hun@ter2@c", "\"http://…@c\""),
            ("http://x/?api_key=hunter2", "\"http://x/…\""),
            ("http://x/#hunter2", "\"http://x/…\""),
            ("http://a:hun?ter2@c", "\"\""),
        ] {
            let shown = Target::parse(url).unwrap_err().to_string();

            assert!(shown.starts_with(&format!("{wanted} is not the URL")), "{url}: {shown}");
        }
    }

    #[test]
    fn a_url_is_read_into_its_parts() {
        let plain = Target::parse("http://127.0.0.1:8080").unwrap();
        let deep = Target::parse("https://ods.example.org/v7.3/api/").unwrap();
        let six = Target::parse("http://[::1]:81/").unwrap();

        assert_eq!((plain.secure, plain.port, plain.prefix.as_str()), (false, 8080, ""));
        assert_eq!((deep.secure, deep.port, deep.prefix.as_str()), (true, 443, "/v7.3/api"));
        assert_eq!(deep.authority(), "ods.example.org");
        assert_eq!((six.name(), six.authority().as_str()), ("::1", "[::1]:81"));
        assert_eq!(deep.url(), "https://ods.example.org/v7.3/api");
    }

    #[test]
    fn an_invalid_target_url_is_refused() {
        for url in ["", "localhost:8080", "ftp://x", "http://a:b@c", "http://x/?q", "http://x/#f"] {
            assert!(Target::parse(url).is_err(), "{url}");
        }
    }

    #[test]
    fn a_loopback_address_resolves_to_itself() {
        let target = Target::parse("http://127.0.0.1:8080").unwrap();

        assert_eq!(target.resolve().unwrap(), ["127.0.0.1:8080".parse().unwrap()]);
    }
}
