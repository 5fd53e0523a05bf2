//! What a registration has reached, and keeps when its course is played again.

use serde::{Deserialize, Serialize};

use super::status::{Completion, Outcome, Success};

/// What a course has been completed with.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize, Serialize)]
pub(crate) struct Reached {
    /// How many attempts at its activities had begun when it was completed last.
    attempts: u64,
    /// What it had been completed with before these.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    before: Option<Outcome>,
    /// What these have completed it with.
    last: Outcome,
}

impl Reached {
    /// Returns what has been reached after an outcome of so many attempts.
    pub(super) fn after(former: Option<Self>, found: Outcome, attempts: u64) -> Option<Self> {
        if found.completion != Completion::Completed {
            return former;
        }
        let before = former.and_then(|former| {
            if attempts > former.attempts { Some(former.outcome()) } else { former.before }
        });
        Some(Self { attempts, before, last: found })
    }

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

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(completion: Completion, success: Success, score: Option<f64>) -> Outcome {
        Outcome { completion, success, score, amount: None }
    }

    #[test]
    fn what_was_reached_stays_until_a_later_attempt_reaches_as_much() {
        use Completion::{Completed, Incomplete};
        use Success::{Failed, Passed, Unknown};
        let mut reached = None;
        let steps = [
            (1, (Completed, Unknown, None), (Completed, Unknown, None)),
            // Within an attempt, content may say something else.
            (1, (Completed, Passed, Some(0.5)), (Completed, Passed, Some(0.5))),
            (1, (Completed, Failed, Some(0.3)), (Completed, Failed, Some(0.3))),
            (1, (Incomplete, Unknown, None), (Completed, Failed, Some(0.3))),
            (2, (Incomplete, Passed, Some(1.0)), (Completed, Failed, Some(0.3))),
            (2, (Completed, Unknown, None), (Completed, Failed, Some(0.3))),
            (2, (Completed, Passed, Some(0.9)), (Completed, Passed, Some(0.9))),
            (3, (Completed, Unknown, None), (Completed, Passed, Some(0.9))),
            (3, (Completed, Failed, Some(0.1)), (Completed, Passed, Some(0.9))),
            (4, (Completed, Passed, Some(0.8)), (Completed, Passed, Some(0.8))),
        ];
        for (at, (attempts, found, told)) in steps.into_iter().enumerate() {
            let found = outcome(found.0, found.1, found.2);

            reached = Reached::after(reached, found, attempts);

            let kept = reached.map(Reached::outcome);
            assert_eq!(kept, Some(outcome(told.0, told.1, told.2)), "step {at}");
        }
        assert_eq!(Reached::after(None, outcome(Incomplete, Passed, None), 1), None);
    }
}
