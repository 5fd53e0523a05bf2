//! How long a caller waits for its answer, as it says itself.
//!
//! Source: RFC 7240 §4.3 (`Prefer: wait=SECONDS`).
#![expect(clippy::disallowed_methods, reason = "a caller's patience has an end")]

use std::time::{Duration, Instant};

use http::{HeaderMap, HeaderName};

const PREFER: HeaderName = HeaderName::from_static("prefer");

/// Returns when the caller of a request stops waiting, if it says so.
pub(crate) fn patience(headers: &HeaderMap) -> Option<Instant> {
    Instant::now().checked_add(stated(headers)?)
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
        assert_eq!(patience(&headers), None);

        headers.append(PREFER, u64::MAX.to_string().parse().unwrap());

        assert_eq!(patience(&headers), None);
    }
}
