//! Reachability over ties: what writer and readers remember of it, and how they look up the rest.
//!
//! Rights depend on these answers, so each holds in one state of the store, and this state has every change of
//! ties that was visible before the question. The readers' memory has a version for that:
//!
//! - A version is even, or odd while a transaction that changes ties is being committed. Before `COMMIT` the
//!   writer forgets the transaction's items and makes the version odd, both under the lock; after `COMMIT` or
//!   `ROLLBACK`, and after readers' connections have been told of the commit, it makes the version even.
//! - What is remembered at an even version holds in the state of this version, in which no change of ties is
//!   under way. What is remembered at an odd one holds before and after the transaction that is being committed,
//!   because everything else was forgotten and nothing is added.
//! - So an answer from memory alone, at a version that is the same before a document is read and under the lock,
//!   holds in the state of the document ([`SharedTies::all_lead`]): at an even version no change of ties became
//!   visible between the two, and at an odd one at most that of the transaction, which makes no difference to it.
//! - A reader that looks something up in its snapshot takes something from memory only at the version that it
//!   took before it began. If that is still the version after its last look-up, then its snapshot is of this
//!   version, and what it took holds in its snapshot; if not, it asks again, of its snapshot alone. It adds what
//!   it has found only if the version is even and still the same, under the lock.
//! - A snapshot is taken after the version. If the version is even, then the commits before it were told to the
//!   connections, and the snapshot has them. If it is odd, another connection may have shown the commit already,
//!   so the snapshot is a new one (`Sqlite::reach`).

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard};

use rusqlite::Connection;

use crate::error::StoreError;
use crate::id::KindId;
use crate::sqlite::holders::{Held, HolderCache, Holders};
use crate::sqlite::probe;
use crate::tie::{Reached, Start, Way};

/// Most climbs that are remembered: enough for the organizations of a US state.
const CLIMBS_MAX: usize = 100_000;
/// Most items of one transaction whose ties change and that are forgotten one by one.
const CHANGED_MAX: usize = 10_000;

/// The numbers that a label leads to from an item, followed to its end.
type Climb = Arc<[i64]>;

/// What is remembered of ties.
#[derive(Default)]
pub(crate) struct KnownTies {
    holders: HolderCache,
    climbs: HashMap<(KindId, i64), Climb>,
    /// Labels that have been followed to their end.
    followed: Vec<KindId>,
}

impl KnownTies {
    /// Forgets what a change of an item's ties may have changed.
    pub(crate) fn changed(&mut self, label: KindId, item: i64) {
        self.holders.forget(label, item);
        if self.followed.contains(&label) {
            self.climbs.clear();
        }
    }

    /// Forgets everything.
    pub(crate) fn forget(&mut self) {
        drop(self.take_all());
    }

    /// Forgets everything, and returns it to be dropped where nobody waits for that.
    fn take_all(&mut self) -> impl Sized + use<> {
        (std::mem::take(&mut self.holders), std::mem::take(&mut self.climbs))
    }

    /// Gives memory back that only a large load needs.
    pub(crate) fn shrink(&mut self) {
        self.holders.shrink();
    }

    /// Follows a way from a number for the writer, which alone makes changes.
    pub(crate) fn reach(
        &mut self,
        connection: &Connection,
        start: i64,
        way: &Way,
    ) -> Result<Reached, StoreError> {
        self.follow(way.up);
        if let Ok(numbers) = follow(start, way, &mut Recalled(self)) {
            return Ok(Reached { numbers, seen: vec![] });
        }
        let mut looked = LookedUp {
            connection,
            known: Known::Own(self),
            has_recalled: false,
            found: Found::default(),
        };
        let numbers = follow(start, way, &mut looked)?;
        let found = looked.found;
        self.remember(found);
        Ok(Reached { numbers, seen: vec![] })
    }

