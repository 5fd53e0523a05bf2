//! The two origins, as browsers see them.

use homeroom_access::Call;

/// Where the API and the content are served.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Origins {
    /// Port of the API.
    pub main_port: u16,
    /// Port of the content.
    pub content_port: u16,
    /// Origin of the API, where it is another than the port says, such as behind a proxy.
    pub main_url: Option<String>,
    /// Origin of the content, where it is another than the port says.
    pub content_url: Option<String>,
}

impl Origins {
    /// Returns the origin for links that callers of the API get: the one that they have called. The
    /// player stands at its root, even where a proxy puts a path in front of the API.
    pub(crate) fn api(&self, call: &Call) -> String {
        match &self.main_url {
            Some(configured) => configured.trim_end_matches('/').to_owned(),
            None => without_path(&call.base_url).to_owned(),
        }
    }

    /// Returns the origin of the API.
    pub(crate) fn main(&self, call: &Call) -> String {
        if self.main_url.is_none() && port_of(&call.base_url) != Some(self.content_port) {
            return self.api(call);
        }
        origin(&call.base_url, self.main_url.as_deref(), self.main_port)
    }

    /// Returns the origin of the content.
    pub(crate) fn content(&self, call: &Call) -> String {
        origin(&call.base_url, self.content_url.as_deref(), self.content_port)
    }
}

/// Returns scheme, host and port of a base URL.
fn without_path(base: &str) -> &str {
    let host = base.find("://").map_or(0, |at| at + 3);
    let end = base[host..].find('/').map_or(base.len(), |at| host + at);
    &base[..end]
}

/// Returns the port that a base URL names.
fn port_of(base: &str) -> Option<u16> {
    without_path(base).rsplit_once(':').and_then(|(_, port)| port.parse().ok())
}

/// Returns the same scheme and host with another port.
fn origin(base: &str, configured: Option<&str>, port: u16) -> String {
    if let Some(configured) = configured {
        return configured.trim_end_matches('/').to_owned();
    }
    let Some((scheme, rest)) = base.split_once("://") else { return base.to_owned() };
    let authority = rest.split('/').next().unwrap_or(rest);
    let host = match authority.rfind(']') {
        Some(end) => &authority[..=end],
        None => authority.split(':').next().unwrap_or(authority),
    };
    format!("{scheme}://{host}:{port}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_port_differs_unless_an_origin_is_configured() {
        for (base, content) in [
            ("http://127.0.0.1:8080", "http://127.0.0.1:8081"),
            ("https://learn.example.org", "https://learn.example.org:8081"),
            ("http://[::1]:8080", "http://[::1]:8081"),
        ] {
            assert_eq!(origin(base, None, 8081), content);
        }
        assert_eq!(without_path("https://example.org:444/ods"), "https://example.org:444");
        assert_eq!(without_path("http://[::1]:8080"), "http://[::1]:8080");
        assert_eq!(port_of("https://example.org:444/ods"), Some(444));
        let configured = Some("https://content.example.org/");
        assert_eq!(origin("http://a", configured, 1), "https://content.example.org");
    }
}
