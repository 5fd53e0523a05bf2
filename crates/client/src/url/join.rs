//! Resolves a relative reference, such as the target of a redirect.

use http::Uri;
use http::uri::Authority;

use super::Url;

impl Url {
    /// Resolves a reference against this URL.
    ///
    /// # Errors
    ///
    /// The reason why the reference is not valid.
    ///
    /// Source: RFC 3986 §5.2.2; RFC 9110 §10.2.2 (`Location`).
    pub fn join(&self, reference: &str) -> Result<Self, &'static str> {
        let reference = reference.split('#').next().unwrap_or_default();
        let scheme = self.0.uri.scheme_str().unwrap_or("https");
        let authority = self.0.uri.authority().map_or("", Authority::as_str);
        let (path, query) = match self.path_and_query().split_once('?') {
            Some((path, query)) => (path, Some(query)),
            None => (self.path_and_query(), None),
        };
        let has_scheme = reference
            .find([':', '/', '?'])
            .is_some_and(|at| at > 0 && reference[at..].starts_with(':'));
        let text = if has_scheme {
            reference.to_owned()
        } else if reference.starts_with("//") {
            format!("{scheme}:{reference}")
        } else if reference.is_empty() {
            let query = query.map(|query| format!("?{query}")).unwrap_or_default();
            format!("{scheme}://{authority}{path}{query}")
        } else if reference.starts_with('?') {
            format!("{scheme}://{authority}{path}{reference}")
        } else {
            let (to, query) = match reference.split_once('?') {
                Some((to, query)) => (to, format!("?{query}")),
                None => (reference, String::new()),
            };
            let folder = match path.rfind('/') {
                Some(at) if !to.starts_with('/') => &path[..=at],
                _ => "",
            };
            let path = without_dots(&format!("{folder}{to}"));
            format!("{scheme}://{authority}{path}{query}")
        };
        let uri: Uri = text.parse().map_err(|_| "its target is not a URL")?;
        Self::from_uri(uri)
    }
}

/// Removes the segments `.` and `..` from an absolute path (RFC 3986 §5.2.4).
fn without_dots(path: &str) -> String {
    let mut kept: Vec<&str> = vec![];
    let segments = path.split('/').skip(1);
    let ends_in_folder = matches!(path.rsplit('/').next(), Some("." | ".." | ""));
    for segment in segments {
        match segment {
            "." => {}
            ".." => _ = kept.pop(),
            _ => kept.push(segment),
        }
    }
    if ends_in_folder && kept.last() != Some(&"") {
        kept.push("");
    }
    format!("/{}", kept.join("/"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_relative_reference_is_resolved_as_in_rfc_3986() {
        let base = Url::parse("http://a/b/c/d;p?q").unwrap();
        for (reference, whole) in [
            ("g", "http://a/b/c/g"),
            ("./g", "http://a/b/c/g"),
            ("g/", "http://a/b/c/g/"),
            ("/g", "http://a/g"),
            ("//g", "http://g/"),
            ("?y", "http://a/b/c/d;p?y"),
            ("g?y", "http://a/b/c/g?y"),
            ("g?y/../x", "http://a/b/c/g?y/../x"),
            ("g#s", "http://a/b/c/g"),
            ("", "http://a/b/c/d;p?q"),
            (".", "http://a/b/c/"),
            ("..", "http://a/b/"),
            ("../g", "http://a/b/g"),
            ("../..", "http://a/"),
            ("../../../g", "http://a/g"),
            ("https://x:1/y", "https://x:1/y"),
        ] {
            assert_eq!(base.join(reference).unwrap().as_uri(), whole, "{reference}");
        }
        let rootless = Url::parse("http://a?x").unwrap();
        for (reference, whole) in [
            ("g", "http://a/g"),
            ("", "http://a/?x"),
            ("?y", "http://a/?y"),
            ("..", "http://a/"),
            ("http://h?x", "http://h/?x"),
            ("//h?x", "http://h/?x"),
        ] {
            assert_eq!(rootless.join(reference).unwrap().as_uri(), whole, "{reference}");
        }
        for bad in ["ftp://x/", "javascript:alert(1)", "http://u:p@x/", "http:g", "a b"] {
            assert!(base.join(bad).is_err(), "{bad}");
        }
    }

    proptest! {
        #[test]
        fn any_location_becomes_a_url_or_is_refused(
            base in "http://a[/?.:a]{0,6}",
            references in proptest::collection::vec("(http:)?[a/?#:.@*\\[\\]%0ä-]{0,8}", 1..4),
        ) {
            let mut at = Url::parse(&base).ok();
            for reference in references {
                let Some(url) = at else { break };
                at = url.join(&reference).ok();
                if let Some(next) = &at {
                    prop_assert!(next.path_and_query().starts_with('/'));
                    let again = Url::parse(&next.as_uri().to_string());
                    prop_assert_eq!(again.as_ref(), Ok(next));
                }
            }
        }
    }
}
