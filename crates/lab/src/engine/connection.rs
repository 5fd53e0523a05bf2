//! One modelled client's connection, a request at a time on it.

mod plain;
mod streams;

use super::http1::{HEADERS, Header};
use super::source::{Answer, Request};
use super::transport::Transport;
use crate::outcome::Outcome;
use plain::Plain;
use streams::Streams;

/// Which form of HTTP is spoken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Protocol {
    /// HTTP/1.1.
    #[default]
    Http1,
    /// HTTP/2: agreed on with TLS, or known beforehand without.
    Http2,
}

/// How far an answer is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// More must come.
    Pending,
    /// It is whole.
    Answered,
    /// There will be none.
    Failed(Outcome),
}

/// What a request needs besides itself.
#[derive(Debug, Clone, Copy)]
pub struct Fixed<'a> {
    /// Whom it goes to: scheme, name and port.
    pub origin: &'a str,
    /// What stands before every path.
    pub prefix: &'a str,
    /// The header line that all requests have: `Host`.
    pub lines: &'a [u8],
    /// The header line with the token.
    pub token: &'a [u8],
}

/// A connection, perhaps still being made.
pub enum Connection {
    /// HTTP/1.1.
    Http1(Plain),
    /// HTTP/2.
    Http2(Box<Streams>),
}

impl Connection {
    /// A connection over a transport that may still be connecting.
    pub fn new(transport: Transport, protocol: Protocol) -> Self {
        match protocol {
            Protocol::Http1 => Self::Http1(Plain::new(transport)),
            Protocol::Http2 => Self::Http2(Box::new(Streams::new(transport))),
        }
    }

    /// Sends a request as far as that goes at once. With `keep`, the answer's body is kept.
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

    /// Goes on after the socket has become ready. `hung_up` says that the other side sends no more
    /// than what is there; `room` is for what comes.
    pub fn advance(&mut self, hung_up: bool, room: &mut [u8]) -> Progress {
        match self {
            Self::Http1(plain) => plain.advance(hung_up, room),
            Self::Http2(streams) => streams.advance(hung_up),
        }
    }

    /// The socket has become ready while nothing was asked for; false if the connection is over.
    pub fn is_alive(&mut self, hung_up: bool) -> bool {
        match self {
            Self::Http1(_) => !hung_up,
            Self::Http2(streams) => streams.is_alive(hung_up),
        }
    }

    /// Whether a failure may be due to the server having closed a connection that lay idle.
    pub fn may_have_been_idle_closed(&self) -> bool {
        match self {
            Self::Http1(plain) => plain.may_have_been_idle_closed(),
            Self::Http2(streams) => streams.may_have_been_idle_closed(),
        }
    }

    /// Whether another request can be sent after a whole answer.
    pub fn is_reusable(&self) -> bool {
        match self {
            Self::Http1(plain) => plain.is_reusable(),
            Self::Http2(streams) => streams.is_reusable(),
        }
    }

    /// The whole answer.
    pub fn answer<'a, 'b: 'a>(&'a self, room: &'b mut [Header<'a>; HEADERS]) -> Answer<'a> {
        match self {
            Self::Http1(plain) => plain.answer(room),
            Self::Http2(streams) => streams.answer(room),
        }
    }

    /// The status of the whole answer.
    pub fn status(&self) -> u16 {
        match self {
            Self::Http1(plain) => plain.status(),
            Self::Http2(streams) => streams.status(),
        }
    }
}
