//! Rows that are in memory and not in their table yet, as each commit shows them.
//!
//! A commit adds a row; a later commit removes it, because the document was deleted or the row was
//! moved to its table. A reader at commit `at` sees the rows added at or before `at` and removed after
//! `at`. So a moved row is seen once: in memory before the move, in the table after it. What is gone is
//! forgotten when no reader can see it any more.

use std::collections::{BTreeMap, VecDeque};

/// The number of a commit that never comes.
const NEVER: u64 = u64::MAX;

/// Rows in order of their keys.
#[derive(Debug)]
pub(crate) struct Memory<K, V> {
    rows: BTreeMap<K, Life<V>>,
    /// Rows that are gone and whose key was added again, by key and the commit that had added them.
    former: BTreeMap<(K, u64), Life<V>>,
    /// What is gone, in order of the commits with which it went.
    gone: VecDeque<Gone<K>>,
    /// Number of rows that are not gone.
    living: usize,
}

/// A row's value and the commits between which it is seen.
#[derive(Debug, Clone, Copy)]
struct Life<V> {
    value: V,
    added: u64,
    gone: u64,
}

/// A row that is gone.
#[derive(Debug, Clone, Copy)]
struct Gone<K> {
    with: u64,
    key: K,
    added: u64,
}

/// A change, to undo it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Change<K, V> {
    /// A row was added.
    Added(K),
    /// A row is gone that readers may see.
    Gone {
        /// Its key.
        key: K,
        /// The commit that had added it.
        added: u64,
    },
    /// A row was removed by the commit that had added it.
    Dropped {
        /// Its key.
        key: K,
        /// Its value.
        value: V,
        /// The commit.
        at: u64,
    },
}

impl<K, V> Default for Memory<K, V> {
    fn default() -> Self {
        let (rows, former) = (BTreeMap::new(), BTreeMap::new());
        Self { rows, former, gone: VecDeque::new(), living: 0 }
    }
}

impl<K: Ord + Copy, V: Copy> Memory<K, V> {
    /// Returns how many rows are not gone.
    pub(crate) fn living(&self) -> usize {
        self.living
    }

    /// Returns how many rows are gone and not forgotten.
    pub(crate) fn gone(&self) -> usize {
        self.gone.len()
    }

    /// Adds a row; [`None`] if there is one with this key.
    pub(crate) fn add(&mut self, key: K, value: V, at: u64) -> Option<Change<K, V>> {
        if let Some(before) = self.rows.get(&key) {
            if before.gone == NEVER {
                return None;
            }
            self.former.insert((key, before.added), *before);
        }
        self.rows.insert(key, Life { value, added: at, gone: NEVER });
        self.living += 1;
        Some(Change::Added(key))
    }

    /// Removes a row. Returns its value; [`None`] if there is none.
    pub(crate) fn remove(&mut self, key: K, at: u64) -> Option<(V, Change<K, V>)> {
        let life = self.rows.get_mut(&key).filter(|life| life.gone == NEVER)?;
        let Life { value, added, .. } = *life;
        self.living -= 1;
        if added == at {
            self.rows.remove(&key);
            return Some((value, Change::Dropped { key, value, at }));
        }
        life.gone = at;
        self.gone.push_back(Gone { with: at, key, added });
        Some((value, Change::Gone { key, added }))
    }

    /// Undoes the last change that was not undone.
    pub(crate) fn undo(&mut self, change: Change<K, V>) {
        match change {
            Change::Added(key) => {
                self.rows.remove(&key);
                self.living -= 1;
            }
            Change::Gone { key, added } => {
                let last = self.gone.pop_back();
                debug_assert!(last.is_some_and(|last| last.key == key && last.added == added));
                if let Some(life) = self.former.remove(&(key, added)) {
                    self.rows.insert(key, life);
                }
                if let Some(life) = self.rows.get_mut(&key) {
                    life.gone = NEVER;
                }
                self.living += 1;
            }
            Change::Dropped { key, value, at } => {
                self.rows.insert(key, Life { value, added: at, gone: NEVER });
                self.living += 1;
            }
        }
    }

    /// Forgets what nobody sees any more who sees the commit `upto` or a later one: up to `most` rows.
    /// Returns how many.
    pub(crate) fn forget(&mut self, upto: u64, most: usize) -> usize {
        for forgotten in 0..most {
            let Some(first) = self.gone.front().copied().filter(|first| first.with <= upto) else {
                return forgotten;
            };
            self.gone.pop_front();
            let is_it = |life: &Life<V>| life.added == first.added && life.gone == first.with;
            if self.rows.get(&first.key).is_some_and(is_it) {
                self.rows.remove(&first.key);
            } else {
                self.former.remove(&(first.key, first.added));
            }
        }
        most
    }

    /// Gives memory back that was needed for what has been forgotten.
    pub(crate) fn shrink(&mut self) {
        self.gone.shrink_to_fit();
    }

    /// Returns the value of a row as of a commit.
    pub(crate) fn get(&self, key: K, at: u64) -> Option<V> {
        let is_seen = |life: &&Life<V>| life.is_seen(at);
        if let Some(life) = self.rows.get(&key).filter(is_seen) {
            return Some(life.value);
        }
        let mut former = self.former.range((key, 0)..=(key, NEVER)).map(|(_, life)| life);
        former.find(is_seen).map(|life| life.value)
    }

