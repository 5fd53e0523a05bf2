//! A connection that hyper has for a while, and gives back when it rests.

use std::io::{IoSlice, Result};
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::oneshot;

use super::connection::Connection;

/// A connection that is lent to hyper. If it rests when hyper has ended, it goes home.
pub(super) struct Lent {
    /// Always present until the value is dropped.
    connection: Option<Box<Connection>>,
    home: Option<oneshot::Sender<Box<Connection>>>,
}

/// Where a connection that was lent comes back to.
pub(super) struct Home(oneshot::Receiver<Box<Connection>>);

impl Home {
    /// Returns the connection, if hyper has ended and it rests.
    pub(super) fn returned(mut self) -> Option<Box<Connection>> {
        self.0.try_recv().ok()
    }
}

impl Lent {
    /// Lends a connection.
    pub(super) fn new(mut connection: Box<Connection>) -> (Self, Home) {
        let (home, returned) = oneshot::channel();
        connection.may_rest = true;
        (Self { connection: Some(connection), home: Some(home) }, Home(returned))
    }

    fn connection(self: Pin<&mut Self>) -> Pin<&mut Connection> {
        let connection = self.get_mut().connection.as_mut();
        Pin::new(connection.expect("the connection is taken only when the value goes"))
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        if let (Some(connection), Some(home)) = (self.connection.take(), self.home.take())
            && connection.rests()
        {
            // Where nobody waits for it any more, it ends.
            _ = home.send(connection);
        }
    }
}

impl AsyncRead for Lent {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<Result<()>> {
        self.connection().poll_read(cx, buffer)
    }
}

impl AsyncWrite for Lent {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<Result<usize>> {
        self.connection().poll_write(cx, bytes)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<Result<usize>> {
        self.connection().poll_write_vectored(cx, slices)
    }

    fn is_write_vectored(&self) -> bool {
        self.connection.as_deref().is_some_and(AsyncWrite::is_write_vectored)
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<()>> {
        self.connection().poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<()>> {
        self.connection().poll_shutdown(cx)
    }
}