    /// Returns whether steps and then the last label of a way lead from an item to one of some sorted numbers,
    /// if that is remembered.
    fn leads(&self, item: i64, steps: &[KindId], way: &Way, to: &[i64]) -> Option<bool> {
        let Some((label, rest)) = steps.split_first() else {
            let climb = self.climbs.get(&(way.up, item))?;
            return Some(climb.iter().any(|number| to.binary_search(number).is_ok()));
        };
        let kinds: &[bool] = if way.past { &[false, true] } else { &[false] };
        for past in kinds {
            let held = Held { label: *label, past: *past, item };
            for holder in self.holders.get(&held)?.as_slice() {
                if self.leads(*holder, rest, way, to)? {
                    return Some(true);
                }
            }
        }
        Some(false)
    }

    fn follow(&mut self, label: KindId) {
        if !self.followed.contains(&label) {
            self.followed.push(label);
        }
    }

    fn remember(&mut self, found: Found) {
        for (held, holders) in found.holders {
            self.holders.found(held, holders);
        }
        for (of, climb) in found.climbs {
            if self.climbs.len() >= CLIMBS_MAX {
                self.climbs.clear();
            }
            self.climbs.insert(of, climb);
        }
    }
}

/// The ties that a transaction has changed.
#[derive(Default)]
pub(crate) struct ChangedTies {
    items: Vec<(KindId, i64)>,
    any: bool,
}

impl ChangedTies {
    fn is_empty(&self) -> bool {
        !self.any && self.items.is_empty()
    }

    /// Records that an item's ties have changed.
    pub(crate) fn add(&mut self, label: KindId, item: i64) {
        if self.items.len() >= CHANGED_MAX {
            self.add_any();
        } else if !self.any {
            self.items.push((label, item));
        }
    }

    /// Records that any tie may have changed.
    pub(crate) fn add_any(&mut self) {
        self.any = true;
        self.items = vec![];
    }
}

/// What readers remember of ties, until the writer changes it.
#[derive(Default)]
pub(crate) struct SharedTies {
    /// Odd while a transaction that changes ties is being committed. Only the writer changes it.
    version: AtomicU64,
    /// Whether a reader has asked since this was last looked at.
    is_asked: AtomicBool,
    known: RwLock<KnownTies>,
}

impl SharedTies {
    /// Returns the present version. Taken before a document is read, it tells whether what is remembered holds
    /// in the document's state.
    pub(crate) fn version(&self) -> u64 {
        self.version.load(Ordering::SeqCst)
    }

    /// Forgets what a transaction has changed. Called before the commit: nothing is added from now on until
    /// [`SharedTies::settle`].
    pub(crate) fn forget(&self, changed: &ChangedTies) {
        if changed.is_empty() {
            return;
        }
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        self.version.store(self.version() | 1, Ordering::SeqCst);
        let gone = changed.any.then(|| known.take_all());
        for (label, item) in &changed.items {
            known.changed(*label, *item);
        }
        drop(known);
        drop(gone);
    }

    /// Lets readers add what they find again. Called once the commit is visible to each read that begins, or
    /// was rolled back; a transaction that has forgotten nothing needs no call, but may make it.
    pub(crate) fn settle(&self) {
        let version = self.version();
        if !is_settled(version) {
            self.version.store(version + 1, Ordering::SeqCst);
        }
    }

    /// Gives memory back that only many readers need, unless one has asked since the last call. Returns whether
    /// there is nothing more to give back.
    pub(crate) fn shrink(&self) -> bool {
        let is_asked = self.is_asked.swap(false, Ordering::Relaxed);
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        if !known.holders.is_large() {
            return true;
        }
        drop(known);
        if !is_asked {
            self.known.write().unwrap_or_else(PoisonError::into_inner).shrink();
        }
        !is_asked
    }

