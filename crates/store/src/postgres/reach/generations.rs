//! A memory of bounded size in two generations.

use std::collections::HashMap;
use std::hash::Hash;

/// Results by what was asked, in two generations: when the younger one is full it becomes the older one, and the
/// one before is forgotten.
#[derive(Debug)]
pub(super) struct Generations<K, V> {
    young: HashMap<K, V>,
    old: HashMap<K, V>,
}

impl<K, V> Default for Generations<K, V> {
    fn default() -> Self {
        Self { young: HashMap::new(), old: HashMap::new() }
    }
}

impl<K: Eq + Hash, V> Generations<K, V> {
    /// Returns a result for which the condition holds.
    pub(super) fn find(&self, of: &K, is_meant: impl Fn(&V) -> bool) -> Option<&V> {
        let young = self.young.get(of).filter(|found| is_meant(found));
        young.or_else(|| self.old.get(of).filter(|found| is_meant(found)))
    }

    /// Returns the result in the younger generation.
    pub(super) fn young(&mut self, of: &K) -> Option<&mut V> {
        self.young.get_mut(of)
    }

    /// Adds a result. Returns what is forgotten for it, to be dropped where nobody waits for that.
    pub(super) fn add(&mut self, of: K, result: V, generation_max: usize) -> Option<HashMap<K, V>> {
        let is_full = self.young.len() >= generation_max;
        let gone =
            is_full.then(|| std::mem::replace(&mut self.old, std::mem::take(&mut self.young)));
        self.young.insert(of, result);
        gone
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_results_stay_and_the_others_are_returned() {
        let mut generations = Generations::default();
        let mut gone = vec![];

        for n in 0..35 {
            gone.extend(generations.add(n, n * 2, 10).into_iter().flatten());
        }

        gone.sort_unstable();
        assert_eq!(gone, (0..20).map(|n| (n, n * 2)).collect::<Vec<_>>());
        let found: Vec<i32> = (0..35).filter(|n| generations.find(n, |_| true).is_some()).collect();
        assert_eq!(found, (20..35).collect::<Vec<_>>());
    }

    #[test]
    fn an_older_result_is_found_if_only_that_is_meant() {
        let mut generations = Generations::default();
        for (of, result) in [(1, 5), (2, 6), (1, 7)] {
            generations.add(of, result, 2);
        }

        assert_eq!(generations.find(&1, |_| true), Some(&7));
        assert_eq!(generations.find(&1, |result| *result < 7), Some(&5));
        assert_eq!(generations.find(&1, |result| *result > 7), None);
        assert_eq!((generations.young(&1).copied(), generations.young(&2)), (Some(7), None));
    }
}
