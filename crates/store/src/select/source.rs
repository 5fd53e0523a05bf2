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

    /// Whether rows that are no longer wanted cost nothing. A file's are never read; a server sends them all the
    /// same, ahead of the next answer.
    const ENDS_EARLY: bool;

    /// Returns documents, from rows of [`crate::row::COLUMNS`], up to the first that does not fit into the page that
    /// `bytes` sums up.
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
    sum: usize,
    documents: u32,
    may_exceed: bool,
}

impl Bytes {
    /// Begins a sum that may exceed a page; reading ends where it does.
    pub(crate) fn that_may_exceed() -> Self {
        Self { may_exceed: true, ..Self::default() }
    }

    /// Adds a document, and returns whether the page still has room for it. If not, that is an error, unless the sum
    /// may exceed a page.
    pub(crate) fn add(&mut self, row: &Row) -> Result<bool, StoreError> {
        self.sum += row.body.len() + row.references.len();
        if !self.exceed() {
            self.documents += 1;
            Ok(true)
        } else if self.may_exceed {
            Ok(false)
        } else {
            Err(StoreError::TooLarge { bytes_max: PAGE_BYTES_MAX, fits: self.documents })
        }
    }

    /// Returns whether the documents are larger than a page.
    pub(crate) fn exceed(&self) -> bool {
        self.sum > PAGE_BYTES_MAX
    }
}
