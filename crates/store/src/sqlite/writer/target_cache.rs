//! Targets that were looked up or created before. Only the writer changes the store, so what it
//! remembers stays true until it deletes the target itself; and almost every document refers to the
//! same schools, sessions and descriptors.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use crate::id::NaturalKey;
use crate::plan::Target;

/// Most targets of each of the two generations: 25 megabytes.
const GENERATION_MAX: usize = 450_000;
/// Most targets that an idle writer keeps.
const IDLE_MAX: usize = 50_000;

type Targets = HashMap<NaturalKey, Target, BuildHasherDefault<FirstBytes>>;

/// Targets by identity, their own or an abstract base's, in two generations: when the younger one
/// is full it becomes the older one, whose targets are forgotten unless they were asked for.
#[derive(Default)]
pub(super) struct TargetCache {
    young: Targets,
    old: Targets,
}

impl TargetCache {
    /// Returns the target, if it is remembered.
    pub(super) fn get(&mut self, key: NaturalKey) -> Option<Target> {
        if let Some(target) = self.young.get(&key) {
            return Some(*target);
        }
        let target = self.old.remove(&key)?;
        self.found(key, target);
        Some(target)
    }

    /// Remembers a target that was found or created.
    pub(super) fn found(&mut self, key: NaturalKey, target: Target) {
        if self.young.len() >= GENERATION_MAX {
            self.old = std::mem::take(&mut self.young);
        }
        self.young.insert(key, target);
    }

    /// Forgets an identity that is removed.
    pub(super) fn forget(&mut self, key: NaturalKey) {
        self.young.remove(&key);
        self.old.remove(&key);
    }

    /// Forgets everything: what was found may have been lost with its transaction.
    pub(super) fn forget_all(&mut self) {
        self.young.clear();
        self.old.clear();
    }

    /// Gives memory back that only a large load needs.
    pub(super) fn shrink(&mut self) {
        if self.young.len() + self.old.len() > IDLE_MAX {
            (self.young, self.old) = (Targets::default(), Targets::default());
        }
    }
}

/// A hasher that takes the first bytes of a cryptographic hash unchanged.
#[derive(Default)]
pub(super) struct FirstBytes(u64);

impl Hasher for FirstBytes {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        let mut first = [0; 8];
        let length = bytes.len().min(8);
        first[..length].copy_from_slice(&bytes[..length]);
        // An array is hashed as its length, then its bytes; the last write wins.
        self.0 = u64::from_le_bytes(first);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::{DocumentId, KindId, Uuid};

    fn key(number: usize) -> NaturalKey {
        NaturalKey((number as u128).to_le_bytes())
    }

    fn target(number: i64) -> Target {
        (DocumentId(number), Uuid([0; 16]), KindId(1))
    }

    #[test]
    fn targets_that_are_asked_for_outlive_the_others() {
        let mut cache = TargetCache::default();
        cache.found(key(0), target(7));
        cache.found(key(1), target(8));

        for number in 2..=2 * GENERATION_MAX {
            cache.found(key(number), target(1));
            assert_eq!(cache.get(key(0)), Some(target(7)));
        }

        assert_eq!(cache.get(key(1)), None);
        cache.forget(key(0));
        assert_eq!(cache.get(key(0)), None);
    }

    #[test]
    fn an_idle_writer_gives_the_memory_of_a_load_back() {
        let mut cache = TargetCache::default();
        for number in 0..=IDLE_MAX {
            cache.found(key(number), target(1));
        }

        cache.shrink();

        assert_eq!((cache.get(key(0)), cache.young.capacity()), (None, 0));
    }
}
