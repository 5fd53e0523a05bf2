//! Completes a store after a direct load: builds the edges and the indexes that were left out.
//!
//! A store whose load was interrupted is completed when it is opened next. Everything is derived
//! from the documents that are there.

use rusqlite::{Connection, OptionalExtension, Statement, params};

use super::edges::Edges;
use crate::error::StoreError;
use crate::row::References;
use crate::sqlite::lock::folder_of;

/// Name of the row of `place` that says what a direct load has left out.
const LEFT_OUT: &str = "left_out";

/// The indexes whose entries are in no order that documents are created in.
const LEFT_OUT_INDEXES: [&str; 1] = ["doc_key"];

/// Drops the indexes that are built last, and notes how they are made.
pub(super) fn leave_out(connection: &Connection) -> Result<(), StoreError> {
    let mut made = vec![];
    for index in LEFT_OUT_INDEXES {
        let text = "SELECT sql FROM sqlite_schema WHERE type = 'index' AND name = ?1";
        let sql: Option<String> =
            connection.query_row(text, [index], |row| row.get(0)).optional()?.flatten();
        if let Some(sql) = sql {
            connection.execute_batch(&format!("DROP INDEX {index}"))?;
            made.push(sql);
        }
    }
    connection.execute(
        "INSERT INTO place (name, value) VALUES (?1, ?2)
         ON CONFLICT (name) DO UPDATE SET value = excluded.value",
        params![LEFT_OUT, made.join(";\n")],
    )?;
    Ok(())
}

/// Returns how the indexes are made that an interrupted load has left out; [`None`] if the store is
/// complete.
fn left_out(connection: &Connection) -> Result<Option<String>, StoreError> {
    let text = "SELECT value FROM place WHERE name = ?1";
    Ok(connection.query_row(text, [LEFT_OUT], |row| row.get(0)).optional()?)
}

/// Refuses a store that has to be completed first.
pub(crate) fn refuse_incomplete(connection: &Connection) -> Result<(), StoreError> {
    let has_place = "SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name = 'place'";
    if connection.query_row(has_place, [], |row| row.get::<_, i64>(0))? == 0
        || left_out(connection)?.is_none()
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
    let Some(indexes) = left_out(connection)? else { return Ok(()) };
    tracing::warn!("a direct load was interrupted: the store is completed with what was loaded");
    complete(connection, &indexes, None)
}

/// Completes the store; `edges` are those of all documents, if they are known.
pub(super) fn complete_with(
    connection: &Connection,
    edges: Option<Edges>,
) -> Result<(), StoreError> {
    match left_out(connection)? {
        Some(indexes) => complete(connection, &indexes, edges),
        None => Ok(()),
    }
}

fn complete(
    connection: &Connection,
    indexes: &str,
    edges: Option<Edges>,
) -> Result<(), StoreError> {
    let edges = match edges {
        Some(edges) => edges,
        None => derive(connection)?,
    };
    connection.execute_batch("BEGIN IMMEDIATE")?;
    let done = write(connection, indexes, edges).and_then(|()| {
        connection.execute("DELETE FROM place WHERE name = ?1", [LEFT_OUT])?;
        connection.execute_batch("COMMIT")?;
        Ok(())
    });
    if done.is_err() && !connection.is_autocommit() {
        _ = connection.execute_batch("ROLLBACK");
    }
    done
}

fn write(connection: &Connection, indexes: &str, edges: Edges) -> Result<(), StoreError> {
    connection.execute("DELETE FROM ref", [])?;
    let mut insert =
        connection.prepare("INSERT INTO ref (target, kind, source) VALUES (?1, ?2, ?3)")?;
    edges.each_sorted(|edge| add(&mut insert, edge))?;
    drop(insert);
    connection.execute_batch(indexes)?;
    Ok(())
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
