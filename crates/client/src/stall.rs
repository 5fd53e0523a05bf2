//! An alarm for stalled transfers: a socket that accepts nothing, a stream that has nothing to send.
#![expect(clippy::disallowed_methods, reason = "each phase of a request has a time limit")]

use std::future::Future as _;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Instant, Sleep, sleep_until};

use crate::error::Phase;
use crate::times::end_of;

/// The error of a transfer that made no progress for longer than a phase may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{phase}: nothing has moved for {limit:?}")]
pub struct Stalled {
    /// The phase.
    pub phase: Phase,
    /// The time limit of the phase.
    pub limit: Duration,
}

/// An alarm that rings if there is no progress for too long. It is set only while there is none.
pub struct Alarm {
    /// The longest time without progress.
    limit: Duration,
    /// The end of the time for the whole request, and how long that time was.
    until: Option<(Instant, Duration)>,
    sleep: Option<Pin<Box<Sleep>>>,
}

impl Alarm {
    /// Makes an alarm that is not set.
    pub fn new(limit: Duration, until: Option<(Instant, Duration)>) -> Self {
        Self { limit, until, sleep: None }
    }

    /// Passes on a result that is ready, and sets the alarm while it is pending.
    ///
    /// # Errors
    ///
    /// [`Stalled`] once the alarm rings.
    pub fn watch<T>(
        &mut self,
        polled: Poll<T>,
        context: &mut Context<'_>,
    ) -> Poll<Result<T, Stalled>> {
        if let Poll::Ready(done) = polled {
            self.sleep = None;
            return Poll::Ready(Ok(done));
        }
        let (limit, until) = (self.limit, self.until);
        let sleep = self.sleep.get_or_insert_with(|| {
            let next = end_of(Instant::now(), limit);
            Box::pin(sleep_until(until.map_or(next, |(until, _)| until.min(next))))
        });
        ready!(sleep.as_mut().poll(context));
        Poll::Ready(Err(self.over().unwrap_or(Stalled { phase: Phase::Send, limit })))
    }

    /// Returns an error if the time limit of the whole request has passed.
    pub fn over(&self) -> Option<Stalled> {
        let (until, limit) = self.until?;
        (Instant::now() >= until).then_some(Stalled { phase: Phase::Total, limit })
    }
}

/// Returns whether an alarm's time is over. tokio answers no timer to a task that has used up its turn, so
/// the clock is asked too.
pub fn rings(alarm: Pin<&mut Sleep>, context: &mut Context<'_>) -> Poll<()> {
    let end = alarm.deadline();
    match alarm.poll(context) {
        Poll::Pending if Instant::now() >= end => Poll::Ready(()),
        polled => polled,
    }
}

/// A TCP connection that fails if it accepts no byte for too long. This also covers uploads whose
/// answer has arrived, connections that are being closed, and TLS, whose closing message needs a
/// writable socket.
pub struct Watched {
    stream: TcpStream,
    alarm: Alarm,
}

impl Watched {
    /// Watches a connection. `limit` is the longest time for which it may accept no byte.
    pub fn new(stream: TcpStream, limit: Duration) -> Self {
        Self { stream, alarm: Alarm::new(limit, None) }
    }

    fn written(
        &mut self,
        polled: Poll<io::Result<usize>>,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<usize>> {
        let late = |stalled: Stalled| io::Error::new(io::ErrorKind::TimedOut, stalled);
        self.alarm.watch(polled, context).map(|done| done.map_err(late).flatten())
    }
}

impl AsyncRead for Watched {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, into)
    }
}

impl AsyncWrite for Watched {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.written(polled, context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.stream).poll_write_vectored(context, bytes);
        self.written(polled, context)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMIT: Duration = Duration::from_secs(9);

    /// Returns what an alarm says after waiting for something that never comes.
    async fn rings(alarm: &mut Alarm) -> Stalled {
        std::future::poll_fn(|context| alarm.watch(Poll::<()>::Pending, context)).await.unwrap_err()
    }

    #[tokio::test(start_paused = true)]
    async fn an_alarm_rings_at_its_own_limit_or_that_of_the_whole_request() {
        let begun = Instant::now();

        let stalled = rings(&mut Alarm::new(LIMIT, None)).await;
        assert_eq!(stalled, Stalled { phase: Phase::Send, limit: LIMIT });
        assert_eq!(begun.elapsed().as_secs(), LIMIT.as_secs());

        let total = Duration::from_secs(5);
        let stalled = rings(&mut Alarm::new(LIMIT, Some((Instant::now() + total, total)))).await;
        assert_eq!(stalled, Stalled { phase: Phase::Total, limit: total });
    }

    #[tokio::test(start_paused = true)]
    async fn progress_resets_an_alarm() {
        let begun = Instant::now();
        let mut alarm = Alarm::new(LIMIT, None);
        for _ in 0..3 {
            let wait = std::future::poll_fn(|context| alarm.watch(Poll::<()>::Pending, context));
            assert!(tokio::time::timeout(LIMIT / 2, wait).await.is_err());
            let moved = std::future::poll_fn(|context| alarm.watch(Poll::Ready(()), context));
            assert_eq!(moved.await, Ok(()));
        }

        rings(&mut alarm).await;

        assert!(begun.elapsed() > 2 * LIMIT);
    }
}