    /// Gives the rows from `from` to `upto` as of a commit, in order, until `take` returns false or
    /// `looked_at_max` rows were looked at. Returns the key from which on there may be more.
    pub(crate) fn scan(
        &self,
        (from, upto): (K, K),
        at: u64,
        looked_at_max: usize,
        mut take: impl FnMut(K, V) -> bool,
    ) -> Option<K> {
        if from > upto {
            return None;
        }
        let mut rows = self.rows.range(from..=upto).peekable();
        let mut former = self.former.range((from, 0)..=(upto, NEVER)).peekable();
        for looked_at in 0.. {
            let next = match (rows.peek(), former.peek()) {
                (None, None) => return None,
                (Some((row, _)), Some(((old, _), _))) if old <= row => *old,
                (None, Some(((old, _), _))) => *old,
                (Some((row, _)), _) => **row,
            };
            if looked_at >= looked_at_max {
                return Some(next);
            }
            // All lives of one key are looked at together: a reader sees one of them at most.
            let mut seen = None;
            while let Some((_, life)) = former.next_if(|((old, _), _)| *old == next) {
                seen = seen.or(life.is_seen(at).then_some(life.value));
            }
            if let Some((_, life)) = rows.next_if(|(row, _)| **row == next) {
                seen = seen.or(life.is_seen(at).then_some(life.value));
            }
            if let Some(value) = seen
                && !take(next, value)
            {
                return None;
            }
        }
        None
    }

    /// Finds up to `wanted` rows from `from` on, before `end` if there is one, that are not gone and
    /// due. Looks at no more than `looked_at_max`. Returns them with the key of the first row that was
    /// not looked at; [`None`] if all were.
    pub(crate) fn due(
        &self,
        from: K,
        end: Option<K>,
        wanted: usize,
        looked_at_max: usize,
        is_due: impl Fn(K, V) -> bool,
    ) -> (Vec<(K, V)>, Option<K>) {
        let mut found = vec![];
        let before_end = |key: &K| end.is_none_or(|end| *key < end);
        for (looked_at, (key, life)) in self.rows.range(from..).enumerate() {
            if !before_end(key) {
                break;
            }
            if found.len() >= wanted || looked_at >= looked_at_max {
                return (found, Some(*key));
            }
            if life.gone == NEVER && is_due(*key, life.value) {
                found.push((*key, life.value));
            }
        }
        (found, None)
    }
}

impl<V> Life<V> {
    fn is_seen(&self, at: u64) -> bool {
        self.added <= at && at < self.gone
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers that look random.
    struct Dice(u64);

    impl Dice {
        fn roll(&mut self, sides: u64) -> u64 {
            self.0 = self
                .0
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (self.0 >> 33) % sides
        }
    }

    #[test]
    fn every_reader_sees_its_commit_whatever_follows() {
        for seed in 0..300 {
            let mut dice = Dice(seed);
            let mut memory = Memory::<u8, u64>::default();
            // What each commit shows, and the oldest that anybody may still see.
            let mut states = vec![BTreeMap::<u8, u64>::new()];
            let mut oldest = 0;
            for at in 1..60_u64 {
                let mut state = states.last().unwrap().clone();
                let mut changes = vec![];
                for _ in 0..dice.roll(6) {
                    let key = u8::try_from(dice.roll(12)).unwrap();
                    if dice.roll(2) == 0 {
                        let value = dice.roll(1_000);
                        let added = memory.add(key, value, at);
                        assert_eq!(added.is_some(), !state.contains_key(&key));
                        if let Some(change) = added {
                            state.insert(key, value);
                            changes.push(change);
                        }
                    } else {
                        let removed = memory.remove(key, at);
                        assert_eq!(removed.map(|(value, _)| value), state.remove(&key));
                        changes.extend(removed.map(|(_, change)| change));
                    }
                }
                assert_eq!(memory.living(), state.len());
                if dice.roll(3) == 0 {
                    // The transaction is lost; its number is given again.
                    changes.into_iter().rev().for_each(|change| memory.undo(change));
                    state = states.last().unwrap().clone();
                }
                states.push(state);
                if dice.roll(4) == 0 {
                    oldest = (oldest + dice.roll(10)).min(at);
                    memory.forget(oldest, usize::MAX);
                }
                for seen in oldest..=at {
                    let state = &states[usize::try_from(seen).unwrap()];
                    let mut found = vec![];
                    let mut from = Some(0);
                    while let Some(first) = from {
                        from = memory.scan((first, u8::MAX), seen, 3, |key, value| {
                            found.push((key, value));
                            true
                        });
                    }
                    assert_eq!(found, state.iter().map(|(k, v)| (*k, *v)).collect::<Vec<_>>());
                    for key in 0..12 {
                        assert_eq!(memory.get(key, seen), state.get(&key).copied());
                    }
                }
            }
            memory.forget(u64::MAX - 1, usize::MAX);
            assert_eq!(memory.gone(), 0);
            assert_eq!((memory.rows.len(), memory.former.len()), (memory.living(), 0));
        }
    }

    #[test]
    fn what_is_due_is_found_from_a_key_on_as_far_as_it_is_looked_for() {
        let mut memory = Memory::<u8, i64>::default();
        for key in 0..10 {
            memory.add(key, i64::from(key % 3), 1);
        }
        memory.remove(3, 2);
        let due = |from, end, wanted, most| {
            let (found, next) = memory.due(from, end, wanted, most, |_, value| value == 0);
            (found.into_iter().map(|(key, _)| key).collect::<Vec<_>>(), next)
        };

        assert_eq!(due(0, None, 9, 99), (vec![0, 6, 9], None));
        assert_eq!(due(0, None, 2, 99), (vec![0, 6], Some(7)));
        assert_eq!(due(1, None, 2, 5), (vec![], Some(6)));
        assert_eq!(due(4, Some(9), 9, 99), (vec![6], None));
    }
}
