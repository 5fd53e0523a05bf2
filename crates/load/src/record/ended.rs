//! A request that has ended.

use crate::outcome::Outcome;

/// A request that has ended. Moments are in nanoseconds since the run began.
#[derive(Debug, Clone, Copy)]
pub struct Ended {
    /// The number of its stage.
    pub stage: usize,
    /// The number of its step; `None` if the request was never made.
    pub step: Option<usize>,
    /// When it was due.
    pub due: u64,
    /// When it was sent.
    pub sent: u64,
    /// When it ended.
    pub done: u64,
    /// How it ended.
    pub outcome: Outcome,
    /// Whether the outcome is as expected.
    pub ok: bool,
    /// Whether it had to wait for a connection.
    pub late: bool,
}

impl Ended {
    /// Returns whether it was sent: a request that was not has no service time.
    pub fn was_sent(&self) -> bool {
        self.step.is_some() && self.outcome != Outcome::NoRoom
    }
}
