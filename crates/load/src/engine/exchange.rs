//! The parts that the requests of a connection share, and the progress of an answer.

use crate::outcome::Outcome;

/// How far the answer to a request has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// More has to come.
    Pending,
    /// The answer is complete.
    Answered,
    /// There will be no answer.
    Failed(Outcome),
}

/// The parts that all requests of a connection share.
#[derive(Debug, Clone, Copy)]
pub struct Fixed<'a> {
    /// The origin: scheme, name and port.
    pub origin: &'a str,
    /// The prefix of every path.
    pub prefix: &'a str,
    /// The header line that all requests have: `Host`.
    pub lines: &'a [u8],
    /// The header line with the token.
    pub token: &'a [u8],
}
