//! The tokens of issuers that were checked.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use homeroom_access::make_room;
use homeroom_http::{Foreign, Timestamp};

/// The tokens of an issuer that were checked, by their hashes. APIs that state the same of it share them.
pub(super) struct Tokens {
    known: Mutex<HashMap<[u8; 32], Checked>>,
    most: usize,
}

impl Tokens {
    /// Returns an empty memory of at most so many tokens.
    pub(super) fn new(most: usize) -> Self {
        Self { known: Mutex::default(), most: most.max(1) }
    }

    /// Returns the tokens, for a look.
    pub(super) fn known(&self) -> MutexGuard<'_, HashMap<[u8; 32], Checked>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Remembers a token. Where there is no room, those that have ended are forgotten, or an arbitrary eighth.
    pub(super) fn remember(&self, hash: [u8; 32], checked: Checked, now: Timestamp) {
        let mut known = self.known();
        make_room(&mut known, self.most, |checked| now.seconds() < checked.ends);
        known.insert(hash, checked);
    }
}

/// A token that was checked.
pub(super) struct Checked {
    pub(super) caller: Arc<Foreign>,
    /// In seconds since 1970, with what clocks may differ.
    pub(super) ends: i64,
    /// The state of the keys by which it was checked.
    pub(super) by: u64,
}
