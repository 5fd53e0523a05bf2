//! The rows of lists, independent of the database that supplies them.

use super::statement::Statement;
use crate::dialect::Dialect;
use crate::error::StoreError;
use crate::list::PAGE_BYTES_MAX;
use crate::row::Row;

/// A source of rows: one state of the store, for as long as a list reads it.
pub(crate) trait Source {
    /// The error of a failed read.
    type Error: From<StoreError>;

    /// The SQL dialect of the statements.
    const DIALECT: Dialect;

    /// Returns documents, from rows of [`crate::row::COLUMNS`]; as many as `bytes` admits.
    async fn documents(&self, sql: &Statement, bytes: &mut Bytes) -> Result<Vec<Row>, Self::Error>;

    /// Returns document numbers with the marks at the start of their packed references.
    async fn heads(&self, sql: &Statement) -> Result<Vec<Head>, Self::Error>;

    /// Returns rows of whole numbers.
    async fn numbers(&self, sql: &Statement) -> Result<Vec<Vec<i64>>, Self::Error>;
}

/// A document's number and its first marks.
pub(crate) type Head = (i64, Vec<Option<i64>>);

/// The bytes of a page so far, and the number of its documents.
#[derive(Debug, Default)]
pub(crate) struct Bytes(usize, u32);

impl Bytes {
    /// Adds a document if it fits.
    pub(crate) fn add(&mut self, row: &Row) -> Result<(), StoreError> {
        self.0 += row.body.len() + row.references.len();
        if self.0 > PAGE_BYTES_MAX {
            return Err(StoreError::TooLarge { bytes_max: PAGE_BYTES_MAX, fits: self.1 });
        }
        self.1 += 1;
        Ok(())
    }
}
