//! The row that tells which identities and edges are in their tables, and what is not there yet.

use rusqlite::{Connection, params};

use super::edge::{Key, pack, unpack};
use super::sweep::Sweep;
use crate::error::StoreError;
use crate::row::References;
use crate::sqlite::counters::LAST_ID;

/// The sweep's position is kept as the first 4 bytes of an identity only, so that the row reveals no
/// identity.
const HAND_BYTES: usize = 4;
/// Where the sweep over identities begins.
pub(crate) const FIRST_KEY: Key = [0; 16];
/// Where the sweep over edges begins.
pub(crate) const FIRST_EDGE: u128 = 0;

const READ: &str = "SELECT number, key_done, key_upto, key_hand, edge_done, edge_upto, edge_target, \
     edge_kind, edge_source FROM recent";
const WRITE: &str = "UPDATE recent SET number = ?1, key_done = ?2, key_upto = ?3, key_hand = ?4, \
     edge_done = ?5, edge_upto = ?6, edge_target = ?7, edge_kind = ?8, edge_source = ?9";
const NOT_MOVED: &str = "SELECT id, kind, key, refs FROM doc WHERE id > ?1 ORDER BY id";

/// The last commit that changed identities or edges, and how far these have been moved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Positions {
    pub(crate) number: u64,
    pub(crate) identities: Sweep<Key>,
    pub(crate) edges: Sweep<u128>,
}

impl Positions {
    /// Reads the row.
    pub(crate) fn read(connection: &Connection) -> Result<Self, StoreError> {
        let read = |row: &rusqlite::Row<'_>| {
            let hand: Option<Vec<u8>> = row.get(3)?;
            let edge: Option<i64> = row.get(6)?;
            let edge = match edge {
                Some(target) => Some(pack((target, row.get(7)?, row.get(8)?))),
                None => None,
            };
            Ok(Self {
                number: row.get::<_, i64>(0)?.unsigned_abs(),
                identities: Sweep { done: row.get(1)?, upto: row.get(2)?, hand: hand.map(key) },
                edges: Sweep { done: row.get(4)?, upto: row.get(5)?, hand: edge },
            })
        };
        Ok(connection.prepare_cached(READ)?.query_row([], read)?)
    }

    /// Writes the row.
    pub(crate) fn write(&self, connection: &Connection) -> Result<(), StoreError> {
        let Self { number, identities, edges } = self;
        let hand = identities.hand.map(|hand| hand[..HAND_BYTES].to_vec());
        let edge = edges.hand.map(unpack);
        connection.prepare_cached(WRITE)?.execute(params![
            i64::try_from(*number).unwrap_or(i64::MAX),
            identities.done,
            identities.upto,
            hand,
            edges.done,
            edges.upto,
            edge.map(|edge| edge.0),
            edge.map(|edge| edge.1),
            edge.map(|edge| edge.2),
        ])?;
        Ok(())
    }

    /// Returns the number up to which the identities and edges of all documents are in their tables.
    fn done(&self) -> i64 {
        self.identities.all_moved().min(self.edges.all_moved())
    }
}

/// Returns an identity that begins with these bytes and ends with zeros.
fn key(bytes: Vec<u8>) -> Key {
    let mut key = FIRST_KEY;
    let length = bytes.len().min(key.len());
    key[..length].copy_from_slice(&bytes[..length]);
    key
}

/// Returns the first place of the sweep over identities after this one; [`None`] after the last.
pub(crate) fn next_key(key: &Key) -> Option<Key> {
    let mut first = [0; HAND_BYTES];
    first.copy_from_slice(&key[..HAND_BYTES]);
    let next = u32::from_be_bytes(first).checked_add(1)?;
    Some(self::key(next.to_be_bytes().to_vec()))
}

/// An identity with its document, or a packed edge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Row {
    Identity(Key, i64),
    Edge(u128),
}

/// Gives what is not in the tables, in the order of the documents.
pub(crate) fn missing(
    connection: &Connection,
    positions: &Positions,
    mut give: impl FnMut(Row) -> Result<(), StoreError>,
) -> Result<(), StoreError> {
    let mut all = connection.prepare_cached(NOT_MOVED)?;
    let mut rows = all.query([positions.done()])?;
    while let Some(row) = rows.next()? {
        let (id, kind, key): (i64, u16, Key) = (row.get(0)?, row.get(1)?, row.get(2)?);
        if !positions.identities.is_moved(id, &key) {
            give(Row::Identity(key, id))?;
        }
        let packed = row.get_ref(3)?.as_blob().map_err(rusqlite::Error::from)?;
        for target in References::targets(packed) {
            let edge = pack((target.0, kind, id));
            if !positions.edges.is_moved(id, &edge) {
                give(Row::Edge(edge))?;
            }
        }
    }
    Ok(())
}

/// What is not in the tables, in the order of the tables.
#[derive(Debug, Default)]
pub(crate) struct Missing {
    pub(crate) identities: Vec<(Key, i64)>,
    pub(crate) edges: Vec<u128>,
}

impl Missing {
    /// Reads the documents whose identities and edges are not in the tables.
    pub(crate) fn read(connection: &Connection) -> Result<Self, StoreError> {
        let mut found = Self::default();
        missing(connection, &Positions::read(connection)?, |row| {
            match row {
                Row::Identity(key, document) => found.identities.push((key, document)),
                Row::Edge(edge) => found.edges.push(edge),
            }
            Ok(())
        })?;
        found.identities.sort_unstable();
        found.edges.sort_unstable();
        Ok(found)
    }
}

/// Moves everything to the tables of a store that nobody else has open.
pub(crate) fn complete(connection: &Connection) -> Result<(), StoreError> {
    connection.execute_batch("BEGIN IMMEDIATE")?;
    let done = move_all(connection).and_then(|()| Ok(connection.execute_batch("COMMIT")?));
    if done.is_err() && !connection.is_autocommit() {
        _ = connection.execute_batch("ROLLBACK");
    }
    done
}

fn move_all(connection: &Connection) -> Result<(), StoreError> {
    let missing = Missing::read(connection)?;
    for (key, document) in missing.identities {
        connection.prepare_cached(ADD_IDENTITY)?.execute(params![key, document])?;
    }
    for edge in missing.edges {
        let (target, kind, source) = unpack(edge);
        connection.prepare_cached(ADD_EDGE)?.execute(params![target, kind, source])?;
    }
    note_all_moved(connection)
}

/// Fills the table of identities from the documents.
pub(crate) fn fill_identities(connection: &Connection) -> Result<(), StoreError> {
    connection.execute("DELETE FROM identity", [])?;
    connection
        .execute("INSERT INTO identity (key, id) SELECT key, id FROM doc ORDER BY key", [])?;
    Ok(())
}

/// Notes that the identities and edges of all documents are in their tables.
pub(crate) fn note_all_moved(connection: &Connection) -> Result<(), StoreError> {
    let last = connection.query_row(LAST_ID, [], |row| row.get(0))?;
    let before = Positions::read(connection)?;
    let mut positions = before;
    positions.identities.note_all_moved(last);
    positions.edges.note_all_moved(last);
    if positions == before { Ok(()) } else { positions.write(connection) }
}

/// Adds an identity to its table.
pub(crate) const ADD_IDENTITY: &str = "INSERT INTO identity (key, id) VALUES (?1, ?2)";
/// Adds an edge to its table.
pub(crate) const ADD_EDGE: &str = "INSERT INTO ref (target, kind, source) VALUES (?1, ?2, ?3)";
