//! What a node remembers of where ties lead, and how it knows whether that still holds.
//!
//! Every transaction that changes ties gives their labels the next version before it commits. Who
//! reads a version sees the ties of that version: what was found in a state holds in each in which
//! none of its labels has a later version. So nothing remembered outlives a commit, on whichever node.

use std::collections::HashMap;
use std::sync::{PoisonError, RwLock};

use tokio_postgres::Row as SqlRow;

use super::statements::{ANY, UNKNOWN};
use super::{Climb, Reaching};
use crate::id::KindId;
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

    /// The version of the last change of a label's ties.
    pub(super) fn of(&self, label: KindId) -> i64 {
        let version = |label| self.0.get(&label).copied().unwrap_or(0);
        version(label.0.into()).max(version(UNKNOWN))
    }
}

/// What was found, each with the version of all ties at that moment.
#[derive(Debug, Default)]
pub(in crate::postgres) struct Memory {
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
