//! A connection's large answers on their way: how long all of them may take.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use homeroom_http::Response;
use http_body_util::Full;
use hyper::body::Body as _;
use tokio::time::Instant;

/// Answers up to this size are not looked after.
const SMALL: usize = 64 << 10;
/// How many bytes a second a caller takes at least of large answers, on the whole.
const RATE_MIN: u64 = 64 << 10;

/// What is on its way to one caller. A caller who takes a little now and then is not quiet, and yet
/// keeps an answer in memory for as long as it likes; so all that it has asked for has an end in
/// time, which each large answer moves on by as long as its size needs.
#[derive(Debug, Clone)]
pub(super) struct Sending {
    state: Arc<Mutex<State>>,
    /// What a caller has in any case.
    grace: Duration,
}

#[derive(Debug)]
struct State {
    answers: usize,
    end: Instant,
}

/// An answer's bytes, until the last of them is with the system.
struct Sent {
    bytes: Bytes,
    state: Arc<Mutex<State>>,
}

impl AsRef<[u8]> for Sent {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Drop for Sent {
    fn drop(&mut self) {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).answers -= 1;
    }
}

impl Sending {
    /// Nothing is on its way.
    pub(super) fn new(grace: Duration) -> Self {
        Self { state: Arc::new(Mutex::new(State { answers: 0, end: Instant::now() })), grace }
    }

    /// Looks after an answer that begins at `now`.
    pub(super) fn follow(&self, response: Response, now: Instant) -> Response {
        let size = response.body().size_hint().lower();
        if size <= SMALL as u64 {
            return response;
        }
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.answers == 0 || state.end < now + self.grace {
            state.end = now + self.grace;
        }
        state.end += Duration::from_secs(size.div_ceil(RATE_MIN));
        state.answers += 1;
        drop(state);
        let state = Arc::clone(&self.state);
        response.map(|body| {
            let bytes = body.into_inner().unwrap_or_default();
            Full::new(Bytes::from_owner(Sent { bytes, state }))
        })
    }

    /// Whether something is still on its way that should have been taken by `now`.
    pub(super) fn is_late(&self, now: Instant) -> bool {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.answers > 0 && state.end <= now
    }
}

#[cfg(test)]
mod tests {
    use homeroom_http::json_response;
    use http::StatusCode;

    use super::*;

    const GRACE: Duration = Duration::from_secs(75);

    fn answer(kib: usize) -> Response {
        json_response(StatusCode::OK, "x".repeat(kib << 10))
    }

    #[test]
    fn a_large_answer_has_as_much_time_as_its_size_needs() {
        let (sending, now) = (Sending::new(GRACE), Instant::now());

        let first = sending.follow(answer(640), now);
        let second = sending.follow(answer(128), now);

        let end = now + GRACE + Duration::from_secs(12);
        assert!(!sending.is_late(end - Duration::from_millis(1)));
        assert!(sending.is_late(end));
        drop(first);
        assert!(sending.is_late(end));
        drop(second);
        assert!(!sending.is_late(end), "nothing is on its way any more");
    }

    #[test]
    fn a_caller_who_has_taken_all_begins_anew() {
        let (sending, now) = (Sending::new(GRACE), Instant::now());
        drop(sending.follow(answer(6_400), now));

        let _next = sending.follow(answer(128), now);

        assert!(sending.is_late(now + GRACE + Duration::from_secs(2)));
    }

    #[test]
    fn small_answers_are_not_looked_after() {
        let (sending, now) = (Sending::new(GRACE), Instant::now());

        let _small = sending.follow(answer(64), now);

        assert!(!sending.is_late(now + Duration::from_hours(1)));
    }
}
