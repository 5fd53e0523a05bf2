//! Documents that are read whole while they are examined, so that a page need not look for them again.

use super::chunk::rows;
use crate::row::{References, Row};
use crate::select::Statement;
use crate::select::source::{Bytes, Head, Source};

/// The documents that were read, by number.
#[derive(Default)]
pub(super) struct Whole(Vec<Row>);

impl Whole {
    /// Reads documents whose numbers follow all those before. Returns their first marks, or [`None`] where the
    /// documents are too large for a page, so that their marks have to be read alone.
    pub(super) async fn read<S: Source>(
        &mut self,
        source: &S,
        statement: &Statement,
        marks: usize,
    ) -> Result<Option<Vec<Head>>, S::Error> {
        let mut bytes = Bytes::that_may_be_full();
        let mut rows = source.documents(statement, &mut bytes).await?;
        if bytes.is_full() {
            return Ok(None);
        }
        rows.sort_unstable_by_key(|row| row.id);
        let head =
            |row: &Row| (row.id.0, References::marks(&row.references).take(marks).collect());
        let heads = rows.iter().map(head).collect();
        self.0.extend(rows);
        Ok(Some(heads))
    }

    /// Returns documents by their numbers, which are in order. Those that were not read yet are read now.
    pub(super) async fn documents<S: Source>(
        self,
        source: &S,
        ids: &[i64],
    ) -> Result<Vec<Row>, S::Error> {
        let mut found = self.0;
        found.retain(|row| ids.binary_search(&row.id.0).is_ok());
        let mut bytes = Bytes::default();
        for row in &found {
            bytes.add(row)?;
        }
        let is_found = |id: &i64| found.binary_search_by_key(id, |row| row.id.0).is_ok();
        let missing: Vec<i64> = ids.iter().copied().filter(|id| !is_found(id)).collect();
        if !missing.is_empty() {
            found.extend(rows(source, &missing, &mut bytes).await?);
            found.sort_unstable_by_key(|row| row.id);
        }
        Ok(found)
    }
}
