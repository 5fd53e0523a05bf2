//! Reads of one index entry, done at once on the calling thread's own connection.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::atomic::Ordering;

use rusqlite::{Connection, OptionalExtension, Row as SqlRow};

use crate::error::StoreError;
use crate::id::{DocumentId, KindId, NaturalKey, Uuid};
use crate::row::Row;
use crate::sqlite::Shared;
use crate::sqlite::open::open_reader;

thread_local! {
    static CONNECTIONS: RefCell<HashMap<u64, Connection>> = RefCell::new(HashMap::new());
}

/// Runs `probe` on this thread's connection to the store.
pub(crate) fn on_this_thread<T>(
    shared: &Shared,
    probe: impl FnOnce(&Connection) -> Result<T, StoreError>,
) -> Result<T, StoreError> {
    if shared.is_closed.load(Ordering::Acquire) {
        return Err(StoreError::Closed);
    }
    CONNECTIONS.with_borrow_mut(|connections| {
        if !connections.contains_key(&shared.number) {
            // A thread outlives the stores that tests open one after another.
            if connections.len() >= 4 {
                connections.clear();
            }
            connections.insert(shared.number, open_reader(&shared.path, shared.cache_kib)?);
        }
        probe(&connections[&shared.number])
    })
}

/// Closes this thread's connection to the store.
pub(crate) fn forget(shared: &Shared) {
    // A thread that ends has closed its connections already.
    _ = CONNECTIONS.try_with(|connections| drop(connections.borrow_mut().remove(&shared.number)));
}

pub(crate) const COLUMNS: &str = "id, uuid, kind, key, cv, modified, refs, body";

/// Reads a document from the columns of [`COLUMNS`], in their order.
pub(crate) fn document(row: &SqlRow<'_>) -> rusqlite::Result<Row> {
    Ok(Row {
        id: DocumentId(row.get(0)?),
        uuid: Uuid(row.get(1)?),
        kind: KindId(row.get(2)?),
        key: NaturalKey(row.get(3)?),
        change_version: row.get(4)?,
        modified: row.get(5)?,
        references: row.get(6)?,
        body: row.get(7)?,
    })
}

pub(crate) fn by_uuid(connection: &Connection, uuid: Uuid) -> Result<Option<Row>, StoreError> {
    let mut statement = connection.prepare_cached(
        "SELECT id, uuid, kind, key, cv, modified, refs, body FROM doc WHERE uuid = ?1",
    )?;
    Ok(statement.query_row([uuid.0], document).optional()?)
}

pub(crate) fn by_key(connection: &Connection, key: NaturalKey) -> Result<Option<Row>, StoreError> {
    let mut statement = connection.prepare_cached(
        "SELECT id, uuid, kind, key, cv, modified, refs, body FROM doc WHERE key = ?1",
    )?;
    Ok(statement.query_row([key.0], document).optional()?)
}

/// Finds what carries an identity, as its own or as an abstract base's.
pub(crate) fn target(
    connection: &Connection,
    key: NaturalKey,
) -> Result<Option<(DocumentId, Uuid, KindId)>, StoreError> {
    let read =
        |row: &SqlRow<'_>| Ok((DocumentId(row.get(0)?), Uuid(row.get(1)?), KindId(row.get(2)?)));
    let mut own = connection.prepare_cached("SELECT id, uuid, kind FROM doc WHERE key = ?1")?;
    if let Some(found) = own.query_row([key.0], read).optional()? {
        return Ok(Some(found));
    }
    let mut base = connection.prepare_cached(
        "SELECT d.id, d.uuid, d.kind FROM alias a JOIN doc d ON d.id = a.id WHERE a.key = ?1",
    )?;
    Ok(base.query_row([key.0], read).optional()?)
}

pub(crate) fn referrers(
    connection: &Connection,
    target: DocumentId,
) -> Result<Vec<KindId>, StoreError> {
    // A hop per kind: the next greater kind that has an edge, so hot targets cost no scan.
    let mut next = connection.prepare_cached(
        "SELECT kind FROM ref WHERE target = ?1 AND kind > ?2 AND source <> ?1 ORDER BY kind LIMIT 1",
    )?;
    let mut kinds = vec![];
    let mut last: i64 = -1;
    while kinds.len() < 20 {
        let Some(kind) = next.query_row([target.0, last], |row| row.get::<_, i64>(0)).optional()?
        else {
            break;
        };
        last = kind;
        kinds.push(KindId(u16::try_from(kind).unwrap_or(u16::MAX)));
    }
    Ok(kinds)
}
