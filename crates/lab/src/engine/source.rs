//! Where requests come from and where answers go: a scenario, or a test's stand-in.

use std::time::Duration;

pub use httparse::Header;

use crate::outcome::Outcome;

/// What modelled clients say. Each sending thread has a source of its own, so nothing is shared.
pub trait Source: Send {
    /// What one modelled client knows: its place in a sequence, its variables.
    type Client: Send;

    /// The steps that requests belong to, in the order of their numbers.
    fn steps(&self) -> &[StepFacts];

    /// A new modelled client; numbers are given once over all threads of a run.
    fn client(&mut self, number: u32) -> Self::Client;

    /// Fills in this client's next request, which comes empty, and says which step it belongs to.
    fn next(&mut self, client: &mut Self::Client, request: &mut Request) -> usize;

    /// Takes in how the client's last request ended.
    fn answered(&mut self, client: &mut Self::Client, step: usize, answer: &Answer<'_>) -> Verdict;
}

/// What is always the same about a step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StepFacts {
    /// Its name, in reports.
    pub name: String,
    /// What it belongs to, in reports: a resource, for instance; may be empty.
    pub group: String,
    /// Its method, in capitals.
    pub method: String,
    /// Whether [`Source::answered`] looks at the body of an answer; other bodies are counted and
    /// forgotten.
    pub keeps_body: bool,
}

/// A request to be sent. The engine adds `Host`, `Content-Length` and, if asked, the token.
#[derive(Debug, Default)]
pub struct Request {
    /// Path and query, percent-encoded, from the first `/`.
    pub path: Vec<u8>,
    /// Header lines, each `name: value` and CR LF.
    pub headers: Vec<u8>,
    /// The body; empty for none.
    pub body: Vec<u8>,
    /// Whether the token goes with it.
    pub auth: bool,
}

impl Request {
    /// Makes it empty, keeping its room.
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
    /// A status, or why there is none.
    pub outcome: Outcome,
    /// The header lines; empty without an answer.
    pub headers: &'a [Header<'a>],
    /// The body, if the step keeps it.
    pub body: &'a [u8],
}

impl<'a> Answer<'a> {
    /// The first value of a header, by its name in any case.
    pub fn header(&self, name: &str) -> Option<&'a [u8]> {
        let found = self.headers.iter().find(|header| header.name.eq_ignore_ascii_case(name));
        found.map(|header| header.value)
    }
}

/// What the source makes of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Verdict {
    /// Whether it is what the step expects, its checks included.
    pub ok: bool,
    /// How long this client thinks before its next request; of no effect on a rate.
    pub pause: Duration,
}
