//! What a registration has reached, and keeps when its course is played again.

use serde::{Deserialize, Serialize};

use super::status::{Outcome, Success};

/// What a course has been completed with.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize, Serialize)]
pub(crate) struct Reached {
    /// How many attempts at its activities had begun when it was completed last.
    pub(super) attempts: u64,
    /// What it had been completed with before these.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) before: Option<Outcome>,
    /// What these have completed it with.
    pub(super) last: Outcome,
}

impl Reached {
    /// Returns what has been reached in all: the last result holds, but what it does not tell stays as it was,
    /// and a course that was passed is not failed by a later attempt.
    pub(super) fn outcome(self) -> Outcome {
        let Some(before) = self.before else { return self.last };
        match (before.success, self.last.success) {
            (Success::Passed, Success::Failed) => before,
            (success, Success::Unknown) => {
                Outcome { success, score: self.last.score.or(before.score), ..self.last }
            }
            _ => Outcome { score: self.last.score.or(before.score), ..self.last },
        }
    }
}
