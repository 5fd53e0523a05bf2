//! Why a request has no answer: in which phase it failed, what was tried, and how to mend it.

use std::fmt;
use std::io;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use http::Method;

use crate::address::Range;
use crate::url::{Url, UrlError};

/// An error of a library below, kept as the cause.
pub type Cause = Arc<dyn std::error::Error + Send + Sync>;

/// A step of a request that has a time-out of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Phase {
    /// Waiting for a permit, because too many requests to this origin, or in all, are in progress.
    Wait,
    /// Looking up the host's addresses.
    Resolve,
    /// Opening the TCP connection.
    Connect,
    /// The TLS handshake.
    Tls,
    /// Sending the head and the body of the request.
    Send,
    /// Waiting for the head of the answer after the request has been sent.
    Answer,
    /// Reading the body of the answer.
    Body,
    /// All of the above together, with redirects and retries.
    Total,
}

impl Phase {
    /// Every phase, in the order in which they happen.
    pub const ALL: [Self; 8] = [
        Self::Wait,
        Self::Resolve,
        Self::Connect,
        Self::Tls,
        Self::Send,
        Self::Answer,
        Self::Body,
        Self::Total,
    ];

    fn advice_on_failure(self) -> &'static str {
        match self {
            Self::Send | Self::Answer | Self::Body => {
                "check the server's log, and whether something in between closes connections"
            }
            other => other.advice(),
        }
    }

    fn advice(self) -> &'static str {
        match self {
            Self::Wait => "allow more requests at a time, or send fewer",
            Self::Resolve => "check the name, and the resolver of this machine",
            Self::Connect => "check that the server runs there and that no firewall is in between",
            Self::Tls => "check that the port speaks TLS and that its certificate is trusted here",
            Self::Send | Self::Answer | Self::Body => {
                "check the server's log, and whether the time-out suits its work"
            }
            Self::Total => "check which step is slow, or allow the whole request more time",
        }
    }
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Wait => "waiting for earlier requests",
            Self::Resolve => "looking up the host",
            Self::Connect => "connecting",
            Self::Tls => "the TLS handshake",
            Self::Send => "sending the request",
            Self::Answer => "waiting for the answer",
            Self::Body => "reading the answer's body",
            Self::Total => "the request as a whole",
        })
    }
}

/// The request that was tried: its method, and its URL, shown without the query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tried {
    /// The method of the request.
    pub method: Method,
    /// The URL of the request, which is shown without its query.
    pub url: Url,
}

impl Tried {
    /// Describes a request by its method and its URL.
    pub fn new(method: &Method, url: &Url) -> Self {
        Self { method: method.clone(), url: url.clone() }
    }
}

impl fmt::Display for Tried {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.method, self.url)
    }
}

/// The reason why there is no complete answer. No message contains a header's value or the query of
/// a URL.
#[derive(Debug, Clone, thiserror::Error)]
pub enum Error {
    /// The URL cannot be used.
    #[error(transparent)]
    Url(#[from] UrlError),
    /// A header's name or value has characters that HTTP does not allow.
    #[error(
        "the header {name:?} cannot be sent: its name or value has a character that HTTP forbids"
    )]
    Header {
        /// The name of the header.
        name: String,
    },
    /// The caller has set a header that only the client writes, or one that belongs to the connection.
    #[error("the header {name:?} cannot be sent: the client writes it itself where it is needed")]
    OwnHeader {
        /// The name of the header.
        name: String,
    },
    /// The method is not a valid token, or it is `CONNECT`, which cannot be used with a URL.
    #[error("the method {method:?} cannot be sent: write one like GET or POST")]
    Method {
        /// The method.
        method: String,
    },
    /// The trusted certificates cannot be used.
    #[error("the trusted certificates cannot be used: {reason}; name a PEM file with at least one")]
    Trust {
        /// What is wrong with them.
        reason: String,
    },
    /// The certificate that is shown to servers cannot be used.
    #[error(
        "the client's own certificate cannot be used: {reason}; name the PEM files of a certificate and its key"
    )]
    Identity {
        /// What is wrong with it; no part of it.
        reason: String,
    },
    /// The system could not create the runtime of a [`BlockingClient`](crate::BlockingClient).
    #[error("the client cannot start; check the limit on open files")]
    Start(#[source] Arc<io::Error>),
    /// The address policy does not allow any address of the host.
    ///
    /// The message names that address, which may be internal. It is meant for the operator and must not
    /// be shown to the person who chose the URL.
    #[error(
        "{tried}: {address} is {range}, and the address policy refuses that; \
         if this server is to be reached, allow its host or network"
    )]
    Refused {
        /// The request.
        tried: Tried,
        /// The first of the refused addresses.
        address: IpAddr,
        /// Why it is refused.
        range: Range,
    },
    /// A phase took longer than it may.
    #[error("{tried}: {phase} took longer than {limit:?}; {}", phase.advice())]
    TimedOut {
        /// The request.
        tried: Tried,
        /// The phase that took too long.
        phase: Phase,
        /// The time limit of the phase.
        limit: Duration,
    },
    /// A phase failed.
    #[error("{tried}: {phase} failed; {}", phase.advice_on_failure())]
    Failed {
        /// The request.
        tried: Tried,
        /// The phase that failed.
        phase: Phase,
        /// The cause.
        #[source]
        cause: Cause,
    },
    /// The caller's stream for the request's body failed, or did not have its declared length.
    #[error("{tried}: the body to send could not be read to its end")]
    OwnBody {
        /// The request.
        tried: Tried,
        /// The cause.
        #[source]
        cause: Cause,
    },
    /// A redirect cannot be followed.
    #[error("{tried}: the redirect is not followed, because {reason}; use the final URL instead")]
    Redirect {
        /// The request that was redirected.
        tried: Tried,
        /// The reason why it is not followed.
        reason: &'static str,
    },
    /// The body of the answer is larger than the caller accepts.
    #[error("{tried}: the answer's body has more than {limit} bytes; raise the limit or stream it")]
    TooLarge {
        /// The request.
        tried: Tried,
        /// The limit in bytes that the caller has set.
        limit: usize,
    },
}

