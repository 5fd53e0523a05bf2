//! Targets that were looked up before. Only the writer changes the store, so what it remembers
//! stays true until it deletes the target itself; and almost every document refers to the same
//! schools, sessions and descriptors.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use crate::id::NaturalKey;
use crate::plan::Target;

/// Most targets that are remembered: a few megabytes.
const TARGETS_MAX: usize = 50_000;

/// Targets by identity, their own or an abstract base's.
#[derive(Default)]
pub(super) struct TargetCache(HashMap<NaturalKey, Target, BuildHasherDefault<FirstBytes>>);

impl TargetCache {
    /// Returns the target, if it is remembered.
    pub(super) fn get(&self, key: NaturalKey) -> Option<Target> {
        self.0.get(&key).copied()
    }

    /// Remembers a target that was found.
    pub(super) fn found(&mut self, key: NaturalKey, target: Target) {
        if self.0.len() >= TARGETS_MAX {
            self.0.clear();
        }
        self.0.insert(key, target);
    }

    /// Forgets an identity that is removed.
    pub(super) fn forget(&mut self, key: NaturalKey) {
        self.0.remove(&key);
    }

    /// Forgets everything: what was found may have been lost with its transaction.
    pub(super) fn forget_all(&mut self) {
        self.0.clear();
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
