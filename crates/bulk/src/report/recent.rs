//! The places of the records that were stored last, to tell what a later one repeats.

use std::collections::{HashMap, VecDeque};

use homeroom_store::NaturalKey;

use crate::place::At;

/// Most stored records whose places are remembered, to tell what a later one repeats.
const RECENT_MAX: usize = 1 << 18;

/// The places of the records that were stored last.
#[derive(Default)]
pub(super) struct Recent {
    places: HashMap<NaturalKey, At>,
    order: VecDeque<NaturalKey>,
}

impl Recent {
    /// Remembers a place. Returns the one of the record with the same identity before.
    pub(super) fn put(&mut self, key: NaturalKey, at: At) -> Option<At> {
        let before = self.places.insert(key, at);
        if before.is_none() {
            self.order.push_back(key);
            if self.order.len() > RECENT_MAX
                && let Some(oldest) = self.order.pop_front()
            {
                self.places.remove(&oldest);
            }
        }
        before
    }
}
