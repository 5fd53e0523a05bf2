//! What a node remembers about where ties lead, and how it knows whether that is still valid.
//!
//! Every transaction that changes ties sets a new version for their labels before it commits. A
//! reader of a version sees the ties of that version, so a result found in one state is valid in
//! every state in which none of its labels has a later version. So nothing remembered outlives a
//! commit on any node.
//!
//! A database that has gone back issues the same versions again, for other ties. A node that notices it forgets
//! everything and begins a new epoch; what was read in an earlier epoch is not remembered any more.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::sync::{PoisonError, RwLock};

use tokio_postgres::Row as SqlRow;

use super::generations::Generations;
use super::statements::{ACCESS, ANY, SCHEMA, UNKNOWN};
use crate::error::StoreError;
use crate::id::KindId;
use crate::migration::newest;
use crate::postgres::error::Fault;
use crate::tie::{Reached, Start, Way};
use std::sync::Arc;

/// Most climbs that are remembered in each of two generations, and most ways from a number.
const GENERATION_MAX: usize = 50_000;

/// The versions of ties in a state of the store.
#[derive(Debug, Clone, Default)]
pub(in crate::postgres) struct Versions {
    of: HashMap<i32, i64>,
    /// The epoch of the node's memory before they were read.
    epoch: u64,
}

impl Versions {
    /// Reads rows of label and version; the statement was sent after `epoch` was known.
    pub(in crate::postgres) fn read(rows: &[SqlRow], epoch: u64) -> Result<Self, Fault> {
        let row = |row: &SqlRow| Ok((row.try_get(0)?, row.try_get(1)?));
        Ok(Self { of: rows.iter().map(row).collect::<Result<_, Fault>>()?, epoch })
    }

    /// Returns the version of the last change of any tie.
    pub(in crate::postgres) fn any(&self) -> i64 {
        self.of.get(&ANY).copied().unwrap_or(0)
    }

    /// Returns the version of clients and their rights, if it was read.
    pub(in crate::postgres) fn access(&self) -> Option<i64> {
        self.of.get(&ACCESS).copied()
    }

    /// Returns the version of the tables, if it was read.
    pub(in crate::postgres) fn schema(&self) -> Option<i64> {
        self.of.get(&SCHEMA).copied()
    }

    /// Returns the version of the last change of a label's ties.
    pub(super) fn of(&self, label: KindId) -> i64 {
        let version = |label| self.of.get(&label).copied().unwrap_or(0);
        version(label.0.into()).max(version(UNKNOWN))
    }
}

/// Results, each with the version of all ties at that moment.
#[derive(Debug, Default)]
pub(in crate::postgres) struct Memory {
    /// The greatest version of any change of ties ever read.
    newest: AtomicI64,
    /// The greatest change version from which a transaction of this node has continued.
    counted: AtomicI64,
    /// Whether the database was found to be behind that.
    is_behind: AtomicBool,
    /// The version of the tables, if it is newer than this program knows; otherwise 0.
    outgrown_by: AtomicI64,
    /// How often everything was forgotten, because the database had gone back.
    epoch: AtomicU64,
    climbs: RwLock<Generations<(KindId, i64), (i64, Climb)>>,
    ways: RwLock<Generations<(Way, Start), (i64, Led)>>,
}

/// Where a way has led to.
#[derive(Debug, Clone)]
pub(super) struct Led {
    /// The number that it began with: that of the document, where it began with an identity.
    pub(super) number: i64,
    /// The numbers that it has reached.
    pub(super) numbers: Arc<[i64]>,
    /// Items whose holders were examined, with the label.
    pub(super) seen: Arc<[(KindId, i64)]>,
}

impl Memory {
    /// Returns the greatest version of any change of ties read so far. Call it before a read
    /// begins, and pass the result to [`Memory::saw`] with what the read has found.
    pub(in crate::postgres) fn newest(&self) -> i64 {
        self.newest.load(Ordering::Acquire)
    }

    /// Returns the present epoch. Call it before a read begins whose results are to be remembered.
    pub(in crate::postgres) fn epoch(&self) -> u64 {
        self.epoch.load(Ordering::SeqCst)
    }

