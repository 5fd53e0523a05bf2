//! The tokens that were taken back, as a node knows them.

use std::collections::HashMap;
use std::sync::{PoisonError, RwLock};

/// Most live tokens of one key that may be taken back.
const OF_KEY_MAX: usize = 1_000;
/// The same of all keys.
const ALL_MAX: usize = 100_000;

/// The tokens that were taken back and have not ended, as this node knows them.
#[derive(Debug, Default)]
pub(crate) struct Revocations {
    pub(crate) known: RwLock<HashMap<blake3::Hash, Revoked>>,
    /// How many there were when the store was read; held while it is read or written.
    pub(crate) number: tokio::sync::Mutex<i64>,
}

/// A token that was taken back.
#[derive(Debug)]
pub(crate) struct Revoked {
    /// The key that it was issued to.
    pub(crate) key: Box<str>,
    /// In seconds since 1970.
    pub(crate) ends: i64,
}

impl Revocations {
    /// Returns whether a token was taken back.
    pub(crate) fn has(&self, token: &blake3::Hash) -> bool {
        self.known.read().unwrap_or_else(PoisonError::into_inner).contains_key(token)
    }

    /// Returns whether one more token of a key may be taken back.
    pub(crate) fn has_room_for(&self, key: &str) -> bool {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        let own = known.values().filter(|revoked| &*revoked.key == key).count();
        known.len() < ALL_MAX && own < OF_KEY_MAX
    }
}
