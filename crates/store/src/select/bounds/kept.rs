//! Documents that are read together with their marks, so that a page need not look them up again.

use super::chunk::rows;
use crate::row::{References, Row};
use crate::select::Statement;
use crate::select::source::{Bytes, Head, Source};

/// The documents that were read, in order, whether or not they are part of the page.
#[derive(Default)]
pub(super) struct Kept {
    rows: Vec<Row>,
    /// Whether a chunk did not fit; from then on only marks are read.
    is_full: bool,
}

impl Kept {
    /// Returns whether a chunk did not fit.
    pub(super) fn is_full(&self) -> bool {
        self.is_full
    }

    /// Reads the next documents, whose numbers are above all that are kept. Returns their first marks, or [`None`]
    /// where they do not fit into a page with those that are kept; their marks have to be read alone then.
    pub(super) async fn read<S: Source>(
        &mut self,
        source: &S,
        statement: &Statement,
        marks: usize,
    ) -> Result<Option<Vec<Head>>, S::Error> {
        let mut bytes = Bytes::that_may_exceed();
        for row in &self.rows {
            bytes.add(row)?;
        }
        let mut rows = source.documents(statement, &mut bytes).await?;
        if bytes.exceed() {
            self.is_full = true;
            return Ok(None);
        }
        rows.sort_unstable_by_key(|row| row.id);
        let head = |row: &Row| (row.id.0, References::marks(&row.references).take(marks).collect());
        let heads = rows.iter().map(head).collect();
        self.rows.extend(rows);
        Ok(Some(heads))
    }

    /// Returns documents by their numbers, which are in order. Those that were not read yet are read now.
    pub(super) async fn documents<S: Source>(
        self,
        source: &S,
        ids: &[i64],
    ) -> Result<Vec<Row>, S::Error> {
        let mut found = self.rows;
        found.retain(|row| ids.binary_search(&row.id.0).is_ok());
        let is_found = |id: &i64| found.binary_search_by_key(id, |row| row.id.0).is_ok();
        let missing: Vec<i64> = ids.iter().copied().filter(|id| !is_found(id)).collect();
        if let Some(first) = missing.first() {
            let mut bytes = Bytes::default();
            for row in found.iter().take_while(|row| row.id.0 < *first) {
                bytes.add(row)?;
            }
            found.extend(rows(source, &missing, &mut bytes).await?);
            found.sort_unstable_by_key(|row| row.id);
        }
        // In order, so that as many are told to fit as do.
        let mut bytes = Bytes::default();
        for row in &found {
            bytes.add(row)?;
        }
        Ok(found)
    }
}