    /// Records the version of the last change of any tie, found by a read that began after `before`
    /// was known. If it is lower than `before`, the database has gone back, and everything
    /// remembered is forgotten.
    pub(in crate::postgres) fn saw(&self, before: i64, any: i64) {
        if any >= before {
            self.newest.fetch_max(any, Ordering::AcqRel);
            return;
        }
        // Whoever adds something later, under the lock, sees the new epoch.
        self.epoch.fetch_add(1, Ordering::SeqCst);
        let climbs =
            std::mem::take(&mut *self.climbs.write().unwrap_or_else(PoisonError::into_inner));
        let ways = std::mem::take(&mut *self.ways.write().unwrap_or_else(PoisonError::into_inner));
        drop((climbs, ways));
        self.newest.store(any, Ordering::Release);
        tracing::warn!(
            before,
            any,
            "the database has gone back; what ties lead to is looked up anew"
        );
    }

    /// Records the change version from which a transaction continues. Fails if this node has seen a
    /// greater one: then the database has gone back, and would issue the same versions again.
    pub(in crate::postgres) fn count(&self, change_version: i64) -> Result<(), Fault> {
        if change_version < self.counted.load(Ordering::Acquire) {
            self.is_behind.store(true, Ordering::Release);
            return Err(Fault::Again("the database has gone back".into()));
        }
        self.counted.fetch_max(change_version, Ordering::AcqRel);
        Ok(())
    }

    /// Returns the highest version that this node has seen, if the database has gone back since.
    pub(in crate::postgres) fn behind(&self) -> Option<i64> {
        self.is_behind.load(Ordering::Acquire).then(|| self.counted.load(Ordering::Acquire))
    }

    /// Records that the database now continues above what was seen.
    pub(in crate::postgres) fn caught_up(&self) {
        self.is_behind.store(false, Ordering::Release);
    }

    /// Records the version of the tables. If a newer Homeroom has migrated them, this one writes
    /// nothing, because it does not know what its writes would lack.
    pub(in crate::postgres) fn saw_schema(&self, version: i64) -> Result<(), Fault> {
        let is_newer = version > newest();
        let before = self.outgrown_by.swap(if is_newer { version } else { 0 }, Ordering::AcqRel);
        let Some(error) = self.outgrown() else { return Ok(()) };
        if before != version {
            tracing::error!(%error, "nothing is written any more");
        }
        Err(Fault::Everybody(error))
    }

    /// Returns an error if a newer Homeroom has migrated the tables.
    pub(in crate::postgres) fn outgrown(&self) -> Option<StoreError> {
        let found = self.outgrown_by.load(Ordering::Acquire);
        (found > 0).then(|| StoreError::FromTheFuture { found, known: newest() })
    }

    /// Returns where a label leads from an item in a state, if that is remembered.
    pub(super) fn climb(&self, state: &Versions, label: KindId, item: i64) -> Option<Climb> {
        let climbs = self.climbs.read().unwrap_or_else(PoisonError::into_inner);
        let holds = |known: &(i64, Climb)| state.of(label) <= known.0 && known.0 <= state.any();
        climbs.find(&(label, item), holds).map(|(_, climb)| Climb::clone(climb))
    }

    /// Remembers climbs that were found in a state.
    pub(super) fn keep(&self, state: &Versions, found: Vec<((KindId, i64), Climb)>) {
        let mut gone = vec![];
        let mut climbs = self.climbs.write().unwrap_or_else(PoisonError::into_inner);
        if self.epoch() != state.epoch {
            return;
        }
        for (of, climb) in found {
            match climbs.young(&of) {
                Some(known) if known.0 < state.any() => *known = (state.any(), climb),
                Some(_) => {}
                None => gone.extend(climbs.add(of, (state.any(), climb), GENERATION_MAX)),
            }
        }
        drop(climbs);
        drop(gone);
    }

    /// Returns what all these ways reach at this version of all ties, if that is remembered.
    pub(in crate::postgres) fn all(&self, any: i64, from: &[(Start, Way)]) -> Option<Vec<Reached>> {
        let ways = self.ways.read().unwrap_or_else(PoisonError::into_inner);
        let one = |(start, way): &(Start, Way)| {
            let Start::Number(_) = start else { return None };
            let (_, led) = ways.find(&(*way, *start), |known| known.0 == any)?;
            Some(Reached { numbers: Arc::clone(&led.numbers), seen: vec![] })
        };
        from.iter().map(one).collect()
    }

