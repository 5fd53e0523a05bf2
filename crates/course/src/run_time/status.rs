//! The words for what has come of something: completion, success, score.

use serde::{Deserialize, Serialize};

/// Whether something is completed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Completion {
    /// Nobody has said.
    Unknown,
    /// It is begun and not completed.
    Incomplete,
    /// It is completed.
    Completed,
}

/// Whether something is passed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Success {
    /// Nobody has said.
    Unknown,
    /// It is passed.
    Passed,
    /// It is failed.
    Failed,
}

impl Completion {
    /// Returns its name in the API.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Unknown => "UNKNOWN",
            Self::Incomplete => "INCOMPLETE",
            Self::Completed => "COMPLETED",
        }
    }
}

impl Success {
    /// Returns its name in the API.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Unknown => "UNKNOWN",
            Self::Passed => "PASSED",
            Self::Failed => "FAILED",
        }
    }
}

/// What has come of an activity.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize, Serialize)]
pub(crate) struct Outcome {
    /// Whether it is completed.
    pub(crate) completion: Completion,
    /// Whether it is passed.
    pub(crate) success: Success,
    /// Its score from -1 to 1.
    pub(crate) score: Option<f64>,
    /// How much of it is done, from 0 to 1.
    pub(crate) amount: Option<f64>,
}

impl Outcome {
    /// Nothing is known.
    pub(crate) const UNKNOWN: Self = Self {
        completion: Completion::Unknown,
        success: Success::Unknown,
        score: None,
        amount: None,
    };
}