    /// Returns what is remembered, if this is still the version; it stays so until the guard is dropped.
    fn at(&self, version: u64) -> Option<RwLockReadGuard<'_, KnownTies>> {
        if !self.is_asked.load(Ordering::Relaxed) {
            self.is_asked.store(true, Ordering::Relaxed);
        }
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        (self.version() == version).then_some(known)
    }

    /// Returns what ways have reached, if all of it is remembered at this version.
    pub(crate) fn recall(&self, version: u64, from: &[(Start, Way)]) -> Option<Vec<Reached>> {
        let known = self.at(version)?;
        let mut all = Vec::with_capacity(from.len());
        for (start, way) in from {
            let Start::Number(number) = start else { return None };
            let numbers = follow(*number, way, &mut Recalled(&known)).ok()?;
            all.push(Reached { numbers, seen: vec![] });
        }
        Some(all)
    }

    /// Returns whether all ways lead from their numbers to one of some sorted numbers, if that is remembered at
    /// this version.
    pub(crate) fn all_lead(&self, version: u64, from: &[(i64, Way)], to: &[i64]) -> Option<bool> {
        let known = self.at(version)?;
        for (number, way) in from {
            if !known.leads(*number, &way.steps, way, to)? {
                return Some(false);
            }
        }
        Some(true)
    }

    /// Returns the version for a look-up that begins after this.
    pub(crate) fn begin(&self, from: &[(Start, Way)]) -> u64 {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        let is_followed = from.iter().all(|(_, way)| known.followed.contains(&way.up));
        drop(known);
        if !is_followed {
            let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
            for (_, way) in from {
                known.follow(way.up);
            }
        }
        self.version()
    }

    /// Looks ways up for a reader that got `version` from [`SharedTies::begin`] before its snapshot was taken.
    pub(crate) fn look(
        &self,
        connection: &Connection,
        version: u64,
        from: &[(Start, Way)],
    ) -> Result<Vec<Reached>, StoreError> {
        loop {
            let known = Known::Shared(self, version);
            let mut looked =
                LookedUp { connection, known, has_recalled: false, found: Found::default() };
            let mut all = Vec::with_capacity(from.len());
            for (start, way) in from {
                let start = match start {
                    Start::Number(number) => Some(*number),
                    Start::Document(key) => probe::target(connection, *key)?.map(|(id, ..)| id.0),
                };
                let numbers = match start {
                    Some(start) => follow(start, way, &mut looked)?,
                    None => Climb::default(),
                };
                all.push(Reached { numbers, seen: vec![] });
            }
            let LookedUp { has_recalled, found, .. } = looked;
            // If the version has passed, the next round takes nothing from memory, and is the last one.
            if self.add(version, found) || !has_recalled {
                return Ok(all);
            }
        }
    }

    /// Adds what was found by a read that began at a version, if it still holds. Returns whether this is the
    /// version still.
    fn add(&self, version: u64, found: Found) -> bool {
        if found.is_empty() || !is_settled(version) {
            return self.version() == version;
        }
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        let is_same = self.version() == version;
        if is_same {
            known.remember(found);
        }
        is_same
    }
}

/// Returns whether no change of ties is being committed at a version.
pub(crate) fn is_settled(version: u64) -> bool {
    version.is_multiple_of(2)
}

/// Where holders and climbs come from.
trait Look {
    type Error;

    /// Adds the holders of an item.
    fn holders(&mut self, held: Held, out: &mut Vec<i64>) -> Result<(), Self::Error>;

    /// Returns the numbers that a label leads to from an item.
    fn climb(&mut self, label: KindId, item: i64) -> Result<Climb, Self::Error>;
}

/// Follows a way from a number.
fn follow<L: Look>(start: i64, way: &Way, look: &mut L) -> Result<Climb, L::Error> {
    let mut items = vec![];
    let mut from: &[i64] = &[start];
    for label in way.steps.iter() {
        let mut reached = vec![];
        for item in from {
            look.holders(Held { label: *label, past: false, item: *item }, &mut reached)?;
            if way.past {
                look.holders(Held { label: *label, past: true, item: *item }, &mut reached)?;
            }
        }
        reached.sort_unstable();
        reached.dedup();
        items = reached;
        from = &items;
    }
    match from {
        [] => Ok(Climb::default()),
        [only] => look.climb(way.up, *only),
        several => {
            let mut all = vec![];
            for item in several {
                all.extend_from_slice(&look.climb(way.up, *item)?);
            }
            all.sort_unstable();
            all.dedup();
            Ok(all.into())
        }
    }
}

