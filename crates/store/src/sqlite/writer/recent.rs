//! The writer's side of what is in memory: it adds and removes identities and edges, there or in their
//! tables, and moves a few to the tables with each transaction.

mod moves;

#[cfg(test)]
mod tests;

use std::collections::HashSet;
use std::sync::Arc;

use rusqlite::{Connection, OptionalExtension as _, params};

use crate::error::StoreError;
use crate::id::NaturalKey;
use crate::sqlite::recent::{ADD_EDGE, ADD_IDENTITY, Change, Edge, Key, Positions, Recent, pack};

/// Edges in memory for each identity.
const EDGES_EACH: usize = 4;
/// Most identities that a transaction notes as those of no document.
const ABSENT_MAX: usize = 16_384;

/// What the open transaction does with identities and edges.
pub(super) struct RecentWriter {
    recent: Arc<Recent>,
    /// How far the tables are, in the open transaction.
    now: Positions,
    /// The same when the open transaction began.
    begun: Positions,
    /// The changes of the open transaction in memory, in order.
    undo: Vec<Undo>,
    /// Identities that were looked for in this transaction, and that no document has: some of them.
    absent: HashSet<NaturalKey>,
    documents_max: usize,
    edges_max: usize,
}

/// A change in memory.
#[derive(Debug, Clone, Copy)]
enum Undo {
    Identity(Change<Key, i64>),
    Edge(Change<u128, ()>),
}

/// How far a transaction was, to go back to.
#[derive(Debug, Clone, Copy)]
pub(super) struct Mark {
    changes: usize,
    now: Positions,
}

impl RecentWriter {
    pub(super) fn new(recent: &Arc<Recent>, positions: Positions, documents_max: usize) -> Self {
        Self {
            recent: Arc::clone(recent),
            now: positions,
            begun: positions,
            undo: vec![],
            absent: HashSet::new(),
            documents_max,
            edges_max: documents_max.saturating_mul(EDGES_EACH),
        }
    }

    /// Notes that a transaction begins.
    pub(super) fn begin(&mut self) {
        self.begun = self.now;
        self.undo.clear();
        self.absent.clear();
    }

    /// Returns whether anything is in memory.
    pub(super) fn is_filled(&self) -> bool {
        let rows = self.recent.look();
        rows.identities.living() + rows.edges.living() > 0
    }

    /// Notes that no document has an identity.
    pub(super) fn note_absent(&mut self, key: NaturalKey) {
        if self.absent.len() < ABSENT_MAX {
            self.absent.insert(key);
        }
    }

    /// Forgets which identities no document has.
    pub(super) fn forget_absent(&mut self) {
        self.absent.clear();
    }

    /// Adds the identity of a new document.
    pub(super) fn add_identity(
        &mut self,
        connection: &Connection,
        key: NaturalKey,
        document: i64,
    ) -> Result<(), StoreError> {
        if !self.absent.remove(&key) && self.has_identity(connection, key)? {
            return Err(StoreError::Failed("a document has this identity already".into()));
        }
        let at = self.touch(connection)?;
        if self.now.identities.is_moved(document, &key.0) {
            connection.prepare_cached(ADD_IDENTITY)?.execute(params![key.0, document])?;
            return Ok(());
        }
        let added = self.recent.change().identities.add(key.0, document, at);
        self.undo.push(Undo::Identity(added.ok_or_else(damaged)?));
        Ok(())
    }

    fn has_identity(&self, connection: &Connection, key: NaturalKey) -> Result<bool, StoreError> {
        if self.recent.look().identities.get(key.0, self.now.number).is_some() {
            return Ok(true);
        }
        let mut look = connection.prepare_cached("SELECT 1 FROM identity WHERE key = ?1")?;
        Ok(look.query_row([key.0], |_| Ok(())).optional()?.is_some())
    }

    /// Removes the identity of a document that is deleted.
    pub(super) fn remove_identity(
        &mut self,
        connection: &Connection,
        key: NaturalKey,
    ) -> Result<(), StoreError> {
        let at = self.touch(connection)?;
        let removed = self.recent.change().identities.remove(key.0, at);
        if let Some((_, change)) = removed {
            self.undo.push(Undo::Identity(change));
        } else {
            connection.prepare_cached("DELETE FROM identity WHERE key = ?1")?.execute([key.0])?;
        }
        Ok(())
    }

    /// Adds an edge.
    pub(super) fn add_edge(
        &mut self,
        connection: &Connection,
        edge: Edge,
    ) -> Result<(), StoreError> {
        let at = self.touch(connection)?;
        let packed = pack(edge);
        if self.now.edges.is_moved(edge.2, &packed) {
            connection.prepare_cached(ADD_EDGE)?.execute(params![edge.0, edge.1, edge.2])?;
            return Ok(());
        }
        let added = self.recent.change().edges.add(packed, (), at);
        self.undo.push(Undo::Edge(added.ok_or_else(damaged)?));
        Ok(())
    }

    /// Removes an edge.
    pub(super) fn remove_edge(
        &mut self,
        connection: &Connection,
        edge: Edge,
    ) -> Result<(), StoreError> {
        let at = self.touch(connection)?;
        let removed = self.recent.change().edges.remove(pack(edge), at);
        if let Some(((), change)) = removed {
            self.undo.push(Undo::Edge(change));
            return Ok(());
        }
        connection
            .prepare_cached("DELETE FROM ref WHERE target = ?1 AND kind = ?2 AND source = ?3")?
            .execute(params![edge.0, edge.1, edge.2])?;
        Ok(())
    }

    /// Gives the open transaction its number, if it has none. A reader whose state has this number in
    /// the table `recent` sees the transaction's changes in memory.
    fn touch(&mut self, connection: &Connection) -> Result<u64, StoreError> {
        if self.now.number == self.begun.number {
            self.now.number += 1;
            let number = i64::try_from(self.now.number).unwrap_or(i64::MAX);
            connection.prepare_cached("UPDATE recent SET number = ?1")?.execute([number])?;
        }
        Ok(self.now.number)
    }

    /// Returns how far the transaction is.
    pub(super) fn mark(&self) -> Mark {
        Mark { changes: self.undo.len(), now: self.now }
    }

    /// Undoes in memory what was done since.
    pub(super) fn undo_to(&mut self, mark: &Mark) {
        let mut rows = self.recent.change();
        for change in self.undo.drain(mark.changes..).rev() {
            match change {
                Undo::Identity(change) => rows.identities.undo(change),
                Undo::Edge(change) => rows.edges.undo(change),
            }
        }
        drop(rows);
        self.now = mark.now;
        self.absent.clear();
    }

    /// Undoes in memory all that the transaction has done, which is lost.
    pub(super) fn undo(&mut self) {
        self.undo_to(&Mark { changes: 0, now: self.begun });
    }

    /// Notes that the transaction is durable.
    pub(super) fn committed(&mut self) {
        self.recent.committed(self.now.number, self.undo.len());
        self.undo.clear();
        self.begun = self.now;
    }

    /// Gives memory back that only large transactions need, between two of them.
    pub(super) fn give_memory_back(&mut self) {
        (self.undo, self.absent) = (vec![], HashSet::new());
        self.recent.forget(usize::MAX);
        let mut rows = self.recent.change();
        rows.identities.shrink();
        rows.edges.shrink();
    }

    /// Returns how many rows are gone and still kept for readers.
    pub(super) fn gone(&self) -> usize {
        let rows = self.recent.look();
        rows.identities.gone() + rows.edges.gone()
    }
}

fn damaged() -> StoreError {
    StoreError::Failed("something is in memory that should not be there".into())
}
