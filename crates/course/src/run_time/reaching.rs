//! What comes of a course once it has been completed.

use std::collections::BTreeMap;

use super::reached::Reached;
use super::state::{ActivityState, Progress};
use super::status::{Completion, Outcome};

impl Progress {
    /// Takes note of what has come of the course. `keeps`: whether what is completed stays so.
    pub(crate) fn reach(
        &mut self,
        found: Outcome,
        states: &BTreeMap<String, ActivityState>,
        keeps: bool,
    ) {
        if !keeps {
            self.reached = None;
        } else if found.completion == Completion::Completed {
            let attempts = states.values().map(|state| u64::from(state.attempts)).sum();
            let before = self.reached.and_then(|reached| {
                if attempts > reached.attempts { Some(reached.outcome()) } else { reached.before }
            });
            self.reached = Some(Reached { attempts, before, last: found });
        }
    }

    /// Returns what has come of the course as its registration tells it: what was reached, or what the
    /// activities say.
    pub(crate) fn told(&self, found: Outcome) -> Outcome {
        self.reached.map_or(found, Reached::outcome)
    }
}

#[cfg(test)]
mod tests {
    use super::super::status::Success;
    use super::*;

    fn outcome(completion: Completion, success: Success, score: Option<f64>) -> Outcome {
        Outcome { completion, success, score, amount: None }
    }

    #[test]
    fn what_was_reached_stays_until_a_later_attempt_reaches_as_much() {
        use Completion::{Completed, Incomplete};
        use Success::{Failed, Passed, Unknown};
        let mut progress = Progress::default();
        let mut states = BTreeMap::from([("a".to_owned(), ActivityState::default())]);
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
            states.get_mut("a").unwrap().attempts = attempts;
            let found = outcome(found.0, found.1, found.2);

            progress.reach(found, &states, true);

            assert_eq!(progress.told(found), outcome(told.0, told.1, told.2), "step {at}");
        }
        let found = outcome(Incomplete, Unknown, None);
        progress.reach(found, &states, false);
        assert_eq!(progress.told(found), found, "content has its way");
    }
}
