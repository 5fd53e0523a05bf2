//! What a node remembers of where ties lead, and how it knows whether that still holds.
//!
//! Every transaction that changes ties gives their labels the next version before it commits. Who
//! reads a version sees the ties of that version: what was found in a state holds in each in which
//! none of its labels has a later version. So nothing remembered outlives a commit, on whichever node.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{PoisonError, RwLock};

use tokio_postgres::Row as SqlRow;

use super::statements::{ACCESS, ANY, SCHEMA, UNKNOWN};
use super::{Climb, Reaching};
use crate::error::StoreError;
use crate::id::KindId;
use crate::migration::newest;
use crate::postgres::error::Fault;
use crate::tie::{Reached, Start, Way};

/// Most climbs that are remembered, and most ways from a number.
const REMEMBERED_MAX: usize = 100_000;

/// The versions of ties in a state of the store.
#[derive(Debug, Clone, Default)]
pub(in crate::postgres) struct Versions(HashMap<i32, i64>);

impl Versions {
    /// Reads rows of label and version.
    pub(in crate::postgres) fn read(rows: &[SqlRow]) -> Result<Self, Fault> {
        let row = |row: &SqlRow| Ok((row.try_get(0)?, row.try_get(1)?));
        Ok(Self(rows.iter().map(row).collect::<Result<_, Fault>>()?))
    }

    /// The version of the last change of all.
    pub(in crate::postgres) fn any(&self) -> i64 {
        self.0.get(&ANY).copied().unwrap_or(0)
    }

    /// The version of who may call and what, where it was asked for.
    pub(in crate::postgres) fn access(&self) -> Option<i64> {
        self.0.get(&ACCESS).copied()
    }

    /// The version of the tables, where it was asked for.
    pub(in crate::postgres) fn schema(&self) -> Option<i64> {
        self.0.get(&SCHEMA).copied()
    }

    /// The version of the last change of a label's ties.
    pub(super) fn of(&self, label: KindId) -> i64 {
        let version = |label| self.0.get(&label).copied().unwrap_or(0);
        version(label.0.into()).max(version(UNKNOWN))
    }
}

/// What was found, each with the version of all ties at that moment.
#[derive(Debug, Default)]
pub(in crate::postgres) struct Memory {
    /// The greatest version of any change of ties that was ever read.
    newest: AtomicI64,
    /// The greatest change version that this node has gone on from.
    counted: AtomicI64,
    /// Whether the database was found to have counted less than that.
    is_behind: AtomicBool,
    /// The version of the tables, where it was found to be newer than this program knows; or 0.
    outgrown_by: AtomicI64,
    climbs: RwLock<HashMap<(KindId, i64), (i64, Climb)>>,
    ways: RwLock<Ways>,
}

/// What ways from numbers have reached.
#[derive(Debug, Default)]
struct Ways {
    known: HashMap<Way, HashMap<i64, (i64, Climb)>>,
    count: usize,
}

impl Memory {
    /// The greatest version of any change of ties that was read so far; to be asked before a read
    /// begins, and given to [`Memory::saw`] with what it has found.
    pub(in crate::postgres) fn newest(&self) -> i64 {
        self.newest.load(Ordering::Acquire)
    }

    /// Takes note of the version of any change of ties that a read has found which began after
    /// `before` was known. An earlier one means that the database has gone back: what is remembered
    /// is of a state that it never had, and goes.
    pub(in crate::postgres) fn saw(&self, before: i64, any: i64) {
        if any >= before {
            self.newest.fetch_max(any, Ordering::AcqRel);
            return;
        }
        self.climbs.write().unwrap_or_else(PoisonError::into_inner).clear();
        *self.ways.write().unwrap_or_else(PoisonError::into_inner) = Ways::default();
        self.newest.store(any, Ordering::Release);
        tracing::warn!(
            before,
            any,
            "the database has gone back; what ties lead to is looked up anew"
        );
    }

    /// Takes note of the change version that a transaction goes on from, unless this node has seen
    /// a greater one: then the database has gone back, and what was given out is given out again.
    pub(in crate::postgres) fn count(&self, change_version: i64) -> Result<(), Fault> {
        if change_version < self.counted.load(Ordering::Acquire) {
            self.is_behind.store(true, Ordering::Release);
            return Err(Fault::Again("the database has gone back".into()));
        }
        self.counted.fetch_max(change_version, Ordering::AcqRel);
        Ok(())
    }

    /// How far this node has seen the store count, where the database has gone back since.
    pub(in crate::postgres) fn behind(&self) -> Option<i64> {
        self.is_behind.load(Ordering::Acquire).then(|| self.counted.load(Ordering::Acquire))
    }

    /// Says that the database has been made to go on above what was seen.
    pub(in crate::postgres) fn caught_up(&self) {
        self.is_behind.store(false, Ordering::Release);
    }

