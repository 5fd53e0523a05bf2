//! A connection's answers on their way: how long each may take, and whether the caller reads them.
#![expect(
    clippy::disallowed_methods,
    reason = "an answer has a time limit that grows with its size"
)]

use std::pin::Pin;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

use bytes::Bytes;
use homeroom_http::{Body, BodyError, Response};
use hyper::body::{Body as HttpBody, Frame, SizeHint};

use crate::budget::Taken;

/// Bytes per second that a caller must read on average.
const RATE_MIN: u64 = 64 << 10;
/// How long a caller may read more slowly while others need the room.
const STALL_MS_MAX: u64 = 5_000;

/// The answers on their way to one caller. A caller that reads a little now and then is never
/// silent, yet it could keep an answer in memory as long as it likes. So each answer has a
/// deadline, which neither further bytes nor later answers move.
#[derive(Debug, Clone)]
pub(crate) struct Sending(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    began: Instant,
    /// The time that every answer has, whatever its size.
    grace: Duration,
    answers: Mutex<Answers>,
    under_way: AtomicUsize,
    /// The number of streams that have not ended, whether or not a part of one is on its way.
    streams: AtomicUsize,
    /// Start of the window in which bytes are counted, in milliseconds since `began`.
    window_ms: AtomicU64,
    window_bytes: AtomicU64,
    /// Bytes per second in the previous window.
    rate_before: AtomicU64,
}

#[derive(Debug, Default)]
struct Answers {
    next: u64,
    all: Vec<Followed>,
    /// When the last answer ended, in milliseconds since the sending began.
    paused_ms: u64,
}

#[derive(Debug)]
struct Followed {
    number: u64,
    bytes: u64,
    end: Instant,
}

/// An answer's bytes, kept until the last of them has been handed to the system.
struct Sent {
    bytes: Bytes,
    number: u64,
    sending: Arc<Inner>,
    stream: Option<Arc<StreamState>>,
    begun: Instant,
    _place: Option<Taken>,
}

impl AsRef<[u8]> for Sent {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Drop for Sent {
    fn drop(&mut self) {
        let now = Instant::now();
        self.sending.ended(self.number, now);
        if let Some(stream) = &self.stream {
            stream.was_taken(self.bytes.len(), now.saturating_duration_since(self.begun));
        }
    }
}

/// What the parts of a stream have in common.
#[derive(Debug)]
struct StreamState {
    grace: Duration,
    /// How much longer than at [`RATE_MIN`] the caller may take for what is to come, in milliseconds. A
    /// caller that reads faster earns it back, up to the grace.
    credit_ms: AtomicU64,
    /// The stream's own place, kept until its last part is taken.
    _place: Option<Taken>,
}

impl StreamState {
    fn credit(&self) -> Duration {
        Duration::from_millis(self.credit_ms.load(Ordering::Relaxed))
    }

    fn was_taken(&self, bytes: usize, within: Duration) {
        let earned = Duration::from_millis(bytes as u64 * 1_000 / RATE_MIN);
        let credit = (self.credit() + earned).saturating_sub(within).min(self.grace);
        let ms = u64::try_from(credit.as_millis()).unwrap_or(u64::MAX);
        self.credit_ms.store(ms, Ordering::Relaxed);
    }
}

/// A stream whose parts are tracked. The time in which it has nothing to send does not count.
struct FollowedStream {
    body: Body,
    sending: Sending,
    state: Arc<StreamState>,
}

impl FollowedStream {
    fn new(body: Body, sending: Sending, place: Option<Taken>) -> Self {
        let grace = sending.0.grace;
        let ms = u64::try_from(grace.as_millis()).unwrap_or(u64::MAX);
        let state = StreamState { grace, credit_ms: AtomicU64::new(ms), _place: place };
        sending.0.streams.fetch_add(1, Ordering::Relaxed);
        Self { body, sending, state: Arc::new(state) }
    }
}

impl Drop for FollowedStream {
    fn drop(&mut self) {
        self.sending.0.streams.fetch_sub(1, Ordering::Relaxed);
    }
}

impl HttpBody for FollowedStream {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        let next = ready!(Pin::new(&mut self.body).poll_frame(cx));
        let state = &self.state;
        Poll::Ready(next.map(|next| {
            Ok(next?.map_data(|bytes| {
                self.sending.track(bytes, None, Some(Arc::clone(state)), Instant::now())
            }))
        }))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl Inner {
    fn answers(&self) -> MutexGuard<'_, Answers> {
        self.answers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn ended(&self, number: u64, now: Instant) {
        let mut answers = self.answers();
        answers.all.retain(|answer| answer.number != number);
        answers.paused_ms = self.ms(now);
        self.under_way.store(answers.all.len(), Ordering::Relaxed);
    }

    /// Resumes counting after a pause in which no answer was on its way. The pause itself does not
    /// count. A caller that read fast enough before it starts afresh; one that has given answers up
    /// does not.
    fn resume(&self, paused_ms: u64, now: Instant) {
        let elapsed = paused_ms.saturating_sub(self.window_ms.load(Ordering::Relaxed));
        let taken = self.window_bytes.load(Ordering::Relaxed);
        let was_slow = self.rate_before.load(Ordering::Relaxed) < RATE_MIN;
        if taken * 1_000 < RATE_MIN * elapsed || was_slow && taken < RATE_MIN {
            self.window_ms.store(self.ms(now).saturating_sub(elapsed), Ordering::Relaxed);
        } else {
            self.window_ms.store(self.ms(now), Ordering::Relaxed);
            self.window_bytes.store(0, Ordering::Relaxed);
            self.rate_before.store(u64::MAX, Ordering::Relaxed);
        }
    }

    fn ms(&self, now: Instant) -> u64 {
        let since = now.saturating_duration_since(self.began);
        u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
    }
}

impl Sending {
    /// Creates the state with no answer on its way.
    pub(crate) fn new(grace: Duration) -> Self {
        Self(Arc::new(Inner {
            began: Instant::now(),
            grace,
            answers: Mutex::default(),
            under_way: AtomicUsize::new(0),
            streams: AtomicUsize::new(0),
            window_ms: AtomicU64::new(0),
            window_bytes: AtomicU64::new(0),
            rate_before: AtomicU64::new(u64::MAX),
        }))
    }

