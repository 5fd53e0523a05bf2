//! What to export, and how far an export has come.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::csv::Formulas;

/// Form of an export's files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Format {
    /// One document per line, as the API serves it.
    Jsonl,
    /// One CSV file per table.
    Csv,
    /// One Parquet file per table, with typed columns.
    Parquet,
}

impl Format {
    /// Returns its name, which is also the extension of its files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Jsonl => "jsonl",
            Self::Csv => "csv",
            Self::Parquet => "parquet",
        }
    }

    pub(super) fn ending(self, compress: bool) -> String {
        // Parquet compresses its own pages.
        let gz = if compress && self != Self::Parquet { ".gz" } else { "" };
        format!("{}{gz}", self.name())
    }
}

/// What to export, and where to.
#[derive(Debug, Clone)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "switches that have nothing to do with each other"
)]
pub struct ExportOptions {
    /// Form of the files.
    pub format: Format,
    /// The output folder; [`None`] for the standard output, which takes JSON lines only.
    pub folder: Option<PathBuf>,
    /// Limits the export to changes after this change version.
    pub since: Option<i64>,
    /// Limits the export to these resources: `students`, `Student` or `ed-fi/students`; empty for
    /// all.
    pub resources: Vec<String>,
    /// Whether to write deletions, too.
    pub deletes: bool,
    /// Whether to compress text files with gzip.
    pub compress: bool,
    /// Whether to replace an earlier export in the folder.
    pub replace: bool,
    /// Whether tables without rows get a file.
    pub even_empty: bool,
    /// How CSV treats texts that a spreadsheet would take for formulas.
    pub formulas: Formulas,
}

impl ExportOptions {
    /// Exports all documents into a folder, as the command does without options.
    pub fn into_folder(format: Format, folder: PathBuf) -> Self {
        Self {
            format,
            folder: Some(folder),
            since: None,
            resources: vec![],
            deletes: false,
            compress: false,
            replace: false,
            even_empty: false,
            formulas: Formulas::default(),
        }
    }
}

/// How far an export has come.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ExportProgress {
    /// The resource being written, `ed-fi/students`.
    pub resource: String,
    /// Number of documents written.
    pub documents: u64,
    /// Number of documents to be written.
    pub documents_in_all: u64,
    /// Seconds since the export began.
    pub seconds: f64,
}
