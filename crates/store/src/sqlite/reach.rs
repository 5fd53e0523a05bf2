//! Reachability over ties.

use std::collections::{BTreeSet, HashMap};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use rusqlite::Connection;

use crate::error::StoreError;
use crate::id::KindId;
use crate::sqlite::probe;
use crate::tie::{Reached, Start, Way};

/// Most climbs that are remembered: enough for the organizations of a US state.
const REMEMBERED_MAX: usize = 100_000;

/// The numbers that a label leads to from an item, followed to its end.
pub(crate) type Climb = Arc<[i64]>;

/// Remembered climbs, by label and item.
#[derive(Default)]
pub(crate) struct Climbs {
    known: HashMap<(KindId, i64), Climb>,
    /// Labels that have been followed to their end.
    followed: Vec<KindId>,
}

impl Climbs {
    /// Forgets what a change of a label's ties may have changed.
    pub(crate) fn changed(&mut self, label: KindId) {
        if self.followed.contains(&label) {
            self.known.clear();
        }
    }

    /// Forgets everything.
    pub(crate) fn forget(&mut self) {
        self.known.clear();
    }

    /// Follows a way for the writer, which alone makes changes.
    pub(crate) fn reach(
        &mut self,
        connection: &Connection,
        start: Start,
        way: &Way,
    ) -> Result<Reached, StoreError> {
        self.follow(way.up);
        reach(connection, start, way, |connection, label, item| {
            if let Some(climb) = self.known.get(&(label, item)) {
                return Ok(Arc::clone(climb));
            }
            let found = climb(connection, label, item)?;
            self.remember(label, item, &found);
            Ok(found)
        })
    }

    fn follow(&mut self, label: KindId) {
        if !self.followed.contains(&label) {
            self.followed.push(label);
        }
    }

    fn remember(&mut self, label: KindId, item: i64, climb: &Climb) {
        if self.known.len() >= REMEMBERED_MAX {
            self.known.clear();
        }
        self.known.insert((label, item), Arc::clone(climb));
    }
}

/// The ties that a transaction has changed.
#[derive(Default)]
pub(crate) struct ChangedTies {
    labels: Vec<KindId>,
    any: bool,
}

impl ChangedTies {
    /// Records that a label's ties have changed.
    pub(crate) fn add(&mut self, label: KindId) {
        if !self.labels.contains(&label) {
            self.labels.push(label);
        }
    }

    /// Records that any tie may have changed.
    pub(crate) fn add_any(&mut self) {
        self.any = true;
    }
}

/// Climbs that readers remember until the writer changes something that they depend on.
#[derive(Default)]
pub(crate) struct SharedClimbs {
    /// Number of times that climbs were forgotten.
    version: AtomicU64,
    climbs: RwLock<Climbs>,
}

impl SharedClimbs {
    /// Forgets what was changed. Called once the commit is visible, before it is answered.
    pub(crate) fn forget(&self, changed: &ChangedTies) {
        if !changed.any && changed.labels.is_empty() {
            return;
        }
        let mut climbs = self.climbs.write().unwrap_or_else(PoisonError::into_inner);
        if changed.any || changed.labels.iter().any(|label| climbs.followed.contains(label)) {
            self.version.fetch_add(1, Ordering::AcqRel);
            climbs.forget();
        }
    }

    /// Must be called before a read begins. What the read finds is remembered only if nothing was
    /// forgotten since.
    pub(crate) fn begin(&self, labels: impl Iterator<Item = KindId>) -> u64 {
        for label in labels {
            let climbs = self.climbs.read().unwrap_or_else(PoisonError::into_inner);
            let is_followed = climbs.followed.contains(&label);
            drop(climbs);
            if !is_followed {
                self.climbs.write().unwrap_or_else(PoisonError::into_inner).follow(label);
            }
        }
        self.version.load(Ordering::Acquire)
    }

    /// Follows a way for a reader that got `version` from [`SharedClimbs::begin`].
    pub(crate) fn reach(
        &self,
        connection: &Connection,
        version: u64,
        start: Start,
        way: &Way,
    ) -> Result<Reached, StoreError> {
        reach(connection, start, way, |connection, label, item| {
            let climbs = self.climbs.read().unwrap_or_else(PoisonError::into_inner);
            if let Some(climb) = climbs.known.get(&(label, item)) {
                return Ok(Arc::clone(climb));
            }
            drop(climbs);
            let found = climb(connection, label, item)?;
            let mut climbs = self.climbs.write().unwrap_or_else(PoisonError::into_inner);
            if self.version.load(Ordering::Acquire) == version {
                climbs.remember(label, item, &found);
            }
            Ok(found)
        })
    }
}

fn reach(
    connection: &Connection,
    start: Start,
    way: &Way,
    mut climb: impl FnMut(&Connection, KindId, i64) -> Result<Climb, StoreError>,
) -> Result<Reached, StoreError> {
    let start = match start {
        Start::Number(number) => Some(number),
        Start::Document(key) => probe::target(connection, key)?.map(|(id, ..)| id.0),
    };
    let mut items: BTreeSet<i64> = start.into_iter().collect();
    for label in way.steps.iter() {
        let mut reached = BTreeSet::new();
        for item in items {
            holders(connection, HOLDERS, *label, item, &mut reached)?;
            if way.past {
                holders(connection, PAST_HOLDERS, *label, item, &mut reached)?;
            }
        }
        items = reached;
    }
    let mut items = items.into_iter();
    let numbers = match (items.next(), items.next()) {
        (None, _) => vec![],
        (Some(only), None) => climb(connection, way.up, only)?.to_vec(),
        (Some(first), Some(second)) => {
            let mut all = BTreeSet::new();
            for item in [first, second].into_iter().chain(items) {
                all.extend(climb(connection, way.up, item)?.iter());
            }
            all.into_iter().collect()
        }
    };
    Ok(Reached { numbers, seen: vec![] })
}

fn climb(connection: &Connection, label: KindId, item: i64) -> Result<Climb, StoreError> {
    let mut reached = BTreeSet::new();
    let mut looked_at = BTreeSet::new();
    let mut next = vec![item];
    while let Some(item) = next.pop() {
        if looked_at.insert(item) {
            let mut found = BTreeSet::new();
            holders(connection, HOLDERS, label, item, &mut found)?;
            reached.extend(&found);
            next.extend(found);
        }
    }
    Ok(reached.into_iter().collect())
}

const HOLDERS: &str = "SELECT holder FROM tie WHERE label = ?1 AND item = ?2";
const PAST_HOLDERS: &str = "SELECT holder FROM past_tie WHERE label = ?1 AND item = ?2";

fn holders(
    connection: &Connection,
    text: &str,
    label: KindId,
    item: i64,
    out: &mut BTreeSet<i64>,
) -> Result<(), StoreError> {
    let mut statement = connection.prepare_cached(text)?;
    let mut rows = statement.query((label.0, item))?;
    while let Some(row) = rows.next()? {
        out.insert(row.get(0)?);
    }
    Ok(())
}
