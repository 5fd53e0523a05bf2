//! What is in memory, as the writer and the readers of a process share it.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use rusqlite::Connection;

use super::edge::{Edge, Key, NUMBER_MAX, pack, unpack};
use super::memory::Memory;
use super::positions::{Positions, Row, missing};
use crate::error::StoreError;

/// Most rows that are looked at while the writer waits.
const LOOKED_AT_MAX: usize = 4_096;
/// Most rows of each table that are forgotten while readers wait, and fewest with a commit.
const FORGOTTEN_MAX: usize = 8_192;

/// What is in memory, for the writer and the readers of this process.
#[derive(Debug, Default)]
pub(crate) struct Recent {
    rows: RwLock<Rows>,
    /// The number of the last commit.
    committed: AtomicU64,
    /// How many readers may see the state of a commit, or of a later one.
    readers: Mutex<BTreeMap<u64, usize>>,
}

/// The rows in memory.
#[derive(Debug, Default)]
pub(crate) struct Rows {
    /// Documents by identity.
    pub(crate) identities: Memory<Key, i64>,
    /// Packed edges.
    pub(crate) edges: Memory<u128, ()>,
}

impl Recent {
    /// Reads what is not in the tables of a store that is being opened.
    pub(crate) fn fill(&self, connection: &Connection) -> Result<Positions, StoreError> {
        let positions = Positions::read(connection)?;
        let mut rows = self.change();
        missing(connection, &positions, |row| {
            match row {
                Row::Identity(key, document) => {
                    rows.identities.add(key, document, positions.number);
                }
                Row::Edge(edge) => {
                    rows.edges.add(edge, (), positions.number);
                }
            }
            Ok(())
        })?;
        drop(rows);
        self.committed.store(positions.number, Ordering::Release);
        Ok(positions)
    }

    /// Begins a read: as long as the value lives, what its transaction sees is kept.
    pub(crate) fn enter(self: &Arc<Self>) -> Reading {
        let mut readers = self.readers.lock().unwrap_or_else(PoisonError::into_inner);
        // Read under the lock: nothing that this commit shows is forgotten from here on.
        let at = self.committed.load(Ordering::Acquire);
        *readers.entry(at).or_default() += 1;
        Reading { at, recent: Arc::clone(self) }
    }

    /// Returns the rows, for the writer to change them.
    pub(crate) fn change(&self) -> RwLockWriteGuard<'_, Rows> {
        self.rows.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the rows.
    pub(crate) fn look(&self) -> RwLockReadGuard<'_, Rows> {
        self.rows.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes that a commit is durable, with which up to `gone` rows are gone, and forgets twice as many
    /// that no reader can see any more.
    pub(crate) fn committed(&self, number: u64, gone: usize) {
        self.committed.store(number, Ordering::Release);
        self.forget(FORGOTTEN_MAX.max(gone.saturating_mul(2)));
    }

    /// Forgets up to so many rows of each table that no reader can see any more.
    pub(crate) fn forget(&self, mut most: usize) {
        let readers = self.readers.lock().unwrap_or_else(PoisonError::into_inner);
        let number = self.committed.load(Ordering::Acquire);
        let oldest = readers.first_key_value().map_or(number, |(at, _)| (*at).min(number));
        drop(readers);
        while most > 0 {
            let some = most.min(FORGOTTEN_MAX);
            let mut rows = self.change();
            let identities = rows.identities.forget(oldest, some);
            let edges = rows.edges.forget(oldest, some);
            drop(rows);
            if identities.max(edges) < some {
                break;
            }
            most -= some;
        }
    }

    /// Returns the document that has an identity.
    pub(super) fn identity(&self, at: u64, key: Key) -> Option<i64> {
        self.look().identities.get(key, at)
    }

    /// Returns whether there is an edge.
    pub(super) fn has_edge(&self, at: u64, edge: Edge) -> bool {
        self.look().edges.get(pack(edge), at).is_some()
    }

    /// Gives the edges from one to another, in order, until `take` returns false. The writer does not
    /// wait until the last.
    pub(super) fn each_edge(
        &self,
        at: u64,
        (from, upto): (Edge, Edge),
        mut take: impl FnMut(Edge) -> bool,
    ) {
        let (mut from, upto) = (Some(pack(from)), pack(upto));
        while let Some(first) = from {
            let range = (first, upto);
            from = self.look().edges.scan(range, at, LOOKED_AT_MAX, |edge, ()| take(unpack(edge)));
        }
    }

    /// Returns the next kind after `after` that has an edge to `target`, other than from itself.
    pub(super) fn next_kind(&self, at: u64, target: i64, after: i64) -> Option<u16> {
        let first = u16::try_from(after.max(-1) + 1).ok()?;
        let mut found = None;
        let range = ((target, first, 0), (target, u16::MAX, NUMBER_MAX));
        self.each_edge(at, range, |(_, kind, source)| {
            found = (source != target).then_some(kind);
            found.is_none()
        });
        found
    }
}

/// A read that is going on.
#[derive(Debug)]
pub(crate) struct Reading {
    at: u64,
    recent: Arc<Recent>,
}

impl Drop for Reading {
    fn drop(&mut self) {
        let mut readers = self.recent.readers.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = readers.get_mut(&self.at) {
            *count -= 1;
            if *count == 0 {
                readers.remove(&self.at);
            }
        }
    }
}
