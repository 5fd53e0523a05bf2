//! Values from earlier answers, for the requests of any client of the same thread.

/// The most entries of one pool; a further entry replaces a random one.
pub const ENTRIES_MAX: usize = 10_000;

/// The most entries of all pools of a thread together, if there are many pools; each has room for
/// at least [`ENTRIES_MIN`].
const ENTRIES_OF_ALL: usize = 400_000;

/// The number of entries that each pool may have, however many pools there are.
const ENTRIES_MIN: usize = 200;

/// The most bytes of one pool.
const BYTES_MAX: usize = 8 * 1024 * 1024;

/// The values of a pool's variables, stored in one text.
#[derive(Debug, Clone)]
pub struct Entry {
    text: Box<str>,
    ends: Box<[u32]>,
}

impl Entry {
    /// Returns an entry with these values; `ends` are the ends of the values in the text.
    pub fn new(text: &str, ends: &[u32]) -> Self {
        Self { text: text.into(), ends: ends.into() }
    }

    /// Returns the values, in order.
    pub fn values(&self) -> impl Iterator<Item = &str> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        starts.zip(&self.ends).map(|(start, end)| &self.text[start as usize..*end as usize])
    }

    fn bytes(&self) -> usize {
        self.text.len() + self.ends.len() * 4 + size_of::<Self>()
    }
}

/// Entries from which one is drawn at random.
#[derive(Debug)]
pub struct Pool {
    entries: Vec<Entry>,
    bytes: usize,
    entries_max: usize,
}

impl Pool {
    /// Returns one of `pools` pools, with these initial entries; it has room for all of them.
    pub fn new(pools: usize, entries: Vec<Entry>) -> Self {
        let share = (ENTRIES_OF_ALL / pools.max(1)).clamp(ENTRIES_MIN, ENTRIES_MAX);
        let bytes = entries.iter().map(Entry::bytes).sum();
        Self { bytes, entries_max: share.max(entries.len()), entries }
    }

    /// Returns whether the pool has no entries.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Adds an entry, and drops random entries if necessary.
    pub fn put(&mut self, entry: Entry, random: &mut fastrand::Rng) {
        let bytes = entry.bytes();
        while !self.entries.is_empty()
            && (self.entries.len() >= self.entries_max || self.bytes + bytes > BYTES_MAX)
        {
            self.take(random);
        }
        self.bytes += bytes;
        self.entries.push(entry);
    }

    /// Returns a random entry.
    pub fn pick(&self, random: &mut fastrand::Rng) -> Option<&Entry> {
        if self.entries.is_empty() {
            return None;
        }
        self.entries.get(random.usize(..self.entries.len()))
    }

    /// Removes a random entry and returns it.
    pub fn take(&mut self, random: &mut fastrand::Rng) -> Option<Entry> {
        if self.entries.is_empty() {
            return None;
        }
        let entry = self.entries.swap_remove(random.usize(..self.entries.len()));
        self.bytes -= entry.bytes();
        Some(entry)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn entry(text: &str) -> Entry {
        Entry::new(text, &[u32::try_from(text.len()).unwrap()])
    }

    #[test]
    fn an_entry_has_its_values_in_order() {
        let entry = Entry::new("abcd", &[1, 1, 4]);

        assert_eq!(entry.values().collect::<Vec<_>>(), ["a", "", "bcd"]);
    }

    #[test]
    fn a_full_pool_evicts_at_random() {
        let mut random = fastrand::Rng::with_seed(1);
        let mut pool = Pool::new(1, vec![]);

        for number in 0..3 * ENTRIES_MAX {
            let text = number.to_string();
            pool.put(entry(&text), &mut random);
        }

        let is_old = |entry: &Entry| entry.text.parse::<usize>().unwrap() < ENTRIES_MAX;
        let old = pool.entries.iter().filter(|entry| is_old(entry)).count();
        assert_eq!(pool.entries.len(), ENTRIES_MAX);
        assert!((500..3_000).contains(&old), "{old} of the first remain");
    }

    #[test]
    fn a_pool_of_large_values_holds_fewer_entries() {
        let mut random = fastrand::Rng::with_seed(1);
        let mut pool = Pool::new(1, vec![]);
        let text = "x".repeat(BYTES_MAX / 4);

        (0..9).for_each(|_| pool.put(entry(&text), &mut random));

        assert_eq!(pool.entries.len(), 3);
    }

    proptest! {
        #[test]
        fn a_taken_entry_was_put_before_and_leaves_the_pool(puts in prop::collection::vec("[a-z]{0,5}", 0..50), seed: u64) {
            let mut random = fastrand::Rng::with_seed(seed);
            let mut pool = Pool::new(3, vec![]);
            for text in &puts {
                pool.put(entry(text), &mut random);
                prop_assert!(pool.pick(&mut random).is_some());
            }

            let mut taken: Vec<String> = vec![];
            while let Some(entry) = pool.take(&mut random) {
                taken.push(entry.text.into());
            }

            let mut wanted = puts.clone();
            wanted.sort();
            taken.sort();
            prop_assert_eq!(taken, wanted);
            prop_assert_eq!((pool.bytes, pool.is_empty()), (0, true));
        }
    }
}
