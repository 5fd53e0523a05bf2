//! Places of the elements that references in the same file name by `id`.
//!
//! Only places are kept, 16 bytes each; an element is read again when a reference needs it.

use std::hash::{DefaultHasher, Hash, Hasher};

/// Most ids, and most refs, that are kept per file.
pub(crate) const IDS_MAX: usize = 16 << 20;

/// Places of those ids in a file that references name.
#[derive(Debug, Default)]
pub(crate) struct Ids {
    /// Hash of the id and offset of its element, sorted.
    places: Vec<(u64, u64)>,
}

/// Result of [`Ids::find`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Found {
    /// One element, which begins at this offset.
    At(u64),
    /// No element.
    Nothing,
    /// More than one element.
    Several,
}

impl Ids {
    /// Whether no id of the file is referred to.
    pub(crate) fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// Returns the places, to be kept.
    pub(crate) fn places(&self) -> &[(u64, u64)] {
        &self.places
    }

    /// Makes the ids that have these places.
    pub(crate) fn of_places(places: Vec<(u64, u64)>) -> Self {
        Self { places }
    }

    /// Finds the element that has an id.
    pub(crate) fn find(&self, id: &str) -> Found {
        let hash = hash(id);
        let first = self.places.partition_point(|(there, _)| *there < hash);
        let mut of_id = self.places[first..].iter().take_while(|(there, _)| *there == hash);
        match (of_id.next(), of_id.next()) {
            (None, _) => Found::Nothing,
            (Some((_, offset)), None) => Found::At(*offset),
            (Some(_), Some(_)) => Found::Several,
        }
    }
}

/// Collects ids and the references to them.
#[derive(Debug, Default)]
pub(crate) struct Collector {
    places: Vec<(u64, u64)>,
    wanted: Vec<u64>,
}

impl Collector {
    /// Adds an element's id; returns whether there was room.
    pub(crate) fn id(&mut self, id: &str, offset: u64) -> bool {
        self.places.push((hash(id), offset));
        self.places.len() <= IDS_MAX
    }

    /// Adds a reference to an id; returns whether there was room.
    pub(crate) fn reference(&mut self, id: &str) -> bool {
        if self.wanted.len() == self.wanted.capacity() {
            self.wanted.sort_unstable();
            self.wanted.dedup();
            // Reserving at least as much again keeps sorting rare.
            self.wanted.reserve(self.wanted.len() + 1_024);
        }
        self.wanted.push(hash(id));
        self.wanted.len() <= IDS_MAX
    }

    /// Returns the ids that references name.
    pub(crate) fn finish(mut self) -> Ids {
        self.wanted.sort_unstable();
        self.places.retain(|(id, _)| self.wanted.binary_search(id).is_ok());
        self.places.sort_unstable();
        self.places.shrink_to_fit();
        Ids { places: self.places }
    }
}

fn hash(id: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    id.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_found_when_it_is_referred_to() {
        let mut ids = Collector::default();
        for (id, offset) in [("a", 1), ("b", 2), ("c", 3), ("c", 4)] {
            assert!(ids.id(id, offset));
        }
        for id in ["c", "a", "a", "d"] {
            assert!(ids.reference(id));
        }

        let ids = ids.finish();

        let found = ["a", "b", "c", "d"].map(|id| ids.find(id));
        assert_eq!(found, [Found::At(1), Found::Nothing, Found::Several, Found::Nothing]);
    }
}
