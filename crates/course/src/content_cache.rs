//! Bytes of courses that are kept in memory: pieces of blobs, which never change.
//!
//! Only bytes are kept. Which blob a path means is read again for each request, so whoever removes, replaces
//! or forbids a file, on whatever node, has done so from the next request on. What no path means any more is never
//! asked for, and stays until other pieces take its place.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use bytes::Bytes;
use homeroom_blobs::BlobId;

/// Bytes of a file that are read and kept at once.
pub(crate) const PIECE: u64 = 256 << 10;
/// Most bytes that are kept.
const KEPT_BYTES: usize = 32 << 20;
/// What a piece takes besides its bytes, so that small ones cannot be very many.
const ENTRY_BYTES: usize = 256;

/// A piece: a range of a blob.
type Key = (BlobId, u64, u64);

/// Pieces that were asked for lately, in two generations: the older one is forgotten as a whole when the younger
/// one has become half of what may be kept. What is asked for goes to the younger one.
#[derive(Debug)]
pub(crate) struct ContentCache {
    most: usize,
    generations: Mutex<Generations>,
}

#[derive(Debug, Default)]
struct Generations {
    young: HashMap<Key, Bytes>,
    old: HashMap<Key, Bytes>,
    /// What the young ones take.
    bytes: usize,
}

impl Default for ContentCache {
    fn default() -> Self {
        Self::of(KEPT_BYTES)
    }
}

impl ContentCache {
    fn of(most: usize) -> Self {
        Self { most, generations: Mutex::default() }
    }

    /// Returns a range of a blob, if it is here.
    pub(crate) fn get(&self, id: BlobId, range: &Range<u64>) -> Option<Bytes> {
        let key = (id, range.start, range.end);
        let mut generations = self.generations.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = generations.young.get(&key) {
            return Some(found.clone());
        }
        let found = generations.old.remove(&key)?;
        let (again, gone) = (found.clone(), generations.put(key, found, self.most / 2));
        drop(generations);
        drop(gone);
        Some(again)
    }

    /// Keeps a range of a blob.
    pub(crate) fn put(&self, id: BlobId, range: &Range<u64>, bytes: Bytes) {
        let key = (id, range.start, range.end);
        let mut generations = self.generations.lock().unwrap_or_else(PoisonError::into_inner);
        let gone = generations.put(key, bytes, self.most / 2);
        // Freeing many pieces takes a while, for which nobody has to wait.
        drop(generations);
        drop(gone);
    }
}

impl Generations {
    /// Keeps a piece. Returns what is forgotten for it.
    fn put(&mut self, key: Key, bytes: Bytes, most: usize) -> HashMap<Key, Bytes> {
        let taken = bytes.len() + ENTRY_BYTES;
        if taken > most {
            return HashMap::new();
        }
        let mut gone = HashMap::new();
        if self.bytes + taken > most {
            gone = std::mem::replace(&mut self.old, std::mem::take(&mut self.young));
            self.bytes = 0;
        }
        // Two who have read the same piece at once count it once.
        if self.young.insert(key, bytes).is_none() {
            self.bytes += taken;
        }
        gone
    }
}

#[cfg(test)]
mod tests {
    use homeroom_store::Uuid;

    use super::*;

    fn taken(kept: &ContentCache) -> usize {
        let generations = kept.generations.lock().unwrap();
        let all = generations.young.values().chain(generations.old.values());
        all.map(|bytes| bytes.len() + ENTRY_BYTES).sum()
    }

    #[test]
    fn what_is_kept_never_takes_more_than_it_may() {
        for bytes in [0, 1, 100, 4_000, 60_000] {
            let kept = ContentCache::of(100_000);
            for at in 0..1_000 {
                kept.put(BlobId(Uuid::new()), &(at..at + 1), Bytes::from(vec![0; bytes]));
                assert!(taken(&kept) <= 100_000, "{bytes} bytes, the piece {at}");
            }
            assert_eq!(taken(&kept) > 0, bytes < 60_000, "{bytes}");
        }
    }

    #[test]
    fn what_is_asked_for_stays_and_the_rest_goes() {
        let kept = ContentCache::of(100 * (ENTRY_BYTES + 1));
        let (often, once) = (BlobId(Uuid::new()), BlobId(Uuid::new()));
        kept.put(often, &(0..1), "a".into());
        kept.put(once, &(0..1), "b".into());

        for _ in 0..1_000 {
            kept.put(BlobId(Uuid::new()), &(0..1), "c".into());
            assert_eq!(kept.get(often, &(0..1)).unwrap(), "a");
        }

        assert!(kept.get(once, &(0..1)).is_none());
        assert!(kept.get(often, &(0..2)).is_none(), "another range");
    }

    #[test]
    fn a_piece_that_is_kept_twice_counts_once() {
        let kept = ContentCache::of(1 << 20);
        let id = BlobId(Uuid::new());
        for _ in 0..100_000 {
            kept.put(id, &(0..1), "a".into());
        }

        assert_eq!(kept.generations.lock().unwrap().bytes, ENTRY_BYTES + 1);
    }
}