    /// Tracks an answer of more than `small` bytes, or a stream, that begins at `now`. The answer
    /// keeps its place until its last byte is taken.
    pub(crate) fn follow(
        &self,
        response: Response,
        small: u64,
        place: Option<Taken>,
        now: Instant,
    ) -> Response {
        response.map(|body| {
            if body.is_stream() {
                return Body::stream(FollowedStream::new(body, self.clone(), place));
            }
            body.map(|bytes| match bytes.len() as u64 {
                short if short <= small => bytes,
                _ => self.track(bytes, place, None, now),
            })
        })
    }

    /// Returns the same bytes, which are on their way from `now` until they are dropped. A part of a
    /// stream has the credit of its stream, any other answer the whole grace.
    fn track(
        &self,
        bytes: Bytes,
        place: Option<Taken>,
        stream: Option<Arc<StreamState>>,
        now: Instant,
    ) -> Bytes {
        let size = bytes.len() as u64;
        let grace = stream.as_ref().map_or(self.0.grace, |stream| stream.credit());
        let mut answers = self.0.answers();
        if answers.all.is_empty() {
            self.0.resume(answers.paused_ms, now);
        }
        let all = answers.all.iter().map(|answer| answer.bytes).sum::<u64>() + size;
        let end = now + grace + Duration::from_secs(all.div_ceil(RATE_MIN));
        let number = answers.next;
        answers.next += 1;
        answers.all.push(Followed { number, bytes: size, end });
        self.0.under_way.store(answers.all.len(), Ordering::Relaxed);
        drop(answers);
        let sending = Arc::clone(&self.0);
        Bytes::from_owner(Sent { bytes, number, sending, stream, begun: now, _place: place })
    }

    /// Records bytes that the caller has taken.
    pub(crate) fn took(&self, bytes: usize, now: Instant) {
        let inner = &self.0;
        let all = inner.window_bytes.fetch_add(bytes as u64, Ordering::Relaxed) + bytes as u64;
        if !self.is_under_way() {
            return;
        }
        let ms = inner.ms(now);
        let elapsed = ms.saturating_sub(inner.window_ms.load(Ordering::Relaxed));
        if elapsed >= STALL_MS_MAX {
            inner.rate_before.store(all * 1_000 / elapsed, Ordering::Relaxed);
            inner.window_ms.store(ms, Ordering::Relaxed);
            inner.window_bytes.store(0, Ordering::Relaxed);
        }
    }

    /// Returns whether an answer is on its way.
    pub(crate) fn is_under_way(&self) -> bool {
        self.0.under_way.load(Ordering::Relaxed) > 0
    }

    /// Returns whether an answer is a stream that has not ended.
    pub(crate) fn is_streaming(&self) -> bool {
        self.0.streams.load(Ordering::Relaxed) > 0
    }

    /// Returns the earliest deadline of the answers on their way.
    pub(crate) fn end(&self) -> Option<Instant> {
        if !self.is_under_way() {
            return None;
        }
        self.0.answers().all.iter().map(|answer| answer.end).min()
    }

    /// Returns whether an answer is still on its way whose deadline has passed at `now`.
    pub(crate) fn is_late(&self, now: Instant) -> bool {
        self.end().is_some_and(|end| end <= now)
    }

