//! Where an answer says that something is: at an upstream or a part, and for the caller at the API.

use http::header::{CONTENT_LOCATION, LOCATION};
use http::{HeaderMap, HeaderValue};

use crate::path::{below, split_origin};

/// What answers of an API lead to.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Places<'a> {
    /// Scheme, host and port of the target, and its path without a slash at its end.
    pub(crate) target: (&'a str, &'a str),
    /// Scheme, host, port and path before the API's own, as the caller sees them.
    pub(crate) base_url: &'a str,
    /// The path of the API.
    pub(crate) base: &'a str,
}

/// Makes `Location` and `Content-Location` lead to the API where they lead to its target. `back` returns the path
/// below the API for one below the target.
pub(crate) fn lead_back(
    headers: &mut HeaderMap,
    places: Places<'_>,
    back: &dyn Fn(&str) -> String,
) {
    for name in [LOCATION, CONTENT_LOCATION] {
        let Some(value) = headers.get(&name).and_then(|value| value.to_str().ok()) else {
            continue;
        };
        let led = led_back(value, places, back).and_then(|led| HeaderValue::try_from(led).ok());
        if let Some(led) = led {
            headers.insert(name, led);
        }
    }
}

/// Returns where a URL leads at the API; [`None`] where it does not lead to its target.
fn led_back(url: &str, places: Places<'_>, back: &dyn Fn(&str) -> String) -> Option<String> {
    let Places { target: (origin, path), base_url, base } = places;
    let is_path = url.starts_with('/') && !url.starts_with("//");
    let (own, at_target) = if is_path {
        (format!("{}{base}", split_origin(base_url).1), Some(url))
    } else {
        (format!("{base_url}{base}"), below(url, origin).filter(|_| !origin.is_empty()))
    };
    let rest = match below(url, &own) {
        // An upstream that uses `X-Forwarded-Prefix` writes the API's path before its own.
        Some(rest) => below(rest, path).filter(|_| !path.is_empty())?,
        None => below(at_target?, path)?,
    };
    Some(format!("{own}{}", back(rest)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_leads_to_the_target_leads_to_the_api() {
        let of = |url: &str, path: &str| {
            let places = Places {
                target: ("http://10.0.0.7:81", path),
                base_url: "https://api.example.org/front",
                base: "/apis/a/v1",
            };
            led_back(url, places, &str::to_owned)
        };
        let api = "https://api.example.org/front/apis/a/v1";
        for (url, path, expected) in [
            ("http://10.0.0.7:81/items/7?x=1", "", Some(format!("{api}/items/7?x=1"))),
            ("http://10.0.0.7:81", "", Some(api.to_owned())),
            ("http://10.0.0.7:8100/items", "", None),
            ("http://10.0.0.7:81/base/items/7", "/base", Some(format!("{api}/items/7"))),
            ("http://10.0.0.7:81/basement/7", "/base", None),
            ("http://10.0.0.7:81/login", "/base", None),
            ("/base/items/7", "/base", Some("/front/apis/a/v1/items/7".into())),
            ("/items/7", "", Some("/front/apis/a/v1/items/7".into())),
            ("/login", "/base", None),
            ("/front/apis/a/v1/items/7", "", None),
            ("/front/apis/a/v1/base/items/7", "/base", Some("/front/apis/a/v1/items/7".into())),
            (&format!("{api}/items/7"), "", None),
            (&format!("{api}/base/items/7"), "/base", Some(format!("{api}/items/7"))),
            ("https://login.example.org/", "", None),
            ("https://api.example.org/front/other", "", None),
            ("//10.0.0.7:81/x", "", None),
            ("items/7", "", None),
            ("", "", None),
        ] {
            assert_eq!(of(url, path), expected, "{url} {path}");
        }
    }

    #[test]
    fn both_headers_are_changed_and_a_part_has_no_address_of_its_own() {
        let mut headers = HeaderMap::new();
        let there = "http://127.0.0.1:1/data/v3/ed-fi/students/7";
        headers.insert(LOCATION, HeaderValue::from_static(there));
        headers.insert(CONTENT_LOCATION, HeaderValue::from_static("/data/v3/x"));
        let places = Places {
            target: ("http://127.0.0.1:1", "/data/v3"),
            base_url: "http://127.0.0.1:1",
            base: "/apis/o/v1",
        };

        lead_back(&mut headers, places, &str::to_owned);

        assert_eq!(headers["location"], "http://127.0.0.1:1/apis/o/v1/ed-fi/students/7");
        assert_eq!(headers["content-location"], "/apis/o/v1/x");
    }
}
