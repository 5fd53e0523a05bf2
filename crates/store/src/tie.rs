//! Ties: what is held by what, as documents say, and what can be reached over them.

use std::sync::Arc;

use crate::id::{KindId, NaturalKey};

/// `item` is held by `holder`. A document makes it, and it goes with the document.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Tie {
    /// In which sense: a number that [`crate::Store::kinds`] gave a name.
    pub label: KindId,
    /// A number that the label's owner understands, such as a document's.
    pub item: i64,
    /// As `item`.
    pub holder: i64,
}

/// Where a way begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Start {
    /// At a number.
    Number(i64),
    /// At the number of the document that carries this identity, as its own or its base's.
    Document(NaturalKey),
}

/// How numbers are reached: from an item to its holders by one label after another, then on by the
/// last one as far as it leads.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Way {
    /// Labels that are followed once each, in order.
    pub steps: Arc<[KindId]>,
    /// The label that is followed to its end. Items without holders lead nowhere: who wants a
    /// number to be reached from itself ties it to itself.
    pub up: KindId,
    /// Whether the steps, not the last label, also follow ties of documents that were deleted.
    pub past: bool,
}

impl Way {
    /// The label that is followed from a number that was reached with `step` steps.
    pub(crate) fn label(&self, step: usize) -> KindId {
        self.steps.get(step).copied().unwrap_or(self.up)
    }
}

/// The state of all ties that a document was read in, where the store can tell.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TieState(pub(crate) Option<i64>);

/// What was reached.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Reached {
    /// Numbers that the last label has led to, each once, in order.
    pub numbers: Vec<i64>,
    /// Items whose holders were looked at, with the label. Only where plans run side by side.
    pub(crate) seen: Vec<(KindId, i64)>,
}

impl Reached {
    /// Whether one of these numbers was reached.
    pub fn any_of(&self, numbers: &[i64]) -> bool {
        self.numbers.iter().any(|number| numbers.contains(number))
    }
}
