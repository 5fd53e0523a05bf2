//! One connection as hyper reads it: it enforces time limits, counts requests and lingers on close.
#![expect(
    clippy::disallowed_methods,
    reason = "a connection has time limits for its header and for being idle"
)]

use std::future::poll_fn;
use std::io::{Error, ErrorKind, IoSlice, Result};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, ReadBuf};
use tokio::time::{Instant, Sleep, sleep, sleep_until, timeout};

use super::framing::Framing;
use super::seldom::Seldom;
use super::wire::Wire;
use crate::budget::Taken;
use crate::caller::{Caller, Leave};
use crate::callers::Registered;

/// How long the server goes on reading from a connection that it has closed.
const LINGER_TIME_MAX: Duration = Duration::from_secs(5);
/// How many bytes it reads and discards in that time.
const LINGER_BYTES_MAX: u64 = 64 << 20;

/// An accepted connection.
pub(super) struct Connection {
    /// Always present until the value is dropped.
    stream: Option<Wire>,
    /// Given back when the connection has really ended.
    place: Option<Place>,
    framing: Framing,
    caller: Arc<Caller>,
    times: Times,
    timer: Seldom<Sleep>,
    running: Option<Limit>,
    /// When a byte was last read or written.
    stirred: Instant,
    /// Runs while the caller reads none of what is written.
    blocked: Option<Pin<Box<Sleep>>>,
    /// Whether the caller has closed the connection, or it is broken.
    is_over: bool,
    /// Whether it may rest while hyper has it: it comes back when hyper ends.
    pub(super) may_rest: bool,
    /// Whether it has been idle for so long that it rests. To hyper it looks closed.
    rests: bool,
}

/// A connection's place in the budget and in the list of callers, held until it is dropped.
pub(super) struct Place {
    pub _taken: Taken,
    pub _registered: Registered,
}

/// Time limits of a connection.
#[derive(Debug, Clone, Copy)]
pub(super) struct Times {
    /// Longest time for a request's head to arrive, from its first byte.
    pub header: Duration,
    /// Longest silence while no request is open, and longest time in which the caller reads nothing
    /// of an answer.
    pub quiet: Duration,
    /// How long it is idle before it rests.
    pub rest: Duration,
}

/// The purpose of the timer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Limit {
    /// A request's head, measured from its first byte.
    Head(u64),
    /// Silence, measured from the last byte in either direction.
    Quiet,
}

impl Connection {
    pub(super) fn new(stream: Wire, place: Place, caller: Arc<Caller>, times: Times) -> Self {
        Self {
            stream: Some(stream),
            place: Some(place),
            framing: Framing::new(),
            caller,
            times,
            timer: Seldom::new(sleep(times.header)),
            running: None,
            stirred: Instant::now(),
            blocked: None,
            is_over: false,
            may_rest: false,
            rests: false,
        }
    }

    /// Returns whether it rests.
    pub(super) fn rests(&self) -> bool {
        self.rests
    }

    /// Waits until something arrives on a connection that rests. Returns false when nothing has arrived
    /// in time.
    pub(super) async fn woken(&mut self) -> bool {
        (self.rests, self.running) = (true, None);
        let is_awake = poll_fn(|cx| {
            if self.stream().poll_readable(cx).is_ready() {
                return Poll::Ready(true);
            }
            if self.is_late(cx) { Poll::Ready(false) } else { Poll::Pending }
        });
        let is_awake = is_awake.await;
        (self.rests, self.running) = (false, None);
        self.is_over |= !is_awake;
        is_awake
    }

    /// Tells the caller that nothing more is sent.
    pub(super) async fn end(&mut self) {
        self.rests = false;
        _ = self.shutdown().await;
    }

    /// Returns whether no request is under way on it, in whole or in part, and nothing of an answer is
    /// left to be sent.
    fn is_idle(&self) -> bool {
        self.framing.is_between_requests()
            && !self.caller.has_requests()
            && !self.caller.is_outside()
            && !self.caller.has_other_protocol()
            && !self.caller.sending.is_under_way()
            && !self.caller.sending.is_streaming()
            && self.blocked.is_none()
            && self.stream.as_ref().is_some_and(|stream| !stream.has_unsent())
    }

    fn stream(&mut self) -> Pin<&mut Wire> {
        Pin::new(self.stream.as_mut().expect("the stream is taken only when the value goes"))
    }

    /// Returns whether the next request may not be read yet, because others are let in first. Whether one has
    /// arrived is not looked at: where many wait, it will have when the turn comes.
    fn is_kept_out(&mut self, cx: &mut Context<'_>) -> bool {
        self.framing.is_between_requests()
            && !self.caller.has_requests()
            && !self.caller.has_other_protocol()
            && !self.caller.is_let_in(cx)
    }