    /// Returns whether all ways lead from their numbers to one of some sorted numbers at this version of all
    /// ties, if that is remembered.
    pub(in crate::postgres) fn all_lead(
        &self,
        any: i64,
        from: &[(i64, Way)],
        to: &[i64],
    ) -> Option<bool> {
        let ways = self.ways.read().unwrap_or_else(PoisonError::into_inner);
        for (number, way) in from {
            let (_, led) = ways.find(&(*way, Start::Number(*number)), |known| known.0 == any)?;
            if !led.numbers.iter().any(|number| to.binary_search(number).is_ok()) {
                return Some(false);
            }
        }
        Some(true)
    }

    /// Returns what a way has led to at this version of all ties, as far as that is remembered.
    pub(super) fn recall(
        &self,
        any: i64,
        way: &Way,
        starts: impl Iterator<Item = Start>,
    ) -> Vec<(Start, Led)> {
        let ways = self.ways.read().unwrap_or_else(PoisonError::into_inner);
        let one = |start: Start| {
            let (_, led) = ways.find(&(*way, start), |known| known.0 == any)?;
            Some((start, led.clone()))
        };
        starts.filter_map(one).collect()
    }

    /// Remembers where ways have led to in a state.
    pub(super) fn keep_ways(&self, state: &Versions, reached: Vec<(Start, Way, Led)>) {
        let mut gone = vec![];
        let mut ways = self.ways.write().unwrap_or_else(PoisonError::into_inner);
        if self.epoch() != state.epoch {
            return;
        }
        for (start, way, led) in reached {
            match ways.young(&(way, start)) {
                Some(known) if known.0 < state.any() || known.1.number != led.number => {
                    *known = (state.any(), led);
                }
                Some(_) => {}
                None => {
                    gone.extend(ways.add((way, start), (state.any(), led), GENERATION_MAX));
                }
            }
        }
        drop(ways);
        drop(gone);
    }
}

/// The numbers that a label leads to from an item, followed to its end.
pub(super) type Climb = Arc<[i64]>;

#[cfg(test)]
mod tests {
    use super::*;

    fn state(any: i64, epoch: u64) -> Versions {
        Versions { of: HashMap::from([(ANY, any), (UNKNOWN, 0), (7, 2)]), epoch }
    }

    #[test]
    fn remembered_results_are_dropped_when_the_database_goes_back() {
        let memory = Memory::default();
        let label = KindId(7);
        let remembered = |any| memory.climb(&state(any, memory.epoch()), label, 1).is_some();
        memory.saw(memory.newest(), 5);
        memory.keep(&state(5, memory.epoch()), vec![((label, 1), Climb::from([2]))]);
        assert!(remembered(5) && remembered(6));

        // A read that began before another one saw a newer version is merely late; the database has
        // not gone back.
        let before = memory.newest();
        memory.saw(memory.newest(), 9);
        memory.saw(before, 8);
        assert!(remembered(9));

        memory.saw(memory.newest(), 3);

        // The lost versions are issued again, with other ties.
        assert!(!remembered(5) && !remembered(9));
    }

    #[test]
    fn a_read_that_began_before_the_database_went_back_is_not_remembered() {
        let memory = Memory::default();
        let (label, start) = (KindId(7), Start::Number(1));
        let way = Way { steps: [label].into(), up: label, past: false };
        let led = || Led { number: 1, numbers: [2].into(), seen: [].into() };
        let keep = |state: &Versions| {
            memory.keep(state, vec![((label, 1), Climb::from([2]))]);
            memory.keep_ways(state, vec![(start, way, led())]);
        };
        let remembered = |any| {
            let climb = memory.climb(&state(any, memory.epoch()), label, 1).is_some();
            (climb, memory.all_lead(any, &[(1, way)], &[2]), memory.all(any, &[(start, way)]))
        };
        memory.saw(memory.newest(), 9);
        let read = state(9, memory.epoch());
        keep(&read);
        assert!(matches!(remembered(9), (true, Some(true), Some(_))));

        memory.saw(memory.newest(), 3);
        keep(&read);

        // Version 9 is issued again, with other ties.
        assert_eq!(remembered(9), (false, None, None));
        keep(&state(4, memory.epoch()));
        assert!(matches!(remembered(4), (true, Some(true), Some(_))));
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
