//! How long a caller waits for its answer, as it says itself.
//!
//! Source: RFC 7240 §4.3 (`Prefer: wait=SECONDS`).
#![expect(clippy::disallowed_methods, reason = "a caller's patience has an end")]

use std::time::{Duration, Instant};

use http::{HeaderMap, HeaderName};

const PREFER: HeaderName = HeaderName::from_static("prefer");

/// When whoever has sent a request within this server stops waiting; an extension of its head.
#[derive(Debug, Clone, Copy)]
pub struct Until(pub Instant);

/// Returns when the caller of a request stops waiting, if it says so, or if whoever has sent it on does.
pub(crate) fn patience(headers: &HeaderMap, sent_on: Option<Until>) -> Option<Instant> {
    let stated = stated(headers).and_then(|time| Instant::now().checked_add(time));
    stated.into_iter().chain(sent_on.map(|Until(until)| until)).min()
}

/// Returns how long the caller of a request waits, if it says so.
pub fn stated(headers: &HeaderMap) -> Option<Duration> {
    if !headers.contains_key(PREFER) {
        return None;
    }
    let lines = headers.get_all(PREFER).iter().filter_map(|line| line.to_str().ok());
    let mut preferences = lines.flat_map(|line| line.split(','));
    preferences.find_map(|preference| {
        let (name, value) = preference.split(';').next()?.split_once('=')?;
        let seconds = value.trim().trim_matches('"').parse().ok()?;
        name.trim().eq_ignore_ascii_case("wait").then(|| Duration::from_secs(seconds))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_wait_of_all_preferences_counts() {
        for (lines, expected) in [
            (&["wait=10"][..], Some(10)),
            (&["handling=strict, Wait = \"3\"; a=b, wait=9"], Some(3)),
            (&["handling=strict", "wait=2"], Some(2)),
            (&["wait=soon"], None),
            (&["wait=-1"], None),
            (&["wait"], None),
            (&[], None),
        ] {
            let mut headers = HeaderMap::new();
            for line in lines {
                headers.append(PREFER, line.parse().unwrap());
            }

            assert_eq!(stated(&headers), expected.map(Duration::from_secs), "{lines:?}");
        }
    }

    #[test]
    fn who_says_nothing_or_waits_for_ever_has_no_end() {
        let mut headers = HeaderMap::new();
        assert_eq!(patience(&headers, None), None);

        headers.append(PREFER, u64::MAX.to_string().parse().unwrap());

        assert_eq!(patience(&headers, None), None);
    }

    #[test]
    fn the_first_to_stop_waiting_counts() {
        let now = Instant::now();
        let [soon, late] = [1, 100].map(|seconds| now + Duration::from_secs(seconds));
        let mut headers = HeaderMap::new();
        assert_eq!(patience(&headers, Some(Until(late))), Some(late));

        headers.append(PREFER, "wait=10".parse().unwrap());

        assert_eq!(patience(&headers, Some(Until(soon))), Some(soon));
        assert!(patience(&headers, Some(Until(late))).is_some_and(|until| until < late));
    }
}
