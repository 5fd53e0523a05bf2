//! A limit on the requests of each client: so many a second, with a burst.
//!
//! Source: ITU-T I.371, the generic cell rate algorithm: for each client one moment is kept, at which
//! its burst would be whole again.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};

use homeroom_http::{Kind, Problem, Timestamp};
use http::HeaderValue;
use http::header::{HeaderName, RETRY_AFTER};

use crate::shards::Shards;

/// Number of clients in a shard from which those are forgotten whose burst is whole again.
const SWEEP_MIN: usize = 1_024;

/// Header that says how many requests are left and when there are more (draft-ietf-httpapi-ratelimit-headers).
const RATE_LIMIT: HeaderName = HeaderName::from_static("ratelimit");

/// The requests that each client may send.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rate {
    /// Requests per second, on average.
    pub per_second: f64,
    /// Requests at once, after a pause.
    pub burst: u32,
}

/// Whether an address may show secrets that nobody has proved before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Guesses {
    /// It may.
    Allowed,
    /// Too many of its requests were refused; it may in so many seconds.
    After(u64),
}

impl Guesses {
    /// Refuses a guess that is not allowed.
    ///
    /// # Errors
    ///
    /// 429 with `Retry-After`.
    pub(crate) fn admit(self) -> Result<(), Problem> {
        match self {
            Self::Allowed => Ok(()),
            Self::After(seconds) => Err(refusal(seconds)),
        }
    }
}

/// What a client has left after a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Taken {
    /// Requests that it may send at once.
    pub left: u64,
    /// Seconds until its burst is whole again, rounded up.
    pub whole_in: u64,
}

/// A limit on the requests of each client.
#[derive(Debug)]
pub struct RateLimit {
    /// Microseconds that one request takes from the client's time.
    each: i64,
    /// Microseconds by which a client may be ahead of its time.
    ahead_max: i64,
    shards: Shards<Shard>,
    refused: AtomicU64,
}

#[derive(Debug, Default)]
struct Shard {
    /// Moments at which bursts are whole again, in microseconds, by the clients' names.
    whole_at: HashMap<String, i64>,
    sweep_at: usize,
}

impl RateLimit {
    /// Creates the limit, with every burst whole.
    pub fn new(rate: Rate) -> Self {
        #[expect(clippy::cast_possible_truncation, reason = "a rate above 1 MHz is no limit")]
        let each = ((1e6 / rate.per_second) as i64).max(1);
        Self {
            each,
            ahead_max: each.saturating_mul(i64::from(rate.burst.max(1)) - 1),
            shards: Shards::default(),
            refused: AtomicU64::new(0),
        }
    }

    /// Admits a request of a client.
    ///
    /// # Errors
    ///
    /// 429 with `Retry-After`; such a request does not count.
    pub fn admit(&self, client: &str, now: Timestamp) -> Result<(), Problem> {
        match self.take(client, now) {
            Ok(_) => Ok(()),
            Err(seconds) => Err(refusal(seconds)),
        }
    }

    /// Admits a request of a client, and returns what it has left.
    ///
    /// # Errors
    ///
    /// The seconds until the next request is admitted, rounded up; the refused one does not count.
    pub fn take(&self, client: &str, now: Timestamp) -> Result<Taken, u64> {
        let mut shard = self.shards.of(client);
        let kept = shard.whole_at.get_mut(client);
        let whole_at = kept.as_deref().copied().unwrap_or(i64::MIN).max(now.0);
        let ahead = whole_at - now.0;
        if ahead > self.ahead_max {
            drop(shard);
            self.refused.fetch_add(1, Ordering::Relaxed);
            return Err(self.seconds_until_more(ahead));
        }
        if let Some(kept) = kept {
            *kept = whole_at + self.each;
        } else {
            if shard.whole_at.len() >= shard.sweep_at.max(SWEEP_MIN) {
                shard.whole_at.retain(|_, whole_at| *whole_at > now.0);
                shard.sweep_at = shard.whole_at.len() * 2;
            }
            shard.whole_at.insert(client.to_owned(), whole_at + self.each);
        }
        Ok(Taken {
            left: ((self.ahead_max - ahead) / self.each).unsigned_abs(),
            whole_in: (ahead + self.each).unsigned_abs().div_ceil(1_000_000),
        })
    }

