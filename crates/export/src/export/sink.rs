//! The output file of a table, in either format.

use std::path::Path;

use super::csv::{CsvFile, Formulas};
use super::field::{Field, RowError};
use super::file::Written;
use super::parquet::ParquetFile;
use crate::error::ExportError;
use crate::flatten::Cell;

/// An open file of a table.
pub(super) enum Sink {
    Csv(Box<CsvFile>),
    Parquet(Box<ParquetFile>),
}

impl Sink {
    pub(super) fn row(&mut self, cells: &[Cell<'_>]) -> Result<(), RowError> {
        match self {
            Self::Csv(csv) => Ok(csv.row(cells)?),
            Self::Parquet(parquet) => parquet.row(cells),
        }
    }

    pub(super) fn finish(self) -> Result<Option<Written>, ExportError> {
        match self {
            Self::Csv(csv) => csv.finish(),
            Self::Parquet(parquet) => parquet.finish().map(Some),
        }
    }

    pub(super) fn csv(
        path: &Path,
        fields: &[Field],
        compress: bool,
        formulas: Formulas,
    ) -> Result<Self, ExportError> {
        Ok(Self::Csv(Box::new(CsvFile::create(path, fields, compress, formulas)?)))
    }

    pub(super) fn parquet(path: &Path, fields: &[Field]) -> Result<Self, ExportError> {
        Ok(Self::Parquet(Box::new(ParquetFile::create(path, fields)?)))
    }
}
