//! Statements that more than one writer executes.

use rusqlite::{Connection, params};

use crate::error::StoreError;
use crate::row::Count;

pub(crate) const ADD_DOCUMENT: &str =
    "INSERT INTO doc (id, uuid, kind, key, cv, modified, refs, body)
     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)";
pub(crate) const REPLACE: &str =
    "UPDATE doc SET cv = ?2, modified = ?3, refs = ?4, body = ?5 WHERE id = ?1";
pub(crate) const ADD_ALIAS: &str = "INSERT INTO alias (id, key) VALUES (?1, ?2)";
pub(crate) const ADD_TIE: &str =
    "INSERT INTO tie (label, item, holder, via) VALUES (?1, ?2, ?3, ?4)";
pub(crate) const REMOVE_TIE: &str =
    "DELETE FROM tie WHERE label = ?1 AND item = ?2 AND holder = ?3 AND via = ?4";

/// Writes changes of the kept counts.
pub(crate) fn write_counts(
    connection: &Connection,
    changes: impl Iterator<Item = (Count, i64)>,
) -> Result<(), StoreError> {
    let mut upsert = connection.prepare_cached(
        "INSERT INTO tally (kind, block, n) VALUES (?1, ?2, ?3)
         ON CONFLICT (kind, block) DO UPDATE SET n = n + excluded.n",
    )?;
    let mut gone = connection.prepare_cached(
        "INSERT INTO gone (part, kind, n) VALUES (?1, ?2, ?3)
         ON CONFLICT (part, kind) DO UPDATE SET n = n + excluded.n",
    )?;
    for (count, n) in changes.filter(|(_, n)| *n != 0) {
        match count {
            Count::Documents(kind, block) => upsert.execute(params![kind, block, n])?,
            Count::Tombstones(kind) => gone.execute(params![0, kind, n])?,
            Count::PastTies(label) => gone.execute(params![1, label, n])?,
        };
    }
    Ok(())
}
