//! The bytes of a connection: bare, or within TLS.

use std::io::{IoSlice, Result};
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio_rustls::server::TlsStream;

/// The bytes of a connection as HTTP sees them.
#[derive(Debug)]
pub(super) enum Wire {
    Bare(TcpStream),
    Tls(Box<TlsStream<TcpStream>>),
}

/// Calls a method of whichever stream it is.
macro_rules! with {
    ($wire:expr, $stream:ident => $call:expr) => {
        match $wire {
            Self::Bare($stream) => $call,
            Self::Tls($stream) => $call,
        }
    };
}

impl Wire {
    /// Completes when something has arrived that was not read yet, or the connection has ended.
    pub(super) fn poll_readable(&self, cx: &mut Context<'_>) -> Poll<()> {
        let stream = match self {
            Self::Bare(stream) => stream,
            // What TLS has read already does not arrive once more.
            Self::Tls(within) if !within.get_ref().1.wants_read() => return Poll::Ready(()),
            Self::Tls(within) => within.get_ref().0,
        };
        stream.poll_read_ready(cx).map(|_| ())
    }

    /// Returns whether TLS has bytes that the system has not taken yet.
    pub(super) fn has_unsent(&self) -> bool {
        match self {
            Self::Bare(_) => false,
            Self::Tls(within) => within.get_ref().1.wants_write(),
        }
    }
}

impl AsyncRead for Wire {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<Result<()>> {
        with!(self.get_mut(), stream => Pin::new(stream).poll_read(cx, buffer))
    }
}

impl AsyncWrite for Wire {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<Result<usize>> {
        with!(self.get_mut(), stream => Pin::new(stream).poll_write(cx, bytes))
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<Result<usize>> {
        with!(self.get_mut(), stream => Pin::new(stream).poll_write_vectored(cx, slices))
    }

    fn is_write_vectored(&self) -> bool {
        with!(self, stream => stream.is_write_vectored())
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<()>> {
        with!(self.get_mut(), stream => Pin::new(stream).poll_flush(cx))
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<()>> {
        with!(self.get_mut(), stream => Pin::new(stream).poll_shutdown(cx))
    }
}
