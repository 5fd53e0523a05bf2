//! Ties: documents state that one item is held by another, and ties can be followed.

use std::sync::Arc;

use crate::id::{KindId, NaturalKey};

/// States that `item` is held by `holder`. A document makes a tie, and deleting it removes the tie.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Tie {
    /// The sense of the tie: a number that [`crate::Store::kinds`] gave a name.
    pub label: KindId,
    /// A number whose meaning the label's owner defines, such as a document's.
    pub item: i64,
    /// The same for the holder.
    pub holder: i64,
}

/// The starting point of a way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Start {
    /// A number.
    Number(i64),
    /// The number of the document that has this identity, as its own or its base's.
    Document(NaturalKey),
}

/// How numbers are reached: from an item to its holders by one label after another, then by the
/// last label as far as it leads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Way {
    /// Labels that are followed once each, in order.
    pub steps: Steps,
    /// The label that is followed to its end. An item without holders leads nowhere; tie a number
    /// to itself if it is to be reached from itself.
    pub up: KindId,
    /// Whether the steps, but not the last label, also follow ties of deleted documents.
    pub past: bool,
}

/// Most steps of a way.
pub const STEPS_MAX: usize = 6;

/// Labels that are followed once each, in order. They are in the value itself, because ways are copied for
/// each check, and a count of references that all threads share would cost more than the check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Steps {
    labels: [KindId; STEPS_MAX],
    count: u8,
}

impl Steps {
    /// Makes steps of labels; [`None`] beyond [`STEPS_MAX`].
    pub fn of(labels: &[KindId]) -> Option<Self> {
        let mut steps = Self { labels: [KindId(0); STEPS_MAX], count: 0 };
        steps.labels.get_mut(..labels.len())?.copy_from_slice(labels);
        steps.count = u8::try_from(labels.len()).ok()?;
        Some(steps)
    }
}

impl std::ops::Deref for Steps {
    type Target = [KindId];

    fn deref(&self) -> &[KindId] {
        &self.labels[..usize::from(self.count)]
    }
}

impl<const N: usize> From<[KindId; N]> for Steps {
    fn from(labels: [KindId; N]) -> Self {
        const { assert!(N <= STEPS_MAX, "a way has few steps") };
        let mut steps = Self { labels: [KindId(0); STEPS_MAX], count: 0 };
        for label in labels {
            steps.labels[usize::from(steps.count)] = label;
            steps.count += 1;
        }
        steps
    }
}

impl Way {
    /// Returns the label to follow from a number that was reached after `step` steps.
    pub(crate) fn label(&self, step: usize) -> KindId {
        self.steps.get(step).copied().unwrap_or(self.up)
    }
}

/// The state of all ties in which a document was read, where the store can tell.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TieState(pub(crate) Option<i64>);

/// The result of following a way.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Reached {
    /// Numbers that the last label has led to, sorted, without duplicates.
    pub numbers: Arc<[i64]>,
    /// Items whose holders were examined, with the label; recorded only where plans run
    /// concurrently.
    pub(crate) seen: Vec<(KindId, i64)>,
}