    /// Returns whether another request of an address would be admitted, and counts none.
    pub(crate) fn may_guess(&self, address: &str, now: Timestamp) -> Guesses {
        let shard = self.shards.of(address);
        let ahead =
            shard.whole_at.get(address).map_or(0, |whole_at| whole_at.saturating_sub(now.0));
        match ahead - self.ahead_max {
            1.. => Guesses::After(self.seconds_until_more(ahead)),
            _ => Guesses::Allowed,
        }
    }

    /// Returns the seconds until a client that is so far ahead may send again, rounded up.
    fn seconds_until_more(&self, ahead: i64) -> u64 {
        (ahead - self.ahead_max).max(1).unsigned_abs().div_ceil(1_000_000)
    }

    /// Takes back the last request of a client, because it was refused otherwise.
    pub fn give_back(&self, client: &str) {
        let mut shard = self.shards.of(client);
        if let Some(whole_at) = shard.whole_at.get_mut(client) {
            *whole_at -= self.each;
        }
    }

    /// Returns how many requests were refused.
    pub(crate) fn refused(&self) -> u64 {
        self.refused.load(Ordering::Relaxed)
    }
}

fn refusal(seconds: u64) -> Problem {
    let state = HeaderValue::from_str(&format!("\"client\";r=0;t={seconds}"));
    Problem::of(Kind::TooManyRequests)
        .header(RETRY_AFTER, HeaderValue::from(seconds))
        .header(RATE_LIMIT, state.expect("numbers are allowed in a header"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: Timestamp = Timestamp(1_795_000_000_000_000);

    fn admitted(limit: &RateLimit, client: &str, now: Timestamp, tries: usize) -> usize {
        (0..tries).filter(|_| limit.admit(client, now).is_ok()).count()
    }

    #[test]
    fn of_too_many_requests_burst_and_rate_are_admitted_and_no_more() {
        let limit = RateLimit::new(Rate { per_second: 10.0, burst: 5 });

        assert_eq!(admitted(&limit, "a", START, 100), 5, "the burst");
        let in_ten_seconds: usize = (1..=1_000)
            .map(|tick| admitted(&limit, "a", Timestamp(START.0 + tick * 10_000), 3))
            .sum();
        assert_eq!(in_ten_seconds, 100, "the rate");
        assert_eq!(admitted(&limit, "b", START, 100), 5, "another client has its own");
        assert_eq!(limit.refused(), 95 + 3_000 - 100 + 95);
    }

    #[test]
    fn what_is_left_is_told_with_the_time_until_all_is_there() {
        let limit = RateLimit::new(Rate { per_second: 2.0, burst: 3 });

        let taken: Vec<_> = (0..4).map(|_| limit.take("a", START)).collect();

        let left = |left, whole_in| Ok(Taken { left, whole_in });
        assert_eq!(taken, [left(2, 1), left(1, 1), left(0, 2), Err(1)]);
    }

    #[test]
    fn a_request_that_is_given_back_does_not_count() {
        let limit = RateLimit::new(Rate { per_second: 1.0, burst: 2 });

        assert_eq!(admitted(&limit, "a", START, 5), 2);
        limit.give_back("a");
        limit.give_back("nobody");

        assert_eq!(admitted(&limit, "a", START, 5), 1);
    }

    #[test]
    fn a_refusal_says_when_there_is_more() {
        let limit = RateLimit::new(Rate { per_second: 0.1, burst: 1 });
        limit.admit("a", START).unwrap();

        let refused = limit.admit("a", START).unwrap_err();

        assert_eq!(refused.kind.status(), 429);
        assert_eq!(refused.headers[0], (RETRY_AFTER, HeaderValue::from_static("10")));
        assert!(limit.admit("a", START.plus_seconds(9)).is_err());
        assert!(limit.admit("a", START.plus_seconds(10)).is_ok());
    }

    #[test]
    fn clients_whose_burst_is_whole_are_forgotten() {
        let limit = RateLimit::new(Rate { per_second: 1_000.0, burst: 1 });

        for number in 0..200_000_i64 {
            limit.admit(&number.to_string(), Timestamp(START.0 + number * 100)).unwrap();
        }

        for shard in limit.shards.each() {
            let kept = shard.whole_at.len();
            assert!(kept <= SWEEP_MIN + 1, "{kept}");
        }
    }
}
