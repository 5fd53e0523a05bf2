//! Moves rows from memory to their tables, some with each transaction.

use rusqlite::{Connection, Statement, params};

use super::{RecentWriter, Undo};
use crate::error::StoreError;
use crate::sqlite::recent::{
    ADD_EDGE, ADD_IDENTITY, Change, FIRST_EDGE, FIRST_KEY, Key, Memory, Positions, Rows, Sweep,
    next_key, unpack,
};
use crate::sqlite::writer::MOVED_MAX;

/// Documents behind the sweep over edges, for each that may be in memory, from which on it moves twice
/// what comes. Where documents have more than [`EDGES_EACH`](super::EDGES_EACH) edges there never are as
/// many.
const BEHIND_EACH: usize = 2;
/// Rows that are looked at, for each that is to be moved, before a transaction goes on.
const LOOKED_AT_EACH: usize = 8;
/// Fewest rows that are looked at.
const LOOKED_AT_MIN: usize = 1_024;
/// Most rows that are changed while readers wait.
const CHANGED_MAX: usize = 4_096;

/// A table whose latest rows are in memory.
struct Table<K, V> {
    look: fn(&Rows) -> &Memory<K, V>,
    change: fn(&mut Rows) -> &mut Memory<K, V>,
    sweep: fn(&mut Positions) -> &mut Sweep<K>,
    /// Where a sweep begins.
    first: K,
    /// The first place from a key on at which a sweep may stop; [`None`] for its end.
    stop: fn(K) -> Option<K>,
    /// The document of a row.
    document: fn(K, V) -> i64,
    /// The statement that adds a row.
    text: &'static str,
    add: fn(&mut Statement<'_>, K, V) -> rusqlite::Result<usize>,
    undo: fn(Change<K, V>) -> Undo,
}

const IDENTITIES: Table<Key, i64> = Table {
    look: |rows| &rows.identities,
    change: |rows| &mut rows.identities,
    sweep: |positions| &mut positions.identities,
    first: FIRST_KEY,
    // The sweep may stop only between two identities whose first 4 bytes differ, because only these
    // are kept.
    stop: |key| next_key(&key),
    document: |_, document| document,
    text: ADD_IDENTITY,
    add: |add, key, document| add.execute(params![key, document]),
    undo: Undo::Identity,
};

const EDGES: Table<u128, ()> = Table {
    look: |rows| &rows.edges,
    change: |rows| &mut rows.edges,
    sweep: |positions| &mut positions.edges,
    first: FIRST_EDGE,
    stop: Some,
    document: |edge, ()| unpack(edge).2,
    text: ADD_EDGE,
    add: |add, edge, ()| {
        let (target, kind, source) = unpack(edge);
        add.execute(params![target, kind, source])
    },
    undo: Undo::Edge,
};

impl RecentWriter {
    /// Before a commit: moves what is more than there may be in memory to the tables, up to
    /// [`MOVED_MAX`] rows of each or twice as many as the transaction has changed, and writes how far
    /// they are. `last` is the number of the last document.
    pub(in crate::sqlite::writer) fn end(
        &mut self,
        connection: &Connection,
        last: i64,
    ) -> Result<(), StoreError> {
        if self.now.number == self.begun.number {
            return Ok(());
        }
        let changed = self.undo.len();
        let most = MOVED_MAX.max(changed.saturating_mul(2));
        let rows = self.recent.look();
        let identities = rows.identities.living().saturating_sub(self.documents_max);
        let mut edges = rows.edges.living().saturating_sub(self.edges_max);
        drop(rows);
        // The next start reads all documents behind the sweep, also where these have few edges. From so
        // many documents on it moves twice as many edges as come, until it is over.
        let behind = usize::try_from(last - self.now.edges.all_moved()).unwrap_or(0);
        if behind > self.documents_max.saturating_mul(BEHIND_EACH) {
            edges = edges.max(changed.saturating_mul(2) + 1);
        }
        self.move_some(connection, last, (identities.min(most), edges.min(most)))
    }

    /// Moves up to so many rows of each table, in a transaction of its own. `last` is the number of the
    /// last document.
    pub(in crate::sqlite::writer) fn move_up_to(
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
        self.move_rows(connection, last, identities, &IDENTITIES)?;
        self.move_rows(connection, last, edges, &EDGES)?;
        if self.now == before { Ok(()) } else { self.now.write(connection) }
    }

    /// Moves rows of one table: as many as are wanted, or as are found among a few times as many.
    fn move_rows<K: Ord + Copy, V: Copy>(
        &mut self,
        connection: &Connection,
        last: i64,
        wanted: usize,
        table: &Table<K, V>,
    ) -> Result<(), StoreError> {
        let at = self.now.number;
        let sweep = (table.sweep)(&mut self.now);
        if wanted > 0 {
            sweep.go_on(table.first, last);
            let upto = sweep.upto;
            let is_due = |key, value| (table.document)(key, value) <= upto;
            let from = sweep.hand.unwrap_or(table.first);
            let looked_at = wanted.saturating_mul(LOOKED_AT_EACH).max(LOOKED_AT_MIN);
            let rows = self.recent.look();
            let memory = (table.look)(&rows);
            let (mut found, next) = memory.due(from, None, wanted, looked_at, is_due);
            sweep.hand = next.and_then(|next| {
                let end = (table.stop)(next);
                found.extend(memory.due(next, end, usize::MAX, usize::MAX, is_due).0);
                end
            });
            drop(rows);
            let mut add = connection.prepare_cached(table.text)?;
            for (key, value) in &found {
                (table.add)(&mut add, *key, *value)?;
            }
            for some in found.chunks(CHANGED_MAX) {
                let mut rows = self.recent.change();
                let memory = (table.change)(&mut rows);
                let removed = some.iter().filter_map(|(key, _)| memory.remove(*key, at));
                self.undo.extend(removed.map(|(_, change)| (table.undo)(change)));
            }
        }
        if (table.look)(&self.recent.look()).living() == 0 {
            (table.sweep)(&mut self.now).note_all_moved(last);
        }
        Ok(())
    }
}
