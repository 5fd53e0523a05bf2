//! One modelled client's connection, with one request at a time.

mod plain;
mod streams;

use super::exchange::{Fixed, Progress};
use super::http1::{HEADERS, Header};
use super::source::{Answer, Request};
use super::transport::Transport;
use plain::Http1Connection;
use streams::Http2Connection;

/// The version of HTTP that a connection uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Protocol {
    /// HTTP/1.1.
    #[default]
    Http1,
    /// HTTP/2: negotiated by TLS or, without TLS, with prior knowledge.
    Http2,
}

/// A connection, which may still be connecting.
pub enum Connection {
    /// HTTP/1.1.
    Http1(Http1Connection),
    /// HTTP/2.
    Http2(Box<Http2Connection>),
}

impl Connection {
    /// Returns a connection over a transport that may still be connecting.
    pub fn new(transport: Transport, protocol: Protocol) -> Self {
        match protocol {
            Protocol::Http1 => Self::Http1(Http1Connection::new(transport)),
            Protocol::Http2 => Self::Http2(Box::new(Http2Connection::new(transport))),
        }
    }

    /// Sends as much of a request as the socket takes at once. With `keep`, the answer's body is
    /// kept.
    pub fn send(
        &mut self,
        method: &str,
        request: &Request,
        fixed: Fixed<'_>,
        keep: bool,
    ) -> Progress {
        match self {
            Self::Http1(plain) => plain.send(method, request, fixed, keep),
            Self::Http2(streams) => streams.send(method, request, fixed, keep),
        }
    }

    /// Continues after the socket has become ready. `hung_up` says that the server sends nothing
    /// beyond what has arrived; `room` is the buffer to read into.
    pub fn advance(&mut self, hung_up: bool, room: &mut [u8]) -> Progress {
        match self {
            Self::Http1(plain) => plain.advance(hung_up, room),
            Self::Http2(streams) => streams.advance(hung_up),
        }
    }

    /// Handles a ready socket while no request is open. Returns false if the connection is over.
    pub fn is_alive(&mut self, hung_up: bool) -> bool {
        match self {
            Self::Http1(_) => !hung_up,
            Self::Http2(streams) => streams.is_alive(hung_up),
        }
    }

    /// Returns whether a failure may come from the server closing an idle connection.
    pub fn may_have_been_idle_closed(&self) -> bool {
        match self {
            Self::Http1(plain) => plain.may_have_been_idle_closed(),
            Self::Http2(streams) => streams.may_have_been_idle_closed(),
        }
    }

    /// Returns whether another request can be sent after a complete answer.
    pub fn is_reusable(&self) -> bool {
        match self {
            Self::Http1(plain) => plain.is_reusable(),
            Self::Http2(streams) => streams.is_reusable(),
        }
    }

    /// Returns the complete answer.
    pub fn answer<'a, 'b: 'a>(&'a self, room: &'b mut [Header<'a>; HEADERS]) -> Answer<'a> {
        match self {
            Self::Http1(plain) => plain.answer(room),
            Self::Http2(streams) => streams.answer(room),
        }
    }

    /// Returns the status of the complete answer.
    pub fn status(&self) -> u16 {
        match self {
            Self::Http1(plain) => plain.status(),
            Self::Http2(streams) => streams.status(),
        }
    }
}
