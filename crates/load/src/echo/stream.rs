//! A stream that stands still while the echo is frozen.
#![expect(clippy::disallowed_methods, reason = "a planted freeze counts from the first request")]

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep};

use super::shared::EchoState;

/// A stream that neither reads nor writes while the echo is frozen.
pub struct Freezing<S> {
    stream: S,
    shared: Arc<EchoState>,
    sleep: Option<Pin<Box<Sleep>>>,
}

impl<S> Freezing<S> {
    /// Wraps a stream.
    pub fn new(stream: S, shared: Arc<EchoState>) -> Self {
        Self { stream, shared, sleep: None }
    }

    fn poll_thaw(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let Some(freezer) = &self.shared.freezer else { return Poll::Ready(()) };
        loop {
            if let Some(sleep) = &mut self.sleep {
                ready!(sleep.as_mut().poll(context));
                self.sleep = None;
            }
            match freezer.thaw(self.shared.counts.first(), Instant::now().into_std()) {
                Some(thaw) => self.sleep = Some(Box::pin(tokio::time::sleep_until(thaw.into()))),
                None => return Poll::Ready(()),
            }
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Freezing<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        ready!(self.poll_thaw(context));
        Pin::new(&mut self.stream).poll_read(context, into)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Freezing<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        ready!(self.poll_thaw(context));
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        ready!(self.poll_thaw(context));
        Pin::new(&mut self.stream).poll_write_vectored(context, pieces)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_thaw(context));
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, duplex};
    use tokio::time::timeout;

    use super::super::options::EchoOptions;
    use super::*;

    const FREEZE: Duration = Duration::from_secs(10);

    #[tokio::test(start_paused = true)]
    async fn nothing_is_read_or_written_before_a_freeze_ends() {
        let freeze = Some((Duration::ZERO, FREEZE));
        let state = Arc::new(EchoState::new(EchoOptions { freeze, ..EchoOptions::plain() }));
        let (mut client, server) = duplex(64);
        let mut server = Freezing::new(server, state.clone());
        client.write_all(b"asked").await.unwrap();
        state.counts.arrive();

        // The clock stands still but for what is waited for.
        let read = timeout(FREEZE / 2, server.read_u8()).await;
        let written = timeout(FREEZE / 4, server.write_u8(b'!')).await;

        assert!(read.is_err() && written.is_err(), "{read:?} {written:?}");
        assert_eq!(timeout(FREEZE, server.read_u8()).await.unwrap().unwrap(), b'a');
        timeout(FREEZE, server.write_u8(b'!')).await.unwrap().unwrap();
        assert_eq!(client.read_u8().await.unwrap(), b'!');
    }
}
