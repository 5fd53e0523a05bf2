//! Why an export fails.

use std::path::{Path, PathBuf};

use homeroom_store::{OutputError, StoreError};

/// Why an export fails. No manifest is written in any of these cases.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// The model has no such resource.
    #[error("there is no resource {0}")]
    UnknownResource(String),
    /// The folder is not empty, and replacing its content was not requested.
    #[error("{0} is not empty; choose a new folder, or pass --force to replace an earlier export")]
    NotEmpty(PathBuf),
    /// The folder is not empty, and it holds no earlier export that could be replaced.
    #[error("{0} contains no earlier export to replace; choose a new folder")]
    Foreign(PathBuf),
    /// A file would overwrite something that is not an export's.
    #[error(transparent)]
    Refused(#[from] OutputError),
    /// The store has never reached the requested change version, or is a copy that has passed over
    /// it.
    #[error(
        "the store is at change version {newest} and has never been at {since}: it was restored, \
         or it is a different store; take a full export"
    )]
    BeforeSince {
        /// The requested change version.
        since: i64,
        /// The store's newest change version.
        newest: i64,
    },
    /// A file cannot be written.
    #[error("cannot write {path}: {source}")]
    File {
        /// The file.
        path: PathBuf,
        /// The I/O error.
        source: std::io::Error,
    },
    /// The disk is full.
    #[error("the disk is full at {0}; the export is incomplete and has no manifest")]
    DiskFull(PathBuf),
    /// The reader of the stream has closed it.
    #[error("the reader has closed the stream")]
    Closed,
    /// The snapshot cannot be read.
    #[error("reading the store")]
    Store(#[from] StoreError),
    /// A document does not fit its table.
    #[error("document {id} of {resource} {problem}; JSON lines take it as it is")]
    Document {
        /// The resource.
        resource: String,
        /// The document's public id.
        id: String,
        /// What is wrong, without the document's values.
        problem: String,
    },
    /// The export was told to stop.
    #[error("interrupted; the export is incomplete and has no manifest")]
    Interrupted,
}

impl ExportError {
    /// Wraps an I/O error of a file.
    pub(crate) fn of_file(path: &Path, source: std::io::Error) -> Self {
        match source.kind() {
            std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded => {
                Self::DiskFull(path.to_owned())
            }
            std::io::ErrorKind::BrokenPipe => Self::Closed,
            _ => Self::File { path: path.to_owned(), source },
        }
    }
}
