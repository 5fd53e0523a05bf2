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

    /// Returns documents, from rows of [`crate::row::COLUMNS`], as far as `bytes` has room for them.
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
pub(crate) struct Bytes {
    bytes: usize,
    documents: u32,
    /// Whether a document that does not fit is no error.
    may_be_full: bool,
}

impl Bytes {
    /// Returns those of documents of which only as many are wanted as fit.
    pub(crate) fn that_may_be_full() -> Self {
        Self { may_be_full: true, ..Self::default() }
    }

    /// Adds a document. Returns whether it fits; where all documents have to, one that does not is an error.
    pub(crate) fn add(&mut self, row: &Row) -> Result<bool, StoreError> {
        self.bytes += row.body.len() + row.references.len();
        if !self.is_full() {
            self.documents += 1;
            Ok(true)
        } else if self.may_be_full {
            Ok(false)
        } else {
            Err(StoreError::TooLarge { bytes_max: PAGE_BYTES_MAX, fits: self.documents })
        }
    }

    /// Returns whether a document did not fit.
    pub(crate) fn is_full(&self) -> bool {
        self.bytes > PAGE_BYTES_MAX
    }
}
