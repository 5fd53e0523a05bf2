//! A counter of calls: so many a second with a burst, so many in a calendar's unit of time, or both.

use std::sync::Arc;

use homeroom_gateway::{Rate, RateLimit};
use homeroom_http::{Kind, Problem, Timestamp};
use http::header::{HeaderName, RETRY_AFTER};
use http::{HeaderMap, HeaderValue};

use crate::quota::Quota;
use crate::quota_use::Counts;

const RATE_LIMIT: HeaderName = HeaderName::from_static("ratelimit");
const RATE_LIMIT_POLICY: HeaderName = HeaderName::from_static("ratelimit-policy");

/// What counts the calls of each key of its own kind.
#[derive(Debug)]
pub(crate) struct Meter {
    rate: Option<(Arc<RateLimit>, Named)>,
    quota: Option<(Arc<Counts>, Quota, Named)>,
}

/// The name of a limit in headers, and its policy.
#[derive(Debug)]
struct Named {
    name: String,
    policy: HeaderValue,
}

/// What is left of the limit that leaves a caller the fewest calls.
#[derive(Debug)]
pub(crate) struct Left<'a> {
    named: &'a Named,
    calls: u64,
    /// Seconds until all of it is there again.
    seconds: u64,
}

impl Left<'_> {
    /// Returns the one that leaves fewer calls.
    pub(crate) fn fewer<'a>(one: Option<Left<'a>>, other: Option<Left<'a>>) -> Option<Left<'a>> {
        match (one, other) {
            (Some(one), Some(other)) => Some(if other.calls < one.calls { other } else { one }),
            (one, other) => one.or(other),
        }
    }

    /// Counts a call that was taken back.
    pub(crate) fn add_one(&mut self) {
        self.calls += 1;
    }

    /// Tells the caller, unless the answer tells of other limits already.
    ///
    /// Source: draft-ietf-httpapi-ratelimit-headers-10.
    pub(crate) fn tell(&self, headers: &mut HeaderMap) {
        if headers.contains_key(RATE_LIMIT) {
            return;
        }
        headers.insert(RATE_LIMIT, self.named.state(self.calls, self.seconds));
        headers.insert(RATE_LIMIT_POLICY, self.named.policy.clone());
    }
}

impl Named {
    fn new(name: String, calls: u64, seconds: u64) -> Self {
        let policy = HeaderValue::try_from(format!("\"{name}\";q={calls};w={seconds}"));
        Self { name, policy: policy.unwrap_or(HeaderValue::from_static("")) }
    }

    fn state(&self, left: u64, seconds: u64) -> HeaderValue {
        let mut state = String::with_capacity(self.name.len() + 48);
        // Each call is told of it, and formatting costs several times as much.
        for part in ["\"", &self.name, "\";r="] {
            state.push_str(part);
        }
        push_number(&mut state, left);
        state.push_str(";t=");
        push_number(&mut state, seconds);
        HeaderValue::try_from(state).unwrap_or(HeaderValue::from_static(""))
    }

    fn refusal(&self, seconds: u64) -> Problem {
        Problem::of(Kind::TooManyRequests)
            .header(RETRY_AFTER, HeaderValue::from(seconds))
            .header(RATE_LIMIT, self.state(0, seconds))
            .header(RATE_LIMIT_POLICY, self.policy.clone())
    }
}

