//! The URL of a request: http or https, a host, a path and a query.

mod join;

use std::fmt;
use std::net::Ipv6Addr;
use std::sync::Arc;

use http::uri::{Authority, PathAndQuery, Scheme};
use http::{HeaderValue, Uri};

/// A URL that a request can be sent to. It has no user name, password or fragment. Its host is in lower
/// case and the default port of its scheme is omitted, so that one server has one spelling.
///
/// Its `Display` form leaves out the query, since a query may contain secrets.
#[derive(Clone, PartialEq, Eq)]
pub struct Url(Arc<Whole>);

#[derive(PartialEq, Eq)]
struct Whole {
    uri: Uri,
    origin: Arc<Origin>,
    /// What a `Host` header says of it.
    host: HeaderValue,
}

/// An error for text that is not a URL to which a request can be sent.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{shown:?} is not a URL to send to: {reason}; write it as https://host/path")]
pub struct UrlError {
    /// The text without its query, user name and password.
    pub shown: String,
    /// What is wrong with it.
    pub reason: &'static str,
}

/// The server that a URL names. Connections and credentials belong to one origin each.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Origin {
    /// Whether connections use TLS.
    pub is_secure: bool,
    /// The name or address, in lower case and without the brackets of an IPv6 address.
    pub host: String,
    /// The TCP port.
    pub port: u16,
}

impl Url {
    /// Reads an absolute URL.
    ///
    /// # Errors
    ///
    /// If it is not absolute, has another scheme than `http` or `https`, has no host, or contains a
    /// user name, a password or a fragment.
    pub fn parse(text: &str) -> Result<Self, UrlError> {
        let refuse = |reason| UrlError { shown: shown(text), reason };
        if text.contains('#') {
            return Err(refuse("it has a fragment"));
        }
        let behind_scheme = text.split_once("://").map_or("", |(_, rest)| rest);
        let authority = behind_scheme.split(['/', '?']).next().unwrap_or_default();
        if !authority.is_ascii() {
            return Err(refuse("its host is not ASCII, as its Punycode form (xn--...) would be"));
        }
        let uri: Uri = text.parse().map_err(|_| refuse("it is not an absolute URL"))?;
        Self::from_uri(uri).map_err(refuse)
    }

