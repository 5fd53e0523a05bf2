//! Cache of verified tokens, and of keys with their secrets.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::{PoisonError, RwLock};

use homeroom_http::Timestamp;

use crate::recognized::{Proven, Recognized};

/// How many locks the tokens are spread over, so that readers on many cores do not contend.
const SHARDS: usize = 16;

/// Seconds between two searches of a shard for expired tokens.
const SWEEP_SECONDS: i64 = 60;

/// Clients by the hash of a verified token, up to a maximum number.
///
/// That a token is genuine stays true until it ends, so no change of the registry makes one be verified
/// again. Whom it stands for is valid for one generation of the registry: with the next one (a key was
/// revoked, a claim set changed) its client is found again on its next use.
pub(crate) struct TokenCache {
    shards: [RwLock<Shard>; SHARDS],
    entries_max: usize,
}

#[derive(Default)]
struct Shard {
    entries: HashMap<[u8; 32], Entry, BuildHasherDefault<FirstBytes>>,
    swept: i64,
}

pub(crate) struct Entry {
    pub(crate) recognized: Recognized,
    pub(crate) proven: Proven,
    /// When the client is no longer recognized by it, as the registry of this generation has it.
    pub(crate) expires: Timestamp,
    pub(crate) generation: u64,
}

/// What is known of a token.
pub(crate) enum Cached {
    /// The client that it stands for now.
    Now(Recognized),
    /// What it has proved; the registry has changed since its client was found.
    Before(Proven),
}

impl TokenCache {
    /// Creates an empty cache for about `entries_max` tokens.
    pub(crate) fn new(entries_max: usize) -> Self {
        Self {
            shards: std::array::from_fn(|_| RwLock::default()),
            entries_max: entries_max.div_ceil(SHARDS).max(1),
        }
    }

    /// Returns what is known of a token that was verified and has not ended.
    pub(crate) fn get(
        &self,
        token: &blake3::Hash,
        generation: u64,
        now: Timestamp,
    ) -> Option<Cached> {
        let shard = self.shard(token).read().unwrap_or_else(PoisonError::into_inner);
        let entry = shard.entries.get(token.as_bytes())?;
        if entry.generation == generation {
            (now < entry.expires).then(|| Cached::Now(entry.recognized.clone()))
        } else {
            (now < entry.proven.ends).then(|| Cached::Before(entry.proven.clone()))
        }
    }

    /// Forgets a token, whose client is no longer there.
    pub(crate) fn remove(&self, token: &blake3::Hash) {
        let mut shard = self.shard(token).write().unwrap_or_else(PoisonError::into_inner);
        shard.entries.remove(token.as_bytes());
    }

    /// Stores a verified token, evicting others where there is no room.
    pub(crate) fn insert(&self, token: &blake3::Hash, entry: Entry, now: Timestamp) {
        let mut shard = self.shard(token).write().unwrap_or_else(PoisonError::into_inner);
        let is_live = |old: &Entry| now < old.proven.ends;
        if shard.swept + SWEEP_SECONDS <= now.seconds() {
            shard.entries.retain(|_, old| is_live(old));
            shard.swept = now.seconds();
        }
        make_room(&mut shard.entries, self.entries_max, is_live);
        shard.entries.insert(*token.as_bytes(), entry);
    }

    fn shard(&self, token: &blake3::Hash) -> &RwLock<Shard> {
        &self.shards[usize::from(token.as_bytes()[31]) % SHARDS]
    }

    #[cfg(test)]
    fn len(&self) -> usize {
        self.shards.iter().map(|shard| shard.read().unwrap().entries.len()).sum()
    }
}

/// Makes room for another entry among at most so many: forgets those that are no longer live, and where all
/// are, an arbitrary eighth. These are found out again when they are used.
pub fn make_room<K, V, S>(
    entries: &mut HashMap<K, V, S>,
    most: usize,
    is_live: impl Fn(&V) -> bool,
) {
    if entries.len() < most {
        return;
    }
    entries.retain(|_, old| is_live(old));
    if entries.len() < most {
        return;
    }
    let mut kept = most.saturating_sub((most / 8).max(1));
    entries.retain(|_, _| {
        let keep = kept > 0;
        kept = kept.saturating_sub(1);
        keep
    });
}

/// A hasher that takes the first bytes of a cryptographic hash unchanged.
#[derive(Default)]
struct FirstBytes(u64);

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
    use std::sync::Arc;

    use super::*;
    use crate::client::ApiClient;
    use crate::token_scope::TokenScope;

    fn entry(generation: u64, expires: i64) -> Entry {
        let recognized = Recognized { client: Arc::new(ApiClient::without_rights()), version: 1 };
        let expires = Timestamp(expires);
        let proven = Proven {
            key: "key".into(),
            secret: "secret".into(),
            scope: TokenScope::default(),
            ends: expires,
        };
        Entry { recognized, proven, expires, generation }
    }

    fn token(number: u64) -> blake3::Hash {
        blake3::hash(&number.to_le_bytes())
    }

    #[test]
    fn a_token_is_known_until_it_ends_and_its_client_within_a_generation() {
        let cache = TokenCache::new(100);

        cache.insert(&token(1), entry(4, 50), Timestamp(0));

        for generation in [4, 5] {
            let found = cache.get(&token(1), generation, Timestamp(49));
            assert_eq!(matches!(found, Some(Cached::Now(_))), generation == 4);
            assert_eq!(matches!(found, Some(Cached::Before(_))), generation == 5);
            assert!(cache.get(&token(1), generation, Timestamp(50)).is_none());
        }
        assert!(cache.get(&token(2), 4, Timestamp(0)).is_none());
        cache.remove(&token(1));
        assert!(cache.get(&token(1), 4, Timestamp(0)).is_none());
    }

    #[test]
    fn the_cache_never_holds_more_tokens_than_its_limit() {
        let cache = TokenCache::new(160);

        for number in 0..5_000 {
            cache.insert(&token(number), entry(0, i64::MAX), Timestamp(0));
            assert!(cache.get(&token(number), 0, Timestamp(0)).is_some());
        }

        assert!(cache.len() <= 160, "{}", cache.len());
        assert!(cache.len() > 100, "{}", cache.len());
    }

    #[test]
    fn expired_tokens_are_evicted_before_live_ones() {
        let cache = TokenCache::new(16);
        let live = (0..1_000).map(token).find(|t| t.as_bytes()[31].is_multiple_of(16)).unwrap();
        cache.insert(&live, entry(0, 1_000), Timestamp(0));
        let now = Timestamp(2_000);
        let next = (1_000..2_000).map(token).find(|t| t.as_bytes()[31].is_multiple_of(16)).unwrap();

        cache.insert(&next, entry(0, 3_000), now);

        assert_eq!(cache.len(), 1);
        assert!(cache.get(&next, 0, now).is_some());
    }
}