impl Meter {
    /// Makes a meter that counts calls per second where another one did `before`, if one did.
    pub(crate) fn new(
        name: &str,
        per_second: Option<f64>,
        burst: Option<u32>,
        before: Option<Arc<RateLimit>>,
        quota: Option<(Quota, Arc<Counts>)>,
    ) -> Self {
        let rate = per_second.map(|per_second| {
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "it is in range"
            )]
            let burst = burst.unwrap_or(per_second.ceil().clamp(1.0, 1e6) as u32).max(1);
            let (calls, seconds) = policy(per_second, burst);
            let named = Named::new(name.to_owned(), calls, seconds);
            let fresh = || Arc::new(RateLimit::new(Rate { per_second, burst }));
            (before.unwrap_or_else(fresh), named)
        });
        let quota = quota.map(|(quota, counts)| {
            let named = Named::new(format!("{name}-quota"), quota.calls, quota.per.seconds());
            (counts, quota, named)
        });
        Self { rate, quota }
    }

    /// Returns what counts its calls per second.
    pub(crate) fn rate(&self) -> Option<Arc<RateLimit>> {
        self.rate.as_ref().map(|(rate, _)| Arc::clone(rate))
    }

    /// Returns what counts its calls in a unit of time.
    pub(crate) fn counts(&self) -> Option<Arc<Counts>> {
        self.quota.as_ref().map(|(counts, ..)| Arc::clone(counts))
    }

    /// Counts a call.
    ///
    /// # Errors
    ///
    /// 429 with `Retry-After` and `RateLimit`; such a call does not count.
    pub(crate) fn admit(&self, key: &str, now: Timestamp) -> Result<Option<Left<'_>>, Problem> {
        let mut left = None;
        if let Some((rate, named)) = &self.rate {
            let taken = rate.take(key, now).map_err(|seconds| named.refusal(seconds))?;
            left = Some(Left { named, calls: taken.left, seconds: taken.whole_in });
        }
        if let Some((counts, quota, named)) = &self.quota {
            let taken = counts.admit(quota.calls, key, now).map_err(|seconds| {
                if let Some((rate, _)) = &self.rate {
                    rate.give_back(key);
                }
                named.refusal(seconds)
            });
            let (calls, seconds) = taken?;
            left = Left::fewer(left, Some(Left { named, calls, seconds }));
        }
        Ok(left)
    }

    /// Takes back a call that was refused otherwise.
    pub(crate) fn give_back(&self, key: &str) {
        if let Some((rate, _)) = &self.rate {
            rate.give_back(key);
        }
        if let Some((counts, ..)) = &self.quota {
            counts.give_back(key);
        }
    }
}

/// Appends a number to a text.
fn push_number(text: &mut String, mut number: u64) {
    let mut digits = [b'0'; 20];
    let mut at = digits.len();
    loop {
        at -= 1;
        digits[at] += u8::try_from(number % 10).unwrap_or(0);
        number /= 10;
        if number == 0 {
            break;
        }
    }
    text.extend(digits[at..].iter().copied().map(char::from));
}

/// Returns the calls that a rate allows in a window of whole seconds, and these seconds: the fewest in which
/// a burst is whole again. The burst alone would be fewer calls than the rate allows in them.
fn policy(per_second: f64, burst: u32) -> (u64, u64) {
    let seconds = (f64::from(burst) / per_second).ceil().max(1.0);
    let calls = (per_second * seconds).floor().max(f64::from(burst));
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "what is beyond the range is cut off"
    )]
    let whole = (calls as u64, seconds as u64);
    whole
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_written_as_usual() {
        for number in [0, 7, 10, 99, 100, 1_000_000, u64::MAX] {
            let mut text = "x".to_owned();
            push_number(&mut text, number);
            assert_eq!(text, format!("x{number}"));
        }
    }

    #[test]
    fn a_policy_states_what_the_rate_allows_in_its_window() {
        for (per_second, burst, expected) in [
            (10.0, 5, (10, 1)),
            (10.0, 10, (10, 1)),
            (2.0, 5, (6, 3)),
            (1.0, 60, (60, 60)),
            (0.001, 3, (3, 3_000)),
            (0.3, 1, (1, 4)),
            (1e6, 1, (1_000_000, 1)),
        ] {
            assert_eq!(policy(per_second, burst), expected, "{per_second} {burst}");
        }
        let meter = Meter::new("plan", Some(10.0), Some(5), None, None);
        let mut headers = HeaderMap::new();
        meter.admit("key", Timestamp(0)).unwrap().unwrap().tell(&mut headers);

        assert_eq!(headers["ratelimit-policy"], "\"plan\";q=10;w=1");
        assert_eq!(headers["ratelimit"], "\"plan\";r=4;t=1");
    }
}