/// Looks nothing up.
struct Recalled<'k>(&'k KnownTies);

/// Something is not remembered.
struct Unknown;

impl Look for Recalled<'_> {
    type Error = Unknown;

    fn holders(&mut self, held: Held, out: &mut Vec<i64>) -> Result<(), Unknown> {
        out.extend_from_slice(self.0.holders.get(&held).ok_or(Unknown)?.as_slice());
        Ok(())
    }

    fn climb(&mut self, label: KindId, item: i64) -> Result<Climb, Unknown> {
        self.0.climbs.get(&(label, item)).map(Arc::clone).ok_or(Unknown)
    }
}

/// Looks up what is not remembered, and keeps what it has found.
struct LookedUp<'c> {
    connection: &'c Connection,
    known: Known<'c>,
    /// Whether something was taken from memory.
    has_recalled: bool,
    found: Found,
}

/// Where something may be remembered.
enum Known<'k> {
    Own(&'k KnownTies),
    /// At a version.
    Shared(&'k SharedTies, u64),
}

impl Known<'_> {
    fn recall<T>(&self, recall: impl FnOnce(&mut Recalled<'_>) -> Result<T, Unknown>) -> Option<T> {
        match self {
            Self::Own(known) => recall(&mut Recalled(known)),
            Self::Shared(ties, version) => {
                let known = ties.at(*version)?;
                recall(&mut Recalled(&known))
            }
        }
        .ok()
    }
}

/// What was looked up.
#[derive(Default)]
struct Found {
    holders: Vec<(Held, Holders)>,
    climbs: Vec<((KindId, i64), Climb)>,
}

impl Found {
    fn is_empty(&self) -> bool {
        self.holders.is_empty() && self.climbs.is_empty()
    }
}

impl Look for LookedUp<'_> {
    type Error = StoreError;

    fn holders(&mut self, held: Held, out: &mut Vec<i64>) -> Result<(), StoreError> {
        if self.known.recall(|known| known.holders(held, out)).is_some() {
            self.has_recalled = true;
            return Ok(());
        }
        let before = out.len();
        let text = if held.past { PAST_HOLDERS } else { HOLDERS };
        holders(self.connection, text, held.label, held.item, out)?;
        self.found.holders.push((held, Holders::from(&out[before..])));
        Ok(())
    }

    fn climb(&mut self, label: KindId, item: i64) -> Result<Climb, StoreError> {
        if let Some(climb) = self.known.recall(|known| known.climb(label, item)) {
            self.has_recalled = true;
            return Ok(climb);
        }
        if let Some((_, climb)) = self.found.climbs.iter().find(|(of, _)| *of == (label, item)) {
            return Ok(Arc::clone(climb));
        }
        let climb = climb(self.connection, label, item)?;
        self.found.climbs.push(((label, item), Arc::clone(&climb)));
        Ok(climb)
    }
}

fn climb(connection: &Connection, label: KindId, item: i64) -> Result<Climb, StoreError> {
    let mut reached = vec![];
    let mut looked_at = vec![];
    let mut next = vec![item];
    while let Some(item) = next.pop() {
        if let Err(at) = looked_at.binary_search(&item) {
            looked_at.insert(at, item);
            let before = reached.len();
            holders(connection, HOLDERS, label, item, &mut reached)?;
            next.extend_from_slice(&reached[before..]);
        }
    }
    reached.sort_unstable();
    reached.dedup();
    Ok(reached.into())
}

const HOLDERS: &str = "SELECT holder FROM tie WHERE label = ?1 AND item = ?2";
const PAST_HOLDERS: &str = "SELECT holder FROM past_tie WHERE label = ?1 AND item = ?2";

fn holders(
    connection: &Connection,
    text: &str,
    label: KindId,
    item: i64,
    out: &mut Vec<i64>,
) -> Result<(), StoreError> {
    let mut statement = connection.prepare_cached(text)?;
    let mut rows = statement.query((label.0, item))?;
    while let Some(row) = rows.next()? {
        out.push(row.get(0)?);
    }
    Ok(())
}

#[cfg(test)]
mod tests;