    fn from_uri(uri: Uri) -> Result<Self, &'static str> {
        let mut parts = uri.into_parts();
        match parts.scheme.as_ref().map(Scheme::as_str) {
            Some("http" | "https") => {}
            Some(_) => return Err("its scheme is neither http nor https"),
            None => return Err("it is not an absolute URL"),
        }
        let is_secure = parts.scheme == Some(Scheme::HTTPS);
        let authority = parts.authority.as_ref().ok_or("it has no host")?;
        parts.authority = Some(usual_form(authority, is_secure)?);
        let path_and_query = parts.path_and_query.as_ref().map_or("/", PathAndQuery::as_str);
        if path_and_query.starts_with('?') {
            let rooted = format!("/{path_and_query}").parse::<PathAndQuery>();
            parts.path_and_query = Some(rooted.map_err(|_| "it is not an absolute URL")?);
        } else if path_and_query.starts_with('/') {
            parts.path_and_query.get_or_insert(PathAndQuery::from_static("/"));
        } else {
            return Err("its path does not begin with a slash");
        }
        let uri = Uri::from_parts(parts).map_err(|_| "it is not an absolute URL")?;
        let authority = uri.authority().map_or("", Authority::as_str);
        let value = HeaderValue::from_str(authority);
        let value = value.expect("an authority has visible characters only");
        let host = uri.host().unwrap_or_default();
        let host = host.trim_start_matches('[').trim_end_matches(']').to_ascii_lowercase();
        let port = uri.port_u16().unwrap_or(usual_port(is_secure));
        let origin = Arc::new(Origin { is_secure, host, port });
        Ok(Self(Arc::new(Whole { uri, origin, host: value })))
    }

    /// Returns the URL of a path and a query at the end of this one, which has no query. It is that of the
    /// two texts together, and costs much less.
    ///
    /// # Errors
    ///
    /// If there would be a fragment, or the rest does not begin with a slash or a question mark.
    pub fn below(&self, rest: &str) -> Result<Self, UrlError> {
        let refuse = |reason| UrlError { shown: format!("{self}{}", shown(rest)), reason };
        let own = self.path_and_query().trim_end_matches('/');
        let text = match rest.as_bytes().first() {
            None if own.is_empty() => "/".to_owned(),
            Some(b'?') if own.is_empty() => format!("/{rest}"),
            None | Some(b'/' | b'?') => [own, rest].concat(),
            Some(_) => return Err(refuse("its path does not begin with a slash")),
        };
        if rest.contains('#') {
            return Err(refuse("it has a fragment"));
        }
        let wrong = |_| refuse("it is not an absolute URL");
        let mut parts = http::uri::Parts::default();
        parts.scheme = self.0.uri.scheme().cloned();
        parts.authority = self.0.uri.authority().cloned();
        let path_and_query = PathAndQuery::from_maybe_shared(bytes::Bytes::from(text));
        parts.path_and_query = Some(path_and_query.map_err(wrong)?);
        let uri = Uri::from_parts(parts).map_err(|_| refuse("it is not an absolute URL"))?;
        let (origin, host) = (Arc::clone(&self.0.origin), self.0.host.clone());
        Ok(Self(Arc::new(Whole { uri, origin, host })))
    }

    /// Returns the origin of the URL.
    pub fn origin(&self) -> &Arc<Origin> {
        &self.0.origin
    }

    /// Returns the path, which begins with a slash, and the query.
    pub fn path_and_query(&self) -> &str {
        self.0.uri.path_and_query().map_or("/", PathAndQuery::as_str)
    }

    /// Returns the host with its port where that is not the usual one, as a `Host` header names it.
    pub(crate) fn host(&self) -> HeaderValue {
        self.0.host.clone()
    }

    /// Returns the path and the query as a URI of their own.
    pub(crate) fn relative(&self) -> Uri {
        self.0.uri.path_and_query().cloned().map(Uri::from).unwrap_or_default()
    }

    /// Returns the URL as a type of the `http` crate, with the query.
    pub fn as_uri(&self) -> &Uri {
        &self.0.uri
    }
}

fn usual_port(is_secure: bool) -> u16 {
    if is_secure { 443 } else { 80 }
}

/// Returns an authority with its host in lower case and without the default port.
fn usual_form(authority: &Authority, is_secure: bool) -> Result<Authority, &'static str> {
    if authority.as_str().contains('@') {
        return Err("it contains a user name or password");
    }
    let host = authority.host();
    if host.is_empty() {
        return Err("it has no host");
    }
    let port = match &authority.as_str()[host.len()..] {
        "" => usual_port(is_secure),
        rest => {
            let digits = rest.strip_prefix(':').filter(|text| !text.starts_with('+'));
            let number = digits.and_then(|digits| digits.parse::<u16>().ok());
            number.filter(|port| *port != 0).ok_or("its port is not a number from 1 to 65535")?
        }
    };
    let host = match host.strip_prefix('[') {
        Some(rest) => {
            let address = rest.strip_suffix(']').and_then(|text| text.parse::<Ipv6Addr>().ok());
            format!("[{}]", address.ok_or("what is in its brackets is not an IPv6 address")?)
        }
        None => host.to_ascii_lowercase(),
    };
    let text = if port == usual_port(is_secure) { host } else { format!("{host}:{port}") };
    text.parse().map_err(|_| "it is not an absolute URL")
}

/// Returns the text of an invalid URL without the parts that may be secret.
fn shown(text: &str) -> String {
    let end = text.find(['?', '#']).unwrap_or(text.len());
    let text = match text.rfind('@') {
        // An `@` behind a `?` or `#`: the parts cannot be told apart.
        Some(at) if at > end => "",
        _ => &text[..end],
    };
    let (scheme, rest) = text.split_once("://").unwrap_or(("", text));
    let rest = rest.rsplit_once('@').map_or(rest, |(_, rest)| rest);
    if scheme.is_empty() { rest.to_owned() } else { format!("{scheme}://{rest}") }
}

