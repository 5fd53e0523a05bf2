//! An operation as it is done.

use super::pointer::Step;

/// An operation: the places that `*` leads to, and what is done in each.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Compiled {
    /// The steps up to the last `*`, with it.
    pub(super) places: Vec<Step>,
    /// The steps within a place.
    pub(super) within: Vec<String>,
    pub(super) change: Change,
}

/// What is done in a place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Change {
    Rename(Name),
    /// The value, as JSON writes it, and how many arrays and objects are within each other in it.
    Add(Vec<u8>, usize),
    Drop,
    /// The steps within the same place.
    Move(Vec<String>),
}

/// The name of a member.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Name {
    /// The name.
    pub(super) name: String,
    /// A comma, the name as JSON writes it, and a colon.
    written: Vec<u8>,
}

impl Name {
    pub(super) fn new(name: &str) -> Self {
        let written = format!(",{}:", serde_json::Value::from(name)).into_bytes();
        Self { name: name.to_owned(), written }
    }

    /// Returns it as JSON writes it, with its quotes.
    pub(super) fn quoted(&self) -> &[u8] {
        &self.written[1..self.written.len() - 1]
    }

    /// Returns what is in front of the value of a member of this name; of one that is behind another with its comma.
    pub(super) fn before_value(&self, is_behind_another: bool) -> &[u8] {
        &self.written[usize::from(!is_behind_another)..]
    }
}
