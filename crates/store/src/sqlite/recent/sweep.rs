//! How far the rows in memory have been moved to their table.
//!
//! A sweep goes over all keys in order, and moves the rows of the documents up to the number that was
//! the last one when it began; those of later documents wait for the next sweep. So two numbers and a
//! key tell of every row whether it is in its table, without a look at it.

/// How far the rows of documents have been moved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Sweep<K> {
    /// The rows of all documents up to this number have been moved.
    pub(crate) done: i64,
    /// The sweep moves the rows of documents up to this number.
    pub(crate) upto: i64,
    /// The sweep has moved the keys before this one; [`None`] when it has moved all.
    pub(crate) hand: Option<K>,
}

impl<K: Ord> Sweep<K> {
    /// Returns whether a document's row is in its table, or belongs there.
    pub(crate) fn is_moved(&self, document: i64, key: &K) -> bool {
        document <= self.done
            || (document <= self.upto && self.hand.as_ref().is_none_or(|hand| key < hand))
    }

    /// Begins the next sweep, from the key `first` on, if this one has moved all that it should.
    /// `last` is the number of the last document.
    pub(crate) fn go_on(&mut self, first: K, last: i64) {
        if self.hand.is_none() {
            (self.done, self.upto, self.hand) = (self.upto, last, Some(first));
        }
    }

    /// Returns the number of the document up to which the rows of all have been moved.
    pub(crate) fn all_moved(&self) -> i64 {
        if self.hand.is_none() { self.upto } else { self.done }
    }

    /// Notes that all rows are in their table. `last` is the number of the last document.
    pub(crate) fn note_all_moved(&mut self, last: i64) {
        (self.done, self.upto, self.hand) = (last, last, None);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sweep_tells_what_has_been_moved() {
        let mut sweep = Sweep { done: 4, upto: 8, hand: Some(50) };
        let moved = |sweep: &Sweep<i32>| {
            [(4, 99), (5, 49), (8, 50), (9, 1)].map(|(id, key)| sweep.is_moved(id, &key))
        };
        assert_eq!(moved(&sweep), [true, true, false, false]);
        sweep.go_on(0, 20);
        assert_eq!(sweep, Sweep { done: 4, upto: 8, hand: Some(50) }, "it is not over");
        assert_eq!(sweep.all_moved(), 4);
        sweep.hand = None;
        assert_eq!(moved(&sweep), [true, true, true, false]);
        assert_eq!(sweep.all_moved(), 8);

        sweep.go_on(0, 20);

        assert_eq!(sweep, Sweep { done: 8, upto: 20, hand: Some(0) });
        assert_eq!(moved(&sweep), [true, true, true, false]);
        assert_eq!(sweep.all_moved(), 8);
        sweep.note_all_moved(30);
        assert_eq!(moved(&sweep), [true; 4]);
        assert_eq!(sweep.all_moved(), 30);
    }
}
