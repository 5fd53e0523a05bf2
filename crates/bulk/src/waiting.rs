//! Records that wait for documents which the load may still bring.
//!
//! A record waits for the first target that it lacks and is read again when that is stored.
//! References within a level, and circles with an entry point, thus resolve without any search.

use std::collections::{BTreeMap, HashMap, VecDeque};

use homeroom_model::ResourceId;
use homeroom_store::NaturalKey;

use crate::place::At;

/// Most records that may wait at the same time.
const WAITING_MAX: usize = 1_000_000;

/// A waiting record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Waiter {
    /// Its position.
    pub at: At,
    /// Its resource.
    pub resource: ResourceId,
    /// Its identity, and the one under its base.
    pub keys: (NaturalKey, Option<NaturalKey>),
}

/// All waiting records, by the identity that they wait for.
#[derive(Debug, Default)]
pub(crate) struct Waiting {
    for_key: HashMap<NaturalKey, Vec<Waiter>>,
    own: HashMap<NaturalKey, u32>,
    count: usize,
}

impl Waiting {
    /// Number of waiting records.
    pub(crate) fn len(&self) -> usize {
        self.count
    }

    /// Whether a record with this identity is itself waiting.
    pub(crate) fn has(&self, key: NaturalKey) -> bool {
        self.own.contains_key(&key)
    }

    /// Makes a record wait for an identity; returns whether there was room.
    pub(crate) fn wait(&mut self, waiter: Waiter, key: NaturalKey) -> bool {
        if self.count == WAITING_MAX {
            return false;
        }
        self.count += 1;
        for own in own_keys(&waiter) {
            *self.own.entry(own).or_default() += 1;
        }
        self.for_key.entry(key).or_default().push(waiter);
        true
    }

    /// Yields all waiting records.
    pub(crate) fn all(&self) -> impl Iterator<Item = &Waiter> {
        self.for_key.values().flatten()
    }

    /// Removes and returns the records that wait for an identity, in order of arrival.
    pub(crate) fn take(&mut self, key: NaturalKey) -> Vec<Waiter> {
        if self.for_key.is_empty() {
            return vec![];
        }
        let waiters = self.for_key.remove(&key).unwrap_or_default();
        self.count -= waiters.len();
        for own in waiters.iter().flat_map(own_keys) {
            if let Some(count) = self.own.get_mut(&own) {
                *count -= 1;
                if *count == 0 {
                    self.own.remove(&own);
                }
            }
        }
        waiters
    }

    /// Removes and returns all waiting records. Those whose target does not itself wait come first,
    /// and each comes before those that wait for it.
    pub(crate) fn give_up(&mut self) -> Vec<Waiter> {
        let mut order: BTreeMap<(u32, u64), NaturalKey> = BTreeMap::new();
        for (key, waiters) in &self.for_key {
            for waiter in waiters {
                order.insert((waiter.at.file, waiter.at.offset), *key);
            }
        }
        // Circles come last: each of their records waits for another waiting record.
        let (within, roots): (Vec<_>, Vec<_>) =
            order.into_values().partition(|key| self.own.contains_key(key));
        let mut found = vec![];
        for key in roots.into_iter().chain(within) {
            let mut keys = VecDeque::from([key]);
            while let Some(key) = keys.pop_front() {
                let waiters = self.take(key);
                keys.extend(waiters.iter().flat_map(own_keys));
                found.extend(waiters);
            }
        }
        found
    }
}

fn own_keys(waiter: &Waiter) -> impl Iterator<Item = NaturalKey> + use<> {
    std::iter::once(waiter.keys.0).chain(waiter.keys.1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(of: u8) -> NaturalKey {
        NaturalKey([of; 16])
    }

    fn waiter(of: u8, offset: u64) -> Waiter {
        let at = At { file: 0, offset, bytes: 1, line: 1 };
        Waiter { at, resource: ResourceId(0), keys: (key(of), None) }
    }

    #[test]
    fn waiting_records_are_released_when_their_target_arrives() {
        let mut waiting = Waiting::default();
        waiting.wait(waiter(2, 20), key(1));
        waiting.wait(waiter(3, 30), key(1));
        waiting.wait(waiter(4, 40), key(2));

        assert!(waiting.has(key(2)) && !waiting.has(key(1)));
        assert_eq!(waiting.take(key(1)), [waiter(2, 20), waiter(3, 30)]);
        assert!(!waiting.has(key(2)));
        assert_eq!(waiting.take(key(1)), []);
        assert_eq!(waiting.len(), 1);
    }

    #[test]
    fn abandoned_records_come_before_their_dependents_and_circles_come_last() {
        let mut waiting = Waiting::default();
        waiting.wait(waiter(3, 5), key(2));
        waiting.wait(waiter(7, 6), key(8));
        waiting.wait(waiter(8, 7), key(7));
        waiting.wait(waiter(2, 20), key(1));

        let order: Vec<u64> = waiting.give_up().iter().map(|waiter| waiter.at.offset).collect();

        assert_eq!(order, [20, 5, 6, 7]);
        assert_eq!(waiting.len(), 0);
    }
}
