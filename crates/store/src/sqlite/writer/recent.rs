//! The writer's side of what is in memory: it adds and removes identities and edges, there or in their
//! tables, and moves a few to the tables with each transaction.

use std::collections::HashSet;
use std::sync::Arc;

use rusqlite::{Connection, OptionalExtension as _, params};

use crate::error::StoreError;
use crate::id::NaturalKey;
use crate::sqlite::recent::{
    ADD_EDGE, ADD_IDENTITY, Change, Edge, FIRST_EDGE, FIRST_KEY, Key, Positions, Recent, next_key,
    pack, unpack,
};

/// Edges in memory for each identity.
const EDGES_EACH: usize = 4;
/// Rows that are looked at, for each that is to be moved, before a transaction goes on.
const LOOKED_AT_EACH: usize = 8;
/// Fewest rows that are looked at.
const LOOKED_AT_MIN: usize = 1_024;

/// What the open transaction does with identities and edges.
pub(super) struct RecentWriter {
    recent: Arc<Recent>,
    /// How far the tables are, in the open transaction.
    now: Positions,
    /// The same when the open transaction began.
    begun: Positions,
    /// The changes of the open transaction in memory, in order.
    undo: Vec<Undo>,
    /// Identities that were looked for in this transaction, and that no document has.
    absent: HashSet<NaturalKey>,
    identities_max: usize,
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
            identities_max: documents_max,
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
    pub(super) fn is_absent(&mut self, key: NaturalKey) {
        self.absent.insert(key);
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

    /// Gives the open transaction its number, if it has none. Readers that see it in its table see what
    /// the transaction does.
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

    /// Before a commit: moves what is more than there may be in memory to the tables, and writes how far
    /// they are. `last` is the number of the last document.
    pub(super) fn end(&mut self, connection: &Connection, last: i64) -> Result<(), StoreError> {
        if self.now.number == self.begun.number {
            return Ok(());
        }
        let rows = self.recent.look();
        let identities = rows.identities.living().saturating_sub(self.identities_max);
        let edges = rows.edges.living().saturating_sub(self.edges_max);
        drop(rows);
        self.move_some(connection, last, (identities, edges))
    }

    /// Moves up to so many rows to the tables, in a transaction of its own. `last` is the number of the
    /// last document.
    pub(super) fn settle(
        &mut self,
        connection: &Connection,
        last: i64,
        most: usize,
    ) -> Result<(), StoreError> {
        self.touch(connection)?;
        self.move_some(connection, last, (most, most))
    }

    fn move_some(
        &mut self,
        connection: &Connection,
        last: i64,
        (identities, edges): (usize, usize),
    ) -> Result<(), StoreError> {
        let before = self.now;
        let identities = self.move_identities(connection, last, identities)?;
        let edges = self.move_edges(connection, last, edges)?;
        if identities {
            self.now.identities.is_clear(last);
        }
        if edges {
            self.now.edges.is_clear(last);
        }
        if self.now == before { Ok(()) } else { self.now.write(connection) }
    }

    /// Moves identities. Returns whether none is left in memory.
    fn move_identities(
        &mut self,
        connection: &Connection,
        last: i64,
        wanted: usize,
    ) -> Result<bool, StoreError> {
        let at = self.now.number;
        if wanted > 0 {
            self.now.identities.go_on(FIRST_KEY, last);
            let upto = self.now.identities.upto;
            let is_due = |_: Key, document: i64| document <= upto;
            let from = self.now.identities.hand.unwrap_or(FIRST_KEY);
            let rows = self.recent.look();
            let (mut found, next) =
                rows.identities.due(from, None, wanted, looked_at(wanted), is_due);
            // The sweep stands between identities whose first bytes differ.
            self.now.identities.hand = next.and_then(|next| {
                let end = next_key(&next);
                let (rest, _) = rows.identities.due(next, end, usize::MAX, usize::MAX, is_due);
                found.extend(rest);
                end
            });
            drop(rows);
            let mut add = connection.prepare_cached(ADD_IDENTITY)?;
            for (key, document) in found {
                add.execute(params![key, document])?;
                if let Some((_, change)) = self.recent.change().identities.remove(key, at) {
                    self.undo.push(Undo::Identity(change));
                }
            }
        }
        Ok(self.recent.look().identities.living() == 0)
    }

    /// Moves edges. Returns whether none is left in memory.
    fn move_edges(
        &mut self,
        connection: &Connection,
        last: i64,
        wanted: usize,
    ) -> Result<bool, StoreError> {
        let at = self.now.number;
        if wanted > 0 {
            self.now.edges.go_on(FIRST_EDGE, last);
            let upto = self.now.edges.upto;
            let from = self.now.edges.hand.unwrap_or(FIRST_EDGE);
            let is_due = |edge: u128, ()| unpack(edge).2 <= upto;
            let rows = self.recent.look();
            let (found, next) = rows.edges.due(from, None, wanted, looked_at(wanted), is_due);
            drop(rows);
            self.now.edges.hand = next;
            let mut add = connection.prepare_cached(ADD_EDGE)?;
            for (edge, ()) in found {
                let (target, kind, source) = unpack(edge);
                add.execute(params![target, kind, source])?;
                if let Some(((), change)) = self.recent.change().edges.remove(edge, at) {
                    self.undo.push(Undo::Edge(change));
                }
            }
        }
        Ok(self.recent.look().edges.living() == 0)
    }

    /// Notes that the transaction is durable.
    pub(super) fn committed(&mut self) {
        self.undo.clear();
        self.begun = self.now;
        self.recent.committed(self.now.number);
    }

    /// Returns how many rows are gone and still kept for readers.
    pub(super) fn gone(&self) -> usize {
        let rows = self.recent.look();
        rows.identities.gone() + rows.edges.gone()
    }
}

/// Returns how many rows are looked at for so many that are wanted.
fn looked_at(wanted: usize) -> usize {
    wanted.saturating_mul(LOOKED_AT_EACH).max(LOOKED_AT_MIN)
}

fn damaged() -> StoreError {
    StoreError::Failed("something is in memory that should not be there".into())
}
