//! What is kept by name behind several locks, so that threads seldom wait for each other.

use std::hash::{BuildHasher as _, RandomState};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// How many locks the names are spread over.
const SHARDS: usize = 16;

/// Parts of what is kept by name, each with a lock of its own.
#[derive(Debug, Default)]
pub struct Shards<T> {
    all: [Mutex<T>; SHARDS],
    spread: RandomState,
}

impl<T> Shards<T> {
    /// Locks and returns the shard of a name.
    pub fn of(&self, name: &str) -> MutexGuard<'_, T> {
        let at = usize::try_from(self.spread.hash_one(name) % SHARDS as u64).unwrap_or(0);
        self.all[at].lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Locks and returns each shard in turn.
    pub fn each(&self) -> impl Iterator<Item = MutexGuard<'_, T>> {
        self.all.iter().map(|shard| shard.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
