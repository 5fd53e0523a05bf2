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
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Way {
    /// Labels that are followed once each, in order.
    pub steps: Arc<[KindId]>,
    /// The label that is followed to its end. An item without holders leads nowhere; tie a number
    /// to itself if it is to be reached from itself.
    pub up: KindId,
    /// Whether the steps, but not the last label, also follow ties of deleted documents.
    pub past: bool,
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
