//! Holders of items that were looked up before. What a person is tied to changes with the person's own
//! enrolments only, so a change of one item's ties leaves all others remembered.

use std::collections::HashMap;
use std::sync::Arc;

use crate::id::KindId;

/// Most items of each of the two generations: as many as a table of 131,072 places takes. Together that is 9
/// megabytes, and 11 more where each item has several holders.
const GENERATION_MAX: usize = 114_688;
/// Most items that are kept where nobody asks.
const IDLE_MAX: usize = 16_384;

/// An item whose holders are looked up: by a label, among present ties or those of deleted documents.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Held {
    pub(super) label: KindId,
    pub(super) past: bool,
    pub(super) item: i64,
}

/// The holders of an item; most items have one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Holders {
    One(i64),
    All(Arc<[i64]>),
}

impl Holders {
    pub(super) fn as_slice(&self) -> &[i64] {
        match self {
            Self::One(holder) => std::slice::from_ref(holder),
            Self::All(holders) => holders,
        }
    }
}

impl From<&[i64]> for Holders {
    fn from(holders: &[i64]) -> Self {
        match holders {
            [only] => Self::One(*only),
            // All of these share one.
            [] => Self::All(Arc::default()),
            holders => Self::All(holders.into()),
        }
    }
}

/// Holders by item, in two generations: when the younger one is full it becomes the older one, and the one
/// before is forgotten, with items that are asked for, too. They are looked up once more then; to move them
/// whenever they are asked for, readers would have to write to what they share.
#[derive(Default)]
pub(super) struct HolderCache {
    young: HashMap<Held, Holders>,
    old: HashMap<Held, Holders>,
}

impl HolderCache {
    /// Returns the holders of an item, if they are remembered.
    pub(super) fn get(&self, held: &Held) -> Option<&Holders> {
        self.young.get(held).or_else(|| self.old.get(held))
    }

    /// Remembers the holders of an item.
    pub(super) fn found(&mut self, held: Held, holders: Holders) {
        self.add(held, holders, GENERATION_MAX);
    }

    fn add(&mut self, held: Held, holders: Holders, generation_max: usize) {
        if self.young.len() >= generation_max {
            self.old = std::mem::take(&mut self.young);
        }
        self.young.insert(held, holders);
    }

    /// Forgets the holders of an item whose ties change.
    pub(super) fn forget(&mut self, label: KindId, item: i64) {
        for past in [false, true] {
            let held = Held { label, past, item };
            self.young.remove(&held);
            self.old.remove(&held);
        }
    }

    /// Returns whether this is more than what is kept where nobody asks.
    pub(super) fn is_large(&self) -> bool {
        self.young.len() + self.old.len() > IDLE_MAX
    }

    /// Gives memory back that only many readers or a large load need.
    pub(super) fn shrink(&mut self) {
        if self.is_large() {
            *self = Self::default();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LABEL: KindId = KindId(3);

    fn held(item: i64) -> Held {
        Held { label: LABEL, past: false, item }
    }

    #[test]
    fn a_change_of_an_items_ties_forgets_this_item_in_both_generations_and_no_other() {
        for changed in [1, 3] {
            let mut cache = HolderCache::default();
            for item in 1..=3 {
                cache.add(held(item), Holders::One(item * 10), 2);
            }
            assert!((1..=3).all(|item| cache.get(&held(item)).is_some()));

            cache.forget(LABEL, changed);

            for item in 1..=3 {
                let expected = (item != changed).then_some(Holders::One(item * 10));
                assert_eq!(cache.get(&held(item)).cloned(), expected, "{item} after {changed}");
            }
        }
    }

    #[test]
    fn it_never_has_more_than_two_generations() {
        let mut cache = HolderCache::default();

        for item in 0..1_000 {
            cache.add(held(item), Holders::from(&[item, item + 1][..]), 10);
        }

        assert!(cache.young.len() <= 10 && cache.old.len() <= 10);
        assert_eq!(cache.get(&held(999)).unwrap().as_slice(), [999, 1_000]);
        assert_eq!(cache.get(&held(0)), None);
    }

    #[test]
    fn present_ties_and_those_of_deleted_documents_are_different_things() {
        let mut cache = HolderCache::default();
        cache.found(held(1), Holders::One(7));

        assert_eq!(cache.get(&Held { past: true, ..held(1) }), None);

        cache.found(Held { past: true, ..held(1) }, Holders::One(8));
        cache.forget(LABEL, 1);
        assert_eq!(cache.get(&held(1)), None);
        assert_eq!(cache.get(&Held { past: true, ..held(1) }), None);
    }
}
