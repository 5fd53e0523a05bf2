//! What an export cannot do, in its own words.

use std::path::{Path, PathBuf};

use homeroom_store::{OutputError, StoreError};

/// Why an export is not there. Whatever it is, no manifest was written.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// A resource is asked for that the model has not.
    #[error("there is no resource {0}")]
    UnknownResource(String),
    /// The folder has something in it, and nobody said that it may be replaced.
    #[error("{0} is not empty; choose a new folder, or say --force to replace an earlier export")]
    NotEmpty(PathBuf),
    /// The folder has something in it, and no earlier export that could be replaced.
    #[error("{0} holds no earlier export that could be replaced; choose a new folder")]
    Foreign(PathBuf),
    /// A file would go over something else.
    #[error(transparent)]
    Refused(#[from] OutputError),
    /// The store is older than what is asked for, or a copy that has passed over it.
    #[error(
        "the store is at change version {newest} and has never been at {since}: it was restored, or \
         it is another one; take a whole export"
    )]
    BeforeSince {
        /// What was asked for.
        since: i64,
        /// The store's newest.
        newest: i64,
    },
    /// A file cannot be written.
    #[error("cannot write {path}: {source}")]
    File {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// There is no room for a file.
    #[error("the disk is full at {0}; the export is not whole and has no manifest")]
    DiskFull(PathBuf),
    /// Who reads the stream has enough.
    #[error("nobody reads the stream any more")]
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
        /// What is wrong, without its values.
        problem: String,
    },
    /// It was told to stop.
    #[error("interrupted; the export is not whole and has no manifest")]
    Interrupted,
}

impl ExportError {
    /// Wraps what happened to a file.
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
