//! Why a load could not be done. A record that cannot be loaded is no error but a reject.

use std::path::PathBuf;

use homeroom_store::{OutputError, StoreError};

/// Why a load could not be done.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// A path that leads nowhere, or to something that cannot be read.
    #[error("{}: {problem}", path.display())]
    Path {
        /// The path.
        path: PathBuf,
        /// What is wrong with it.
        problem: String,
    },
    /// No file among the paths that can be loaded.
    #[error(
        "no file to load: folders are searched for .xml, .jsonl, .ndjson and .json files, and none \
         is there"
    )]
    Nothing,
    /// A name that no resource has.
    #[error(
        "there is no resource {0}; name endpoints such as students, or resources such as Student"
    )]
    UnknownResource(String),
    /// What the load writes beside the store could not be written.
    #[error("{}: cannot be written: {source}", path.display())]
    Output {
        /// Where it was written to.
        path: PathBuf,
        /// Why not.
        source: std::io::Error,
    },
    /// What the load would write is one of the files that it is to read.
    #[error(
        "{}: is one of the files to load; the results need a file of their own", .0.display()
    )]
    OutputIsSource(PathBuf),
    /// What the load writes beside the store would go over something else.
    #[error(transparent)]
    Refused(OutputError),
    /// The folder for rejects holds what is neither an earlier load's nor read by this one.
    #[error(
        "{}: holds {}, which is no reject of an earlier load; name a folder that is new or empty",
        folder.display(), found.display()
    )]
    Foreign {
        /// The folder.
        folder: PathBuf,
        /// What is in it.
        found: PathBuf,
    },
    /// Another load writes its rejects there.
    #[error("{}: another load writes its rejects there; name another folder", .0.display())]
    RejectsInUse(PathBuf),
    /// Somebody has told it to stop.
    #[error("the load was stopped; what it has loaded stays, and it can be repeated")]
    Stopped,
    /// A limit that a trial run has.
    #[error("a dry run remembers at most {0} documents; load without it, or in parts")]
    TooLargeForDryRun(usize),
    /// The store's own.
    #[error("the store: {0}")]
    Store(#[from] StoreError),
}