    /// Returns whether a time limit has passed while nothing arrived.
    fn is_late(&mut self, cx: &mut Context<'_>) -> bool {
        let head = self.framing.open_head().filter(|_| !self.caller.has_other_protocol());
        let limit = head.map_or(Limit::Quiet, Limit::Head);
        if self.running != Some(limit) {
            let end = match limit {
                Limit::Head(_) => Instant::now() + self.times.header,
                Limit::Quiet => self.next_look(self.stirred + self.times.quiet),
            };
            self.timer.changed().reset(end);
            self.running = Some(limit);
        }
        while Pin::new(&mut self.timer).poll(cx).is_ready() {
            // The timer is not reset at every read and write; it is checked only when it fires.
            let now = Instant::now();
            let quiet_since = if self.caller.has_requests() { now } else { self.stirred };
            let quiet_until = quiet_since + self.times.quiet;
            if limit != Limit::Quiet
                || quiet_until <= now
                || self.caller.sending.is_late(now.into())
            {
                return true;
            }
            if self.may_rest && self.stirred + self.times.rest <= now && self.is_idle() {
                self.rests = true;
                return false;
            }
            let end = self.next_look(quiet_until);
            self.timer.changed().reset(end);
        }
        false
    }

    /// Returns when to look next whether the connection is late, or may rest. It is looked at no later
    /// than `quiet_until`.
    fn next_look(&self, quiet_until: Instant) -> Instant {
        let now = Instant::now();
        let quiet_until = self.earlier(quiet_until.max(now));
        if self.rests || !self.may_rest || self.framing.is_http_2() {
            return quiet_until;
        }
        let idle_for = now.saturating_duration_since(self.stirred);
        let left = self.times.rest.checked_sub(idle_for).filter(|left| !left.is_zero());
        quiet_until.min(now + left.unwrap_or(self.times.rest))
    }

    /// Returns `moment`, or the deadline of the first answer under way if that comes first.
    fn earlier(&self, moment: Instant) -> Instant {
        self.caller.sending.end().map_or(moment, |end| moment.min(end.into()))
    }

    /// Records the result of a write. A caller who reads nothing is noticed here, because hyper may
    /// stop reading while it cannot write.
    fn written(&mut self, cx: &mut Context<'_>, done: Poll<Result<usize>>) -> Poll<Result<usize>> {
        match &done {
            Poll::Ready(Ok(bytes)) => {
                self.stirred = Instant::now();
                self.caller.sending.took(*bytes, self.stirred.into());
                self.blocked = None;
            }
            Poll::Ready(Err(_)) => self.is_over = true,
            Poll::Pending => {
                let end = self.earlier(Instant::now() + self.times.quiet);
                let timer = self.blocked.get_or_insert_with(|| Box::pin(sleep_until(end)));
                let is_late = timer.as_mut().poll(cx).is_ready();
                if is_late || self.caller.sending.is_late(Instant::now().into()) {
                    self.is_over = true;
                    let late = Error::new(ErrorKind::TimedOut, "the answer was not read in time");
                    return Poll::Ready(Err(late));
                }
            }
        }
        done
    }
}

impl AsyncRead for Connection {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<Result<()>> {
        let this = self.get_mut();
        if this.rests {
            return Poll::Ready(Ok(()));
        }
        if buffer.remaining() >= 4 {
            let instead = this.framing.instead();
            if !instead.is_empty() {
                buffer.put_slice(instead);
                return Poll::Ready(Ok(()));
            }
        }
        let before = buffer.filled().len();
        let read =
            if this.is_kept_out(cx) { Poll::Pending } else { this.stream().poll_read(cx, buffer) };
        if read.is_pending() && this.is_late(cx) {
            this.is_over = true;
            return Poll::Ready(Err(Error::new(ErrorKind::TimedOut, "nothing arrived in time")));
        }
        if this.rests {
            return Poll::Ready(Ok(()));
        }
        let read = ready!(read);
        let new = &mut buffer.filled_mut()[before..];
        if read.is_err() || new.is_empty() {
            this.is_over = true;
        } else {
            if !this.caller.has_other_protocol() {
                this.framing.follow(new);
            }
            this.stirred = Instant::now();
        }
        Poll::Ready(read)
    }
}

impl AsyncWrite for Connection {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<Result<usize>> {
        let this = self.get_mut();
        let done = this.stream().poll_write(cx, bytes);
        this.written(cx, done)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<Result<usize>> {
        let this = self.get_mut();
        let done = this.stream().poll_write_vectored(cx, slices);
        this.written(cx, done)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.as_ref().is_some_and(AsyncWrite::is_write_vectored)
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<()>> {
        self.get_mut().stream().poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<()>> {
        if self.rests {
            return Poll::Ready(Ok(()));
        }
        self.get_mut().stream().poll_shutdown(cx)
    }
}

impl Drop for Connection {
    /// Keeps reading for a while before the connection closes. Closing with unread bytes makes the
    /// system reset the connection, and the caller may lose the answer that says why.
    ///
    /// Source: RFC 9112 §9.6.
    fn drop(&mut self) {
        self.caller.goes();
        let (Some(stream), place) = (self.stream.take(), self.place.take()) else { return };
        if self.is_over || self.caller.is_leaving() {
            return;
        }
        let caller = Arc::clone(&self.caller);
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move {
                tokio::select! {
                    _ = timeout(LINGER_TIME_MAX, pass_over(stream)) => {}
                    () = caller.told_to(Leave::Politely) => {}
                }
                drop(place);
            });
        }
    }
}

async fn pass_over(mut stream: Wire) {
    _ = stream.shutdown().await;
    let mut rest = stream.take(LINGER_BYTES_MAX);
    _ = tokio::io::copy(&mut rest, &mut tokio::io::sink()).await;
}

#[cfg(test)]
mod tests;
