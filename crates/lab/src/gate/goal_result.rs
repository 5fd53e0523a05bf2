//! A goal and what was measured.

use super::expression::Goal;

/// One goal and the measured value.
#[derive(Debug, Clone, PartialEq)]
pub struct GoalResult {
    /// The goal.
    pub goal: Goal,
    /// The measured value in the unit of its kind; a share is a fraction of 1.
    pub measured: f64,
    /// Whether the goal's condition holds, so that the goal is missed.
    pub failed: bool,
}

impl GoalResult {
    /// Formats the measured value with its unit.
    pub fn shown(&self) -> String {
        self.goal.kind.shown(self.measured)
    }
}
