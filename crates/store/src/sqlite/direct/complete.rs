//! Completes a store after a direct load: builds the edges and the indexes that were left out.
//!
//! A store whose load was interrupted is completed when it is opened next. Everything is derived
//! from the documents that are there.

use rusqlite::{Connection, Statement, params};

use super::edges::Edges;
use crate::error::StoreError;
use crate::row::References;
use crate::sqlite::lock::folder_of;
use crate::sqlite::recent::{self, ADD_EDGE};

/// Name of the row of `place` that says what a direct load has left out.
const LEFT_OUT: &str = "left_out";

/// Notes that the edges and the identities are left out, and removes the identities that are there.
pub(super) fn leave_out(connection: &Connection) -> Result<(), StoreError> {
    connection.execute("DELETE FROM identity", [])?;
    connection.execute(
        "INSERT INTO place (name, value) VALUES (?1, '')
         ON CONFLICT (name) DO UPDATE SET value = excluded.value",
        [LEFT_OUT],
    )?;
    Ok(())
}

/// Returns whether a load has left something out.
fn is_left_out(connection: &Connection) -> Result<bool, StoreError> {
    let text = "SELECT EXISTS (SELECT 1 FROM place WHERE name = ?1)";
    Ok(connection.query_row(text, [LEFT_OUT], |row| row.get(0))?)
}

/// Refuses a store that has to be completed first.
pub(crate) fn refuse_incomplete(connection: &Connection) -> Result<(), StoreError> {
    let has_place = "SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name = 'place'";
    if connection.query_row(has_place, [], |row| row.get::<_, i64>(0))? == 0
        || !is_left_out(connection)?
    {
        return Ok(());
    }
    Err(StoreError::Unusable(
        "a direct load of this store is running or was interrupted; wait for it, or start a server \
         on the store, which completes it with what was loaded, and load again without --direct"
            .into(),
    ))
}

/// Completes a store whose load was interrupted.
pub(crate) fn complete_if_left(connection: &Connection) -> Result<(), StoreError> {
    if !is_left_out(connection)? {
        return Ok(());
    }
    tracing::warn!("a direct load was interrupted: the store is completed with what was loaded");
    complete(connection, None)
}

/// Completes the store; `edges` are those of all documents, if they are known.
pub(super) fn complete_with(
    connection: &Connection,
    edges: Option<Edges>,
) -> Result<(), StoreError> {
    if is_left_out(connection)? { complete(connection, edges) } else { Ok(()) }
}

fn complete(connection: &Connection, edges: Option<Edges>) -> Result<(), StoreError> {
    let edges = match edges {
        Some(edges) => edges,
        None => derive(connection)?,
    };
    connection.execute_batch("BEGIN IMMEDIATE")?;
    let done = write(connection, edges).and_then(|()| {
        connection.execute("DELETE FROM place WHERE name = ?1", [LEFT_OUT])?;
        connection.execute_batch("COMMIT")?;
        Ok(())
    });
    if done.is_err() && !connection.is_autocommit() {
        _ = connection.execute_batch("ROLLBACK");
    }
    done
}

fn write(connection: &Connection, edges: Edges) -> Result<(), StoreError> {
    connection.execute("DELETE FROM ref", [])?;
    let mut insert = connection.prepare(ADD_EDGE)?;
    edges.each_sorted(|edge| add(&mut insert, edge))?;
    drop(insert);
    recent::fill_identities(connection)?;
    recent::note_all_moved(connection)
}

fn add(
    insert: &mut Statement<'_>,
    (target, kind, source): (i64, u16, i64),
) -> Result<(), StoreError> {
    insert.execute(params![target, kind, source])?;
    Ok(())
}

/// Derives the edges of all documents from their references.
fn derive(connection: &Connection) -> Result<Edges, StoreError> {
    let mut edges = Edges::new(folder_of(connection.path().unwrap_or_default().as_ref()));
    let mut all = connection.prepare("SELECT id, kind, refs FROM doc ORDER BY id")?;
    let mut rows = all.query([])?;
    while let Some(row) = rows.next()? {
        let (id, kind) = (row.get(0)?, row.get(1)?);
        let packed = row.get_ref(2)?.as_blob().map_err(rusqlite::Error::from)?;
        for target in References::targets(packed) {
            edges.add((target.0, kind, id))?;
        }
    }
    Ok(edges)
}
