//! Reads of what stands beside documents: deletions, holders of ties, texts of a kind.

use crate::error::StoreError;
use crate::id::{DocumentId, KindId, Uuid};
use crate::row::References;
use crate::sql::{Sql, Value};
use crate::sqlite::number_of_key;
use crate::store::Store;
use crate::store::handle::Engine;

/// The statements that select deletions of a kind; `$has_key`, texts, tests whether the document `d` has
/// the identity of the deleted one.
macro_rules! deletions {
    ($($has_key:tt)+) => {
        [
            // With the document that has the identity now.
            concat!(
                "SELECT t.uuid, t.cv, t.key_values, t.marks, d.uuid FROM tomb t LEFT JOIN doc d ON ",
                $($has_key)+,
                " WHERE t.kind = ?1 AND t.cv > ?2 AND t.cv <= ?3 ORDER BY t.cv LIMIT ?4"
            ),
            // Only those whose identity no document has.
            concat!(
                "SELECT t.uuid, t.cv, t.key_values, t.marks, CAST(NULL AS bigint) FROM tomb t \
                 WHERE t.kind = ?1 AND t.cv > ?2 AND t.cv <= ?3 \
                 AND NOT EXISTS (SELECT 1 FROM doc d WHERE ",
                $($has_key)+,
                ") ORDER BY t.cv LIMIT ?4"
            ),
        ]
    };
}
const IN_FILE: [&str; 2] = deletions!("d.id = ", number_of_key!("t.key"));
const IN_DATABASE: [&str; 2] = deletions!("d.key = t.key");
const HOLDERS: &str =
    "SELECT holder, via FROM tie WHERE label = ?1 AND item = ?2 ORDER BY via, holder LIMIT ?3";
const PAST_HOLDERS: &str =
    "SELECT holder, via FROM past_tie WHERE label = ?1 AND item = ?2 ORDER BY via, holder LIMIT ?3";
const BY_NUMBER: &str = "SELECT kind, uuid FROM doc WHERE id = ?1";
const TEXTS: &str = "SELECT id, body FROM doc WHERE kind = ?1 AND id > ?2 ORDER BY id LIMIT ?3";

/// A deleted document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Deletion {
    /// Its public id.
    pub uuid: Uuid,
    /// The change version of its deletion.
    pub change_version: i64,
    /// Its identifying values, as a JSON object.
    pub key_values: String,
    /// Its marks.
    pub marks: Vec<Option<i64>>,
    /// The public id of the document that has the same identity now.
    pub again: Option<Uuid>,
}

/// The deletions that a page of them is chosen from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Deletions {
    /// The kind of the deleted documents.
    pub kind: KindId,
    /// Only deletions after this change version.
    pub after: i64,
    /// Only deletions up to this change version.
    pub upto: i64,
    /// Whether to leave out deletions whose identity a document has again.
    pub for_good: bool,
}

impl Store {
    /// Returns at most `limit` deletions, in order of their change versions.
    ///
    /// # Errors
    ///
    /// The same as [`Store::list`].
    pub async fn deletions(&self, of: Deletions, limit: u16) -> Result<Vec<Deletion>, StoreError> {
        let texts = match &*self.engine {
            Engine::Sqlite(_) => IN_FILE,
            Engine::Postgres(_) => IN_DATABASE,
        };
        let text = texts[usize::from(of.for_good)];
        let kind = i64::from(of.kind.0).into();
        let arguments = vec![kind, of.after.into(), of.upto.into(), i64::from(limit).into()];
        let rows = self.query(Sql::new(text, arguments)).await?;
        rows.iter().map(|row| deletion(row).ok_or_else(|| damaged("tombstone"))).collect()
    }

    /// Returns at most `limit` holders of an item under a label, each with the number of the
    /// document that says so; with `past`, also at most `limit` of those that deleted documents
    /// said.
    ///
    /// # Errors
    ///
    /// The same as [`Store::list`].
    pub async fn holders(
        &self,
        label: KindId,
        item: i64,
        past: bool,
        limit: u16,
    ) -> Result<Vec<(i64, DocumentId)>, StoreError> {
        let mut found = vec![];
        for text in if past { &[HOLDERS, PAST_HOLDERS][..] } else { &[HOLDERS] } {
            let arguments = vec![i64::from(label.0).into(), item.into(), i64::from(limit).into()];
            for row in self.query(Sql::new(text, arguments)).await? {
                let [Value::Integer(holder), Value::Integer(via)] = row[..] else {
                    return Err(damaged("tie"));
                };
                found.push((holder, DocumentId(via)));
            }
        }
        Ok(found)
    }

    /// Returns the kind and the public id of the document that has a number.
    ///
    /// # Errors
    ///
    /// The same as [`Store::list`].
    pub async fn identified(
        &self,
        number: DocumentId,
    ) -> Result<Option<(KindId, Uuid)>, StoreError> {
        let rows = self.query(Sql::new(BY_NUMBER, vec![number.0.into()])).await?;
        let Some(row) = rows.first() else { return Ok(None) };
        let found = match &row[..] {
            [Value::Integer(kind), Value::Blob(id)] => {
                u16::try_from(*kind).ok().map(KindId).zip(uuid(id))
            }
            _ => None,
        };
        found.map(Some).ok_or_else(|| damaged("document"))
    }

    /// Returns the numbers and texts of at most `limit` documents of a kind after a number, in
    /// order of creation. For threads that may block.
    ///
    /// # Errors
    ///
    /// The same as [`Store::list`].
    pub fn texts_blocking(
        &self,
        kind: KindId,
        after: DocumentId,
        limit: u16,
    ) -> Result<Vec<(DocumentId, String)>, StoreError> {
        let arguments = vec![i64::from(kind.0).into(), after.0.into(), i64::from(limit).into()];
        let rows = self.query_blocking(Sql::new(TEXTS, arguments))?;
        let text = |row: Vec<Value>| match <[Value; 2]>::try_from(row) {
            Ok([Value::Integer(id), Value::Text(body)]) => Ok((DocumentId(id), body)),
            _ => Err(damaged("document")),
        };
        rows.into_iter().map(text).collect()
    }
}

fn deletion(row: &[Value]) -> Option<Deletion> {
    let [Value::Blob(id), Value::Integer(version), Value::Text(keys), Value::Blob(marks), again] =
        row
    else {
        return None;
    };
    let again = match again {
        Value::Blob(id) => Some(uuid(id)?),
        _ => None,
    };
    Some(Deletion {
        uuid: uuid(id)?,
        again,
        change_version: *version,
        key_values: keys.clone(),
        marks: References::marks(marks).collect(),
    })
}

fn uuid(bytes: &[u8]) -> Option<Uuid> {
    <[u8; 16]>::try_from(bytes).ok().map(Uuid)
}

fn damaged(what: &str) -> StoreError {
    StoreError::Failed(format!("a stored {what} has another shape"))
}
