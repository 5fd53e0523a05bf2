//! Reads the rows of blobs.

use homeroom_store::{ChangedAt, Lane, Snapshot, Sql, StoreError, Value, Write};

use crate::blob::{Blob, BlobId, hash};
use crate::sql;

/// The lane of blobs. A plan that writes rows which name blobs together with these begins with it, and goes on with
/// the lane of those rows, which comes later.
pub const LANE: Lane = Lane::new("blob");

/// Blobs that are read from a snapshot at a time.
const PAGE: i64 = 500;

/// Returns a write of the row of a blob.
pub(crate) fn write(id: BlobId, text: &'static str, arguments: Vec<Value>) -> Write {
    Write::Rows(LANE.rows(id), Sql::new(text, arguments))
}

/// Reads a row of [`sql::FIND`] or [`sql::PAGE`].
pub(crate) fn blob(row: &[Value]) -> Result<Blob, StoreError> {
    let read = || {
        let [id, bytes, sha256, owner_kind, created] = row else { return None };
        Some(Blob {
            id: BlobId::read(id.as_text()?)?,
            bytes: u64::try_from(bytes.as_integer()?).ok()?,
            sha256: hash(sha256.as_text()?)?,
            owner_kind: owner_kind.as_text()?.to_owned(),
            created: ChangedAt(created.as_integer()?),
        })
    };
    read().ok_or_else(damaged)
}

/// Reads the id of a row.
pub(crate) fn id(row: &[Value]) -> Result<BlobId, StoreError> {
    row.first().and_then(|id| BlobId::read(id.as_text()?)).ok_or_else(damaged)
}

/// Returns the next blobs of a snapshot after one, in order of their ids.
pub(crate) fn page(snapshot: &Snapshot, after: Option<BlobId>) -> Result<Vec<Blob>, StoreError> {
    let after = after.map_or_else(String::new, |id| id.to_string());
    let rows = snapshot.rows(Sql::new(sql::PAGE, vec![after.into(), PAGE.into()]))?;
    rows.iter().map(|row| blob(row)).collect()
}

/// Returns whether a state of the store names a blob.
pub(crate) fn has(snapshot: &Snapshot, id: BlobId) -> Result<bool, StoreError> {
    let rows = snapshot.rows(Sql::new(sql::FIND, vec![id.to_string().into()]))?;
    Ok(!rows.is_empty())
}

fn damaged() -> StoreError {
    StoreError::Failed("a row of blob is damaged".into())
}
