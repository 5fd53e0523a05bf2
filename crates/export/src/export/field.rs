//! The columns of output files, and why a row does not fit them.

use crate::error::ExportError;
use crate::table::ColumnType;

/// A column of an output file.
#[derive(Debug, Clone)]
pub(super) struct Field {
    pub(super) name: String,
    pub(super) kind: ColumnType,
}

/// Why a row was refused.
#[derive(Debug)]
pub(super) enum RowError {
    /// The file cannot be written.
    File(ExportError),
    /// A value does not fit the column with this index.
    Misfit(usize),
}

impl From<ExportError> for RowError {
    fn from(error: ExportError) -> Self {
        Self::File(error)
    }
}