impl Error {
    /// Returns whether the server has certainly received nothing of the request: there was no connection, or
    /// it ended before the request began, or the server refused the stream.
    pub fn is_unsent(&self) -> bool {
        match self {
            Self::TimedOut { phase, .. } | Self::Failed { phase, .. }
                if matches!(phase, Phase::Wait | Phase::Resolve | Phase::Connect | Phase::Tls) =>
            {
                true
            }
            Self::Failed { cause, .. } => is_unsent(&**cause),
            Self::Refused { .. } => true,
            _ => false,
        }
    }

    /// Returns the phase that went wrong. A refused address counts as [`Phase::Connect`], and an answer
    /// that is too large as [`Phase::Body`]. `None` if the request or the settings cannot be used, or a
    /// redirect was not followed.
    pub fn phase(&self) -> Option<Phase> {
        match self {
            Self::TimedOut { phase, .. } | Self::Failed { phase, .. } => Some(*phase),
            Self::OwnBody { .. } => Some(Phase::Send),
            Self::TooLarge { .. } => Some(Phase::Body),
            Self::Refused { .. } => Some(Phase::Connect),
            Self::Url(_)
            | Self::Header { .. }
            | Self::OwnHeader { .. }
            | Self::Method { .. }
            | Self::Trust { .. }
            | Self::Identity { .. }
            | Self::Start(_)
            | Self::Redirect { .. } => None,
        }
    }

    /// Returns whether another attempt may succeed, as it may after most time-outs and failures. It is
    /// hopeless after a refusal or an error in TLS, and pointless after waiting in vain for a permit.
    pub(crate) fn may_pass(&self) -> bool {
        match self {
            Self::TimedOut { phase, .. } => *phase != Phase::Wait,
            Self::Failed { .. } => self.find::<rustls::Error>().is_none(),
            _ => false,
        }
    }

    /// Returns the kind of the first error of the system among the causes, if there is one.
    pub fn io(&self) -> Option<io::ErrorKind> {
        self.find::<io::Error>().map(io::Error::kind)
    }

    /// Returns the first error of a type among the causes.
    pub fn find<E: std::error::Error + 'static>(&self) -> Option<&E> {
        find(self)
    }

    /// Returns the message of the last cause, which is the most precise one.
    pub fn root(&self) -> String {
        let mut last: &dyn std::error::Error = self;
        while let Some(cause) = last.source() {
            last = cause;
        }
        last.to_string()
    }

    /// Returns the message with the causes below it, on one line.
    pub fn with_causes(&self) -> String {
        let mut text = self.to_string();
        let mut below = std::error::Error::source(self);
        while let Some(cause) = below {
            text.push_str(": ");
            text.push_str(&cause.to_string());
            below = cause.source();
        }
        text
    }
}

/// Returns whether a connection ended before a request on it began, or the server refused its stream.
pub fn is_unsent(error: &(dyn std::error::Error + 'static)) -> bool {
    find::<hyper::Error>(error).is_some_and(hyper::Error::is_canceled)
        || find::<h2::Error>(error).and_then(h2::Error::reason) == Some(h2::Reason::REFUSED_STREAM)
}

/// Finds an error of a type in a chain of causes.
pub fn find<'a, E: std::error::Error + 'static>(
    error: &'a (dyn std::error::Error + 'static),
) -> Option<&'a E> {
    let mut at = Some(error);
    while let Some(mut error) = at {
        // A shared error is an error itself, and hides the type of what it shares.
        if let Some(shared) = error.downcast_ref::<Cause>() {
            error = &**shared;
        }
        if let Some(found) = error.downcast_ref::<E>() {
            return Some(found);
        }
        // So does an error of the system that carries another one.
        if let Some(carried) = error.downcast_ref::<io::Error>().and_then(io::Error::get_ref) {
            return find(carried);
        }
        at = error.source();
    }
    None
}