    /// Returns whether an answer is on its way and the caller has read too slowly for some seconds.
    pub(crate) fn is_stalled(&self, now: Instant) -> bool {
        let inner = &self.0;
        let elapsed = inner.ms(now).saturating_sub(inner.window_ms.load(Ordering::Relaxed));
        let rate = if elapsed < STALL_MS_MAX {
            inner.rate_before.load(Ordering::Relaxed)
        } else {
            inner.window_bytes.load(Ordering::Relaxed) * 1_000 / elapsed
        };
        self.is_under_way() && rate < RATE_MIN
    }
}

#[cfg(test)]
mod tests {
    use homeroom_http::json_response;
    use http::StatusCode;

    use super::*;

    const GRACE: Duration = Duration::from_secs(75);
    const SMALL: u64 = 16 << 10;
    const SECOND: Duration = Duration::from_secs(1);

    fn answer(kib: usize) -> Response {
        json_response(StatusCode::OK, "x".repeat(kib << 10))
    }

    fn follow(sending: &Sending, kib: usize, now: Instant) -> Response {
        sending.follow(answer(kib), SMALL, None, now)
    }

    #[test]
    fn a_large_answer_has_as_much_time_as_it_and_those_before_it_need() {
        let (sending, now) = (Sending::new(GRACE), Instant::now());

        let first = follow(&sending, 640, now);
        let second = follow(&sending, 128, now);

        let end = now + GRACE + 10 * SECOND;
        assert!(!sending.is_late(end.checked_sub(Duration::from_millis(1)).unwrap()));
        assert!(sending.is_late(end));
        drop(first);
        assert!(!sending.is_late(end));
        assert!(sending.is_late(end + 2 * SECOND));
        drop(second);
        assert!(!sending.is_late(end + 2 * SECOND), "nothing is on its way any more");
    }

    #[test]
    fn a_later_answer_gives_one_that_is_not_taken_no_more_time() {
        let (sending, now) = (Sending::new(GRACE), Instant::now());
        let _held = follow(&sending, 64, now);

        for round in 1..100 {
            drop(follow(&sending, 64, now + round * SECOND));
            sending.took(64 << 10, now + round * SECOND);
        }

        assert!(sending.is_late(now + GRACE + SECOND));
    }

    #[test]
    fn a_caller_who_has_taken_all_begins_anew() {
        let (sending, now) = (Sending::new(GRACE), Instant::now());
        drop(follow(&sending, 6_400, now));

        let _next = follow(&sending, 128, now);

        assert!(sending.is_late(now + GRACE + 2 * SECOND));
    }

    #[test]
    fn who_gives_answers_up_and_asks_anew_is_stalled_all_the_same() {
        for (bytes, is_stalled) in [(200, true), (200 << 10, false)] {
            let (sending, now) = (Sending::new(GRACE), Instant::now());
            let mut stalled = false;

            for number in 0..10 {
                let begun = now + 3 * number * SECOND;
                std::mem::forget(follow(&sending, 64, begun));
                sending.took(bytes, begun + SECOND);
                stalled |= sending.is_stalled(begun + 2 * SECOND);
                // The stream is reset; then a second passes in which no answer is on its way.
                sending.0.ended(number.into(), begun + 2 * SECOND);
            }

            assert_eq!(stalled, is_stalled, "{bytes}");
        }
    }

    #[test]
    fn a_pause_between_answers_is_no_stall() {
        let (sending, now) = (Sending::new(GRACE), Instant::now());

        for number in 0..10 {
            let begun = now + 60 * number * SECOND;
            std::mem::forget(follow(&sending, 64, begun));
            assert!(!sending.is_stalled(begun + SECOND), "{number}");
            sending.took(64 << 10, begun + SECOND);
            sending.0.ended(number.into(), begun + SECOND);
        }
    }

    #[test]
    fn small_answers_are_not_looked_after() {
        let (sending, now) = (Sending::new(GRACE), Instant::now());

        let _small = follow(&sending, 16, now);

        assert!(!sending.is_late(now + Duration::from_hours(1)));
        assert!(!sending.is_stalled(now + Duration::from_hours(1)));
    }

    #[test]
    fn who_takes_nothing_or_drips_is_stalled_and_who_takes_enough_is_not() {
        for (bytes_a_second, is_stalled) in [(0, true), (1, true), (40_000, true), (70_000, false)]
        {
            let (sending, now) = (Sending::new(GRACE), Instant::now());
            let _answer = follow(&sending, 6_400, now);
            assert!(!sending.is_stalled(now + 4 * SECOND), "it is young");

            for second in 1..=20 {
                if bytes_a_second > 0 {
                    sending.took(bytes_a_second, now + second * SECOND);
                }
                let found = sending.is_stalled(now + second * SECOND);
                assert_eq!(found, is_stalled && second >= 5, "{bytes_a_second}, {second}");
            }
        }
    }
}
