//! The interface through which the engine gets requests and returns answers. A scenario implements
//! it, or a stand-in in tests.

use std::time::Duration;

pub use httparse::Header;

use crate::outcome::Outcome;

/// Produces the requests of modelled clients. Each sending thread has its own source, so nothing is
/// shared.
pub trait Source: Send {
    /// The state of one modelled client: its position in a sequence, its variables.
    type Client: Send;

    /// Returns the steps that requests belong to, in the order of their numbers.
    fn steps(&self) -> &[StepFacts];

    /// Creates a modelled client; numbers are unique over all threads of a run.
    fn client(&mut self, number: u32) -> Self::Client;

    /// Returns when this source next has a request of its own, in nanoseconds since the run began,
    /// whatever the stages say; `None` if it has none now. Such a request is sent over any free
    /// connection, and [`Self::next`] must then fill it in. Nothing is sent after the last stage.
    fn due(&mut self) -> Option<u64> {
        None
    }

    /// Fills in this client's next request, which is empty, and returns the number of its step.
    fn next(&mut self, client: &mut Self::Client, request: &mut Request) -> usize;

    /// Processes the result of the client's last request.
    fn answered(&mut self, client: &mut Self::Client, step: usize, answer: &Answer<'_>)
    -> Reaction;

    /// Does the same for sources that must know when the request ended, in nanoseconds since the run
    /// began.
    fn answered_at(
        &mut self,
        client: &mut Self::Client,
        step: usize,
        answer: &Answer<'_>,
        _now: u64,
    ) -> Reaction {
        self.answered(client, step, answer)
    }
}

/// The constant properties of a step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StepFacts {
    /// Its name in reports.
    pub name: String,
    /// What it belongs to in reports, such as a resource; may be empty.
    pub group: String,
    /// Its HTTP method in upper case.
    pub method: String,
    /// Whether [`Source::answered`] reads the body of an answer; other bodies are only counted.
    pub keeps_body: bool,
}

/// A request to send. The engine adds `Host`, `Content-Length` and, if `auth` is set, the token.
#[derive(Debug, Default)]
pub struct Request {
    /// The path and query, percent-encoded, beginning with `/`.
    pub path: Vec<u8>,
    /// The header lines, each `name: value` and CR LF.
    pub headers: Vec<u8>,
    /// The body; empty for none.
    pub body: Vec<u8>,
    /// Whether the token is sent with it.
    pub auth: bool,
}

impl Request {
    /// Empties the request and keeps its capacity.
    pub fn clear(&mut self) {
        self.path.clear();
        self.headers.clear();
        self.body.clear();
        self.auth = false;
    }
}

/// How a request ended.
#[derive(Debug, Clone, Copy)]
pub struct Answer<'a> {
    /// The status, or why there is none.
    pub outcome: Outcome,
    /// The header lines; empty without an answer.
    pub headers: &'a [Header<'a>],
    /// The body, if the step keeps bodies.
    pub body: &'a [u8],
    /// The length of the body in bytes, whether or not it is kept.
    pub length: u64,
}

impl<'a> Answer<'a> {
    /// Returns the first value of a header; the case of the name does not matter.
    pub fn header(&self, name: &str) -> Option<&'a [u8]> {
        let found = self.headers.iter().find(|header| header.name.eq_ignore_ascii_case(name));
        found.map(|header| header.value)
    }
}

/// The source's judgement of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reaction {
    /// Whether the answer is what the step expects, including its checks.
    pub ok: bool,
    /// How long this client pauses before its next request; ignored for requests at a rate.
    pub pause: Duration,
}