impl fmt::Display for Url {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let authority = self.0.uri.authority().map_or("", Authority::as_str);
        write!(
            f,
            "{}://{authority}{}",
            self.0.uri.scheme_str().unwrap_or_default(),
            self.0.uri.path()
        )
    }
}

impl fmt::Debug for Url {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Url({self})")
    }
}

impl TryFrom<Uri> for Url {
    type Error = UrlError;

    fn try_from(uri: Uri) -> Result<Self, UrlError> {
        let text = shown(&uri.to_string());
        Self::from_uri(uri).map_err(|reason| UrlError { shown: text, reason })
    }
}

impl std::str::FromStr for Url {
    type Err = UrlError;

    fn from_str(text: &str) -> Result<Self, UrlError> {
        Self::parse(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_without_a_path_gets_the_root() {
        let url = Url::parse("https://Example.org").unwrap();

        assert_eq!(url.path_and_query(), "/");
        let origin = Origin { is_secure: true, host: "example.org".into(), port: 443 };
        assert_eq!(**url.origin(), origin);
        assert_eq!(Url::parse("http://a?x=/y").unwrap().as_uri(), "http://a/?x=/y");
        assert_eq!(Url::parse("http://[::1]:80/x").unwrap().origin().host, "::1");
    }

    #[test]
    fn what_is_below_a_url_is_that_of_both_texts_together() {
        for base in ["http://A", "https://a:8443/", "http://[::1]:80/x", "http://a/x/y/"] {
            let base = Url::parse(base).unwrap();
            let text = base.as_uri().to_string();
            let text = text.trim_end_matches('/');
            for rest in ["", "/", "/b", "/b?c=d", "?c", "//e/", "/%2f..", "/a b", "/?#", "/ü"] {
                let whole = Url::parse(&format!("{text}{rest}"));
                let below = base.below(rest);

                assert_eq!(below.as_ref().ok(), whole.as_ref().ok(), "{text} {rest}");
                assert_eq!(below.is_ok(), whole.is_ok(), "{text} {rest}");
            }
            for rest in ["@b/", ":81/", ".b/", "b"] {
                assert!(base.below(rest).is_err(), "{rest}");
            }
        }
    }

    #[test]
    fn one_server_has_one_spelling() {
        for (text, whole) in [
            ("http://A:80/X", "http://a/X"),
            ("http://a:443/", "http://a:443/"),
            ("https://a:0443/", "https://a/"),
            ("https://a:80/", "https://a:80/"),
            ("http://[0:0::1]:80/", "http://[::1]/"),
        ] {
            assert_eq!(Url::parse(text).unwrap().as_uri().to_string(), whole);
        }
    }

    #[test]
    fn a_host_that_is_not_ascii_is_refused_with_a_hint() {
        let refused = Url::parse("https://münchen.test/").unwrap_err();

        assert!(refused.reason.contains("Punycode"), "{refused}");
        assert!(Url::parse("https://xn--mnchen-3ya.test/ü").is_ok());
    }

    #[test]
    fn an_invalid_url_is_refused_and_its_secrets_are_not_shown() {
        for text in [
            "",
            "/path",
            "ftp://host/",
            "file:///etc/passwd",
            "gopher://host/",
            "https://",
            "https://user:hidden@host/",
            "https://user:hidden@host/?x=hidden",
            "https://host/?x=hidden#y",
            "https://host:99999/",
            "https://host:0/",
            "https://host:+80/",
            "https://host:a/",
            "https://[::1]foo:80/",
            "https://[localhost]/",
            "https://[fe80::1%25eth0]/",
            "https://host:/",
            "https://ho st/?hidden",
            "https://host/?a=hidden@b c",
        ] {
            let error = Url::parse(text).unwrap_err();

            assert!(!error.to_string().contains("hidden"), "{error}");
        }
    }

    #[test]
    fn display_and_debug_omit_the_query() {
        let url = Url::parse("https://host:1/a/b?token=hidden").unwrap();

        assert_eq!(format!("{url} {url:?}"), "https://host:1/a/b Url(https://host:1/a/b)");
    }
}
