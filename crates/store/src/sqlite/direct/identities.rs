//! The identities of all documents of a store, in little memory.
//!
//! A document takes 46 bytes: the half of its identity by which it is found and its index, in a
//! table that is on average three fifths full, and the rest once per document. The table is in
//! parts that grow one by one, so that growing never takes the memory of the whole table again.

use std::collections::HashMap;

use crate::id::{DocumentId, KindId, NaturalKey, Uuid};
use crate::plan::Target;

/// Parts of the table.
const PARTS: usize = 256;
/// Documents for which memory is reserved at a time.
const BLOCK: usize = 1 << 16;

/// The documents of a store by identity.
pub(super) struct Identities {
    parts: Vec<Part>,
    blocks: Vec<Vec<Known>>,
    count: u32,
    /// The numbers of documents that were there before; the following ones are consecutive.
    before: Vec<i64>,
    /// The first number after them.
    base: i64,
    /// Identities under an abstract base.
    aliases: HashMap<NaturalKey, u32>,
}

/// What is known of a document beside half of its identity.
struct Known {
    uuid: [u8; 16],
    /// The other half.
    rest: [u8; 8],
    kind: u16,
}

/// A part of the table: halves of identities with indices from 1, found by linear probing.
#[derive(Default)]
struct Part {
    halves: Vec<u64>,
    indices: Vec<u32>,
    count: usize,
}

impl Identities {
    /// Makes a table without documents; the next one gets the number after `last`.
    pub(super) fn new(last: i64) -> Self {
        Self {
            parts: (0..PARTS).map(|_| Part::default()).collect(),
            blocks: vec![],
            count: 0,
            before: vec![],
            base: last + 1,
            aliases: HashMap::new(),
        }
    }

    /// Adds a document that was there before.
    pub(super) fn add_existing(&mut self, key: NaturalKey, (id, uuid, kind): Target) {
        self.before.push(id.0);
        self.add(key, uuid, kind);
    }

    /// Adds the document with the next number.
    pub(super) fn add(&mut self, key: NaturalKey, uuid: Uuid, kind: KindId) {
        let (half, rest) = halves(key);
        let known = Known { uuid: uuid.0, rest, kind: kind.0 };
        match self.blocks.last_mut() {
            Some(block) if block.len() < BLOCK => block.push(known),
            _ => {
                let mut block = Vec::with_capacity(BLOCK);
                block.push(known);
                self.blocks.push(block);
            }
        }
        self.count += 1;
        self.parts[part_of(half)].insert(half, self.count);
    }

    /// Adds the identity that the last document has under its abstract base.
    pub(super) fn add_alias(&mut self, key: NaturalKey) {
        self.aliases.insert(key, self.count);
    }

    /// Returns the document that has an identity, as its own or as an abstract base's.
    pub(super) fn target(&self, key: NaturalKey) -> Option<Target> {
        self.own(key).or_else(|| self.aliases.get(&key).map(|index| self.at(*index)))
    }

    /// Returns the document that has an identity as its own.
    pub(super) fn own(&self, key: NaturalKey) -> Option<Target> {
        let (half, rest) = halves(key);
        let is_it = |index: u32| self.known(index).rest == rest;
        self.parts[part_of(half)].find(half, is_it).map(|index| self.at(index))
    }

    fn known(&self, index: u32) -> &Known {
        let at = index as usize - 1;
        &self.blocks[at / BLOCK][at % BLOCK]
    }

    fn at(&self, index: u32) -> Target {
        let Known { uuid, kind, .. } = self.known(index);
        let at = index as usize - 1;
        let id = self.before.get(at).copied().unwrap_or_else(|| {
            // An index has 32 bits.
            self.base + i64::try_from(at - self.before.len()).unwrap_or(i64::MAX)
        });
        (DocumentId(id), Uuid(*uuid), KindId(*kind))
    }
}

impl Part {
    fn find(&self, half: u64, is_it: impl Fn(u32) -> bool) -> Option<u32> {
        let mask = self.halves.len().wrapping_sub(1);
        if self.halves.is_empty() {
            return None;
        }
        let mut at = place(half) & mask;
        loop {
            match self.indices[at] {
                0 => return None,
                index if self.halves[at] == half && is_it(index) => return Some(index),
                _ => at = (at + 1) & mask,
            }
        }
    }

    fn insert(&mut self, half: u64, index: u32) {
        if self.count * 5 >= self.halves.len() * 4 {
            self.grow();
        }
        self.put(half, index);
        self.count += 1;
    }

    fn put(&mut self, half: u64, index: u32) {
        let mask = self.halves.len() - 1;
        let mut at = place(half) & mask;
        while self.indices[at] != 0 {
            at = (at + 1) & mask;
        }
        (self.halves[at], self.indices[at]) = (half, index);
    }

    fn grow(&mut self) {
        let length = (self.halves.len() * 2).max(16);
        let halves = std::mem::replace(&mut self.halves, vec![0; length]);
        let indices = std::mem::replace(&mut self.indices, vec![0; length]);
        for (half, index) in halves.into_iter().zip(indices) {
            if index != 0 {
                self.put(half, index);
            }
        }
    }
}

/// Splits an identity in two. Both halves are evenly distributed, because it is a hash.
fn halves(key: NaturalKey) -> (u64, [u8; 8]) {
    let (mut half, mut rest) = ([0; 8], [0; 8]);
    half.copy_from_slice(&key.0[..8]);
    rest.copy_from_slice(&key.0[8..]);
    (u64::from_le_bytes(half), rest)
}

fn part_of(half: u64) -> usize {
    usize::try_from(half >> 56).unwrap_or(0)
}

fn place(half: u64) -> usize {
    usize::try_from(half & 0xffff_ffff).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(of: u32) -> NaturalKey {
        NaturalKey::of("k", [&of.to_le_bytes()[..]])
    }

    fn uuid(of: u32) -> Uuid {
        let mut bytes = [0; 16];
        bytes[..4].copy_from_slice(&of.to_le_bytes());
        Uuid(bytes)
    }

    #[test]
    fn documents_are_found_by_their_identities() {
        let mut identities = Identities::new(100);
        identities.add_existing(key(1), (DocumentId(7), uuid(1), KindId(3)));
        for of in 2..200_000 {
            identities.add(key(of), uuid(of), KindId(5));
        }
        identities.add_alias(key(1_000_000));

        for of in 2..200_000 {
            let target = (DocumentId(101 + i64::from(of) - 2), uuid(of), KindId(5));
            assert_eq!(identities.target(key(of)), Some(target));
        }
        assert_eq!(identities.own(key(1)), Some((DocumentId(7), uuid(1), KindId(3))));
        assert_eq!(identities.target(key(1_000_000)), identities.own(key(199_999)));
        assert_eq!(identities.own(key(1_000_000)), None);
        assert_eq!(identities.target(key(2_000_000)), None);
    }

    #[test]
    fn identities_that_share_a_half_are_told_apart() {
        let mut identities = Identities::new(0);
        let with = |last: u8| {
            let mut bytes = key(1).0;
            bytes[15] = last;
            NaturalKey(bytes)
        };

        for last in 0..9 {
            identities.add(with(last), uuid(last.into()), KindId(1));
        }

        for last in 0..9 {
            assert_eq!(
                identities.own(with(last)).map(|target| target.0.0),
                Some(i64::from(last) + 1)
            );
        }
        assert_eq!(identities.own(with(9)), None);
    }
}