    /// Takes note of the version of the tables. Where a newer Homeroom has migrated them, this one
    /// does not know what it would leave out, and writes nothing.
    pub(in crate::postgres) fn saw_schema(&self, version: i64) -> Result<(), Fault> {
        let is_newer = version > newest();
        let before = self.outgrown_by.swap(if is_newer { version } else { 0 }, Ordering::AcqRel);
        let Some(error) = self.outgrown() else { return Ok(()) };
        if before != version {
            tracing::error!(%error, "nothing is written any more");
        }
        Err(Fault::Everybody(error))
    }

    /// That a newer Homeroom has migrated the tables, where it was found to have done so.
    pub(in crate::postgres) fn outgrown(&self) -> Option<StoreError> {
        let found = self.outgrown_by.load(Ordering::Acquire);
        (found > 0).then(|| StoreError::FromTheFuture { found, known: newest() })
    }

    /// Where a label leads from an item in a state.
    pub(super) fn climb(&self, state: &Versions, label: KindId, item: i64) -> Option<Climb> {
        let climbs = self.climbs.read().unwrap_or_else(PoisonError::into_inner);
        let (version, climb) = climbs.get(&(label, item))?;
        (state.of(label) <= *version && *version <= state.any()).then(|| Climb::clone(climb))
    }

    /// Keeps climbs that were found in a state.
    pub(super) fn keep(
        &self,
        state: &Versions,
        found: impl Iterator<Item = ((KindId, i64), Climb)>,
    ) {
        let mut climbs = self.climbs.write().unwrap_or_else(PoisonError::into_inner);
        for (of, climb) in found {
            if climbs.len() >= REMEMBERED_MAX {
                climbs.clear();
            }
            let known = climbs.entry(of).or_insert((i64::MIN, Climb::from([])));
            if known.0 < state.any() {
                *known = (state.any(), climb);
            }
        }
    }

    /// What all these ways reach where the version of all ties is this one, if that is known.
    pub(in crate::postgres) fn all(&self, any: i64, from: &[(Start, Way)]) -> Option<Vec<Reached>> {
        let ways = self.ways.read().unwrap_or_else(PoisonError::into_inner);
        let one = |(start, way): &(Start, Way)| {
            let Start::Number(number) = start else { return None };
            let (version, numbers) = ways.known.get(way)?.get(number)?;
            (*version == any).then(|| Reached { numbers: numbers.to_vec(), seen: vec![] })
        };
        from.iter().map(one).collect()
    }

    /// Keeps what ways from numbers have reached in a state.
    pub(super) fn keep_ways(&self, state: &Versions, from: &[(Start, Way)], found: &Reaching) {
        let mut ways = self.ways.write().unwrap_or_else(PoisonError::into_inner);
        for (start, way) in from {
            let Start::Number(number) = *start else { continue };
            if ways.count >= REMEMBERED_MAX {
                *ways = Ways::default();
            }
            let numbers: Climb = found.answer(*start, way).numbers.into();
            let of_way = match ways.known.get_mut(way) {
                Some(of_way) => of_way,
                None => ways.known.entry(way.clone()).or_default(),
            };
            let is_new = match of_way.get_mut(&number) {
                Some(known) if known.0 < state.any() => {
                    *known = (state.any(), numbers);
                    false
                }
                Some(_) => false,
                None => of_way.insert(number, (state.any(), numbers)).is_none(),
            };
            ways.count += usize::from(is_new);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(any: i64) -> Versions {
        Versions(HashMap::from([(ANY, any), (UNKNOWN, 0), (7, 2)]))
    }

    #[test]
    fn what_is_remembered_goes_when_the_database_has_gone_back() {
        let memory = Memory::default();
        let label = KindId(7);
        let remembered = |any| memory.climb(&state(any), label, 1).is_some();
        memory.saw(memory.newest(), 5);
        memory.keep(&state(5), std::iter::once(((label, 1), Climb::from([2]))));
        assert!(remembered(5) && remembered(6));

        // A read that began before another has seen more is late, and nothing has gone back.
        let before = memory.newest();
        memory.saw(memory.newest(), 9);
        memory.saw(before, 8);
        assert!(remembered(9));

        memory.saw(memory.newest(), 3);

        // The lost versions come again, with other ties.
        assert!(!remembered(5) && !remembered(9));
    }

    #[test]
    fn a_counter_that_has_gone_back_is_behind_until_it_is_raised() {
        let memory = Memory::default();
        memory.count(5).unwrap();
        memory.count(5).unwrap();
        assert_eq!(memory.behind(), None);

        assert!(matches!(memory.count(4), Err(Fault::Again(_))));

        assert_eq!(memory.behind(), Some(5));
        memory.caught_up();
        memory.count(100).unwrap();
        assert_eq!(memory.behind(), None);
    }
}
