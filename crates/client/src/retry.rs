//! Decides whether a request is sent again, and after which pause.

use std::time::Duration;

use http::header::{DATE, RETRY_AFTER};
use http::{HeaderMap, Method};
use jiff::Timestamp;

use crate::error::Phase;

/// The policy by which a client sends a request again.
///
/// Whatever the policy says, a request with a streamed body is sent once, and a request that is not
/// idempotent is not repeated if the server may have received it. A caller may declare a request
/// [repeatable](crate::Request::repeatable), for example because it carries an idempotency key.
#[derive(Debug, Clone, PartialEq)]
pub struct Retries {
    /// The most times that a request is sent again, redirects included; zero for never.
    pub times: u32,
    /// The methods of the requests that are sent again.
    pub methods: Vec<Method>,
    /// The statuses of answers that lead to another attempt.
    pub statuses: Vec<u16>,
    /// The phases whose failure or time-out leads to another attempt.
    pub phases: Vec<Phase>,
    /// The pause before the next attempt, unless the server asks for a longer one.
    pub back_off: BackOff,
    /// The longest pause that a server may ask for with `Retry-After`. If it asks for a longer one,
    /// the request is not sent again, and the caller gets the answer.
    pub retry_after_max: Duration,
}

/// Pauses that double with each attempt and vary randomly.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BackOff {
    /// The pause before the second attempt. Half of it is fixed, the other half is random.
    pub first: Duration,
    /// The longest pause.
    pub most: Duration,
}

/// An attempt that has ended, as [`Retries::pause`] needs to know it.
#[derive(Debug, Clone, Copy)]
pub struct Attempt<'a> {
    /// The number of attempts so far, this one included.
    pub number: u32,
    /// The method of the request.
    pub method: &'a Method,
    /// Whether the caller has declared that the request may arrive twice.
    pub is_repeatable: bool,
    /// Whether the body came as a stream, which can be read only once.
    pub is_streamed: bool,
    /// How the attempt ended.
    pub ended: Ended,
}

/// How an attempt ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// A phase failed.
    Failed {
        /// The phase.
        phase: Phase,
        /// Whether the server may have received some of the request.
        was_sent: bool,
    },
    /// An answer came.
    Answered {
        /// Its status.
        status: u16,
        /// The pause that the server asks for.
        retry_after: Option<Duration>,
    },
}

impl Default for Retries {
    /// No request is sent again.
    fn default() -> Self {
        Self { times: 0, ..Self::few() }
    }
}

impl Retries {
    /// Sends a request at most twice more if a phase fails, or if the answer is 408, 425, 429, 502, 503
    /// or 504.
    pub fn few() -> Self {
        let methods = [Method::GET, Method::HEAD, Method::PUT, Method::DELETE, Method::OPTIONS];
        Self {
            times: 2,
            methods: methods.into_iter().chain([Method::POST, Method::PATCH]).collect(),
            statuses: vec![408, 425, 429, 502, 503, 504],
            phases: Phase::ALL.to_vec(),
            back_off: BackOff { first: Duration::from_millis(200), most: Duration::from_secs(5) },
            retry_after_max: Duration::from_secs(30),
        }
    }

    /// Returns the pause before the request is sent again; `None` if it is not.
    ///
    /// `chance` is a new random number for each attempt, evenly distributed from 0 to 1.
    pub fn pause(&self, attempt: &Attempt<'_>, chance: f64) -> Option<Duration> {
        let is_safe = attempt.is_repeatable || attempt.method.is_idempotent();
        if attempt.number > self.times
            || attempt.is_streamed
            || !self.methods.contains(attempt.method)
        {
            return None;
        }
        let pause = self.back_off.pause(attempt.number, chance);
        match attempt.ended {
            Ended::Failed { phase: Phase::Total, .. } => None,
            Ended::Failed { phase, was_sent } => {
                (self.phases.contains(&phase) && (is_safe || !was_sent)).then_some(pause)
            }
            Ended::Answered { status, retry_after } => {
                let asked = retry_after.unwrap_or_default();
                let again = self.statuses.contains(&status) && is_safe;
                (again && asked <= self.retry_after_max).then_some(pause.max(asked))
            }
        }
    }
}

impl BackOff {
    /// Returns the pause after this many attempts.
    fn pause(self, number: u32, chance: f64) -> Duration {
        let doubled = 2_u32.saturating_pow(number.saturating_sub(1));
        let half = self.first.saturating_mul(doubled).min(self.most) / 2;
        half + half.mul_f64(chance.clamp(0.0, 1.0))
    }
}

