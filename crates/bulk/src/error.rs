//! Why a load fails. A record that cannot be loaded is a reject, not an error.

use std::path::{Path, PathBuf};

use homeroom_store::{OutputError, StoreError};

/// Why a load fails.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// A path does not exist or cannot be read.
    #[error("{}: {problem}", path.display())]
    Path {
        /// The path.
        path: PathBuf,
        /// What is wrong with the path.
        problem: String,
    },
    /// A path that was given cannot be used, because of itself or of a file that belongs to it.
    #[error("{problem}")]
    Input {
        /// The path as it was given.
        input: PathBuf,
        /// What is wrong, with the path of the file that has the fault.
        problem: String,
    },
    /// The paths contain no file that can be loaded.
    #[error(
        "no file to load: folders are searched for .xml, .jsonl, .ndjson, .json and .csv files, \
         also packed as .gz or .zip, and none was found"
    )]
    Nothing,
    /// No resource has this name.
    #[error(
        "there is no resource {0}; name endpoints such as students, or resources such as Student"
    )]
    UnknownResource(String),
    /// An output file of the load could not be written.
    #[error("{}: cannot be written: {source}", path.display())]
    Output {
        /// The output file.
        path: PathBuf,
        /// The I/O error.
        source: std::io::Error,
    },
    /// An output file is also one of the files to load.
    #[error(
        "{}: is one of the files to load; the results need a file of their own", .0.display()
    )]
    OutputIsSource(PathBuf),
    /// An output file would overwrite something else.
    #[error(transparent)]
    Refused(OutputError),
    /// The folder for rejects is in use: it holds rejects of an earlier load, or something else.
    #[error(
        "{}: contains {}{}; name a folder that is new or empty",
        folder.display(),
        found.display(),
        if *is_earlier {
            ", and rejects of two loads in one folder would be loaded together: load or remove \
             the earlier ones first"
        } else {
            ""
        }
    )]
    RejectsNotEmpty {
        /// The folder.
        folder: PathBuf,
        /// A file or folder in it.
        found: PathBuf,
        /// Whether the folder was made by an earlier load.
        is_earlier: bool,
    },
    /// Another load is writing its rejects to this folder.
    #[error("{}: another load writes its rejects there; name another folder", .0.display())]
    RejectsInUse(PathBuf),
    /// An interrupted load cannot be continued.
    #[error(
        "{}: the load cannot be continued: {problem}. Load without --resume; documents that are \
         already stored are left alone", path.display()
    )]
    CannotResume {
        /// The file of checkpoints.
        path: PathBuf,
        /// What is wrong.
        problem: String,
    },
    /// The load was told to stop.
    #[error("the load was stopped; the documents loaded so far stay, and the load can be repeated")]
    Stopped,
    /// The store, or what is to be loaded, does not suit a direct load.
    #[error("{0}")]
    NotDirect(String),
    /// A thread that reads files could not be started.
    #[error("a thread that reads the files could not be started: {0}")]
    Thread(String),
    /// A dry run would have to remember more identities than this limit.
    #[error("a dry run remembers at most {0} documents; load without it, or in parts")]
    TooLargeForDryRun(usize),
    /// The client of the load may not call any more.
    #[error("the client that loads may not do so any more: {0}")]
    NotAuthorized(String),
    /// The store failed.
    #[error("the store: {0}")]
    Store(#[from] StoreError),
}

impl LoadError {
    /// Adds the path as it was given to an error about a path.
    pub(crate) fn about(self, input: &Path) -> Self {
        match self {
            Self::Path { .. } => Self::Input { input: input.to_owned(), problem: self.to_string() },
            other => other,
        }
    }
}

impl From<OutputError> for LoadError {
    fn from(error: OutputError) -> Self {
        match error {
            OutputError::File { path, source } => Self::Output { path, source },
            refused => Self::Refused(refused),
        }
    }
}