/// Returns the pause that an answer asks for with `Retry-After`.
///
/// If the header has a date, the pause runs from the answer's own `Date`, so that the clocks of client
/// and server need not agree, or from `now` if the answer has none.
///
/// Source: RFC 9110 §10.2.3.
pub fn retry_after(headers: &HeaderMap, now: Timestamp) -> Option<Duration> {
    let value = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    if let Ok(seconds) = value.parse() {
        return Some(Duration::from_secs(seconds));
    }
    let moment = |text: &str| jiff::fmt::rfc2822::parse(text).ok().map(|date| date.timestamp());
    let date = headers.get(DATE).and_then(|date| moment(date.to_str().ok()?));
    let seconds = moment(value)?.as_second() - date.unwrap_or(now).as_second();
    Some(Duration::from_secs(u64::try_from(seconds).unwrap_or(0)))
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;
    use proptest::prelude::*;

    use super::*;

    const GET: Method = Method::GET;
    const POST: Method = Method::POST;

    fn failed(phase: Phase, was_sent: bool) -> Ended {
        Ended::Failed { phase, was_sent }
    }

    fn attempt(method: &Method, ended: Ended) -> Attempt<'_> {
        Attempt { number: 1, method, is_repeatable: false, is_streamed: false, ended }
    }

    fn answered(status: u16) -> Ended {
        Ended::Answered { status, retry_after: None }
    }

    #[test]
    fn the_outcome_of_an_attempt_decides_whether_it_is_repeated() {
        let few = Retries::few();
        for (method, ended, is_again) in [
            (&GET, failed(Phase::Connect, false), true),
            (&GET, failed(Phase::Answer, true), true),
            (&GET, failed(Phase::Total, true), false),
            (&GET, answered(503), true),
            (&GET, answered(200), false),
            (&GET, answered(500), false),
            (&POST, failed(Phase::Connect, false), true),
            (&POST, failed(Phase::Send, false), true),
            (&POST, failed(Phase::Send, true), false),
            (&POST, failed(Phase::Answer, true), false),
            (&POST, answered(503), false),
        ] {
            let attempt = attempt(method, ended);

            assert_eq!(few.pause(&attempt, 0.0).is_some(), is_again, "{attempt:?}");
        }
    }

    #[test]
    fn a_request_declared_repeatable_is_retried() {
        let attempt = Attempt { is_repeatable: true, ..attempt(&POST, answered(503)) };

        assert!(Retries::few().pause(&attempt, 0.0).is_some());
        assert_eq!(Retries::default().pause(&attempt, 0.0), None);
        let get_only = Retries { methods: vec![GET], ..Retries::few() };
        assert_eq!(get_only.pause(&attempt, 0.0), None);
    }

    #[test]
    fn a_retry_waits_as_long_as_the_server_asks_up_to_the_limit() {
        let few = Retries::few();
        let asking = |seconds| {
            let retry_after = Some(Duration::from_secs(seconds));
            few.pause(&attempt(&GET, Ended::Answered { status: 429, retry_after }), 1.0)
        };

        assert_eq!(asking(0), Some(few.back_off.first));
        assert_eq!(asking(30), Some(Duration::from_secs(30)));
        assert_eq!(asking(31), None);
    }

    #[test]
    fn retry_after_is_seconds_or_a_date() {
        let date = "Sun, 06 Nov 1994 08:49:37 GMT";
        let now = jiff::fmt::rfc2822::parse("Sun, 06 Nov 1994 08:50:27 GMT").unwrap().timestamp();
        for (value, date, seconds) in [
            ("120", None, Some(120)),
            ("Sun, 06 Nov 1994 08:50:37 GMT", Some(date), Some(60)),
            ("Sun, 06 Nov 1994 08:40:37 GMT", Some(date), Some(0)),
            ("Sun, 06 Nov 1994 08:50:37 GMT", None, Some(10)),
            ("Sun, 06 Nov 1994 08:50:37 GMT", Some("yesterday"), Some(10)),
            ("Sun, 06 Nov 1994 08:40:37 GMT", None, Some(0)),
            ("soon", Some(date), None),
            ("-1", Some(date), None),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(RETRY_AFTER, HeaderValue::from_str(value).unwrap());
            if let Some(date) = date {
                headers.insert(DATE, HeaderValue::from_str(date).unwrap());
            }

            let pause = retry_after(&headers, now);

            assert_eq!(pause.map(|time| time.as_secs()), seconds, "{value}");
        }
    }

    fn ends() -> impl Strategy<Value = Ended> {
        let failures = (0..Phase::ALL.len(), any::<bool>())
            .prop_map(|(at, was_sent)| failed(Phase::ALL[at], was_sent));
        let answers =
            (100u16..600, proptest::option::of(0u64..100)).prop_map(|(status, seconds)| {
                Ended::Answered { status, retry_after: seconds.map(Duration::from_secs) }
            });
        prop_oneof![failures, answers]
    }

    proptest! {
        #[test]
        fn no_policy_repeats_a_non_idempotent_request_that_may_have_arrived(
            ended in ends(), times in 0u32..9, number in 1u32..9, chance in 0.0f64..1.0,
        ) {
            let retries = Retries { times, ..Retries::few() };
            let attempt = Attempt { number, ..attempt(&POST, ended) };

            let may_have_arrived = !matches!(ended, Ended::Failed { was_sent: false, .. });
            prop_assert!(!may_have_arrived || retries.pause(&attempt, chance).is_none());
        }

        #[test]
        fn tries_and_pauses_have_a_limit(
            ended in ends(), number in 1u32..99, chance in 0.0f64..1.0, is_streamed: bool,
        ) {
            let retries = Retries { times: 5, ..Retries::few() };
            let attempt = Attempt { number, is_streamed, ..attempt(&GET, ended) };

            if let Some(pause) = retries.pause(&attempt, chance) {
                prop_assert!(number <= 5 && !is_streamed);
                prop_assert!(pause >= retries.back_off.first / 2);
                prop_assert!(pause <= retries.back_off.most.max(retries.retry_after_max));
            }
        }
    }
}
