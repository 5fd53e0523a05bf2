//! Errors of the store, in its own words.

use std::time::Duration;

use crate::waiting::Busy;

/// Why the store did not do what was asked. No driver's type or text reaches a caller.
#[derive(Debug, Clone, thiserror::Error)]
pub enum StoreError {
    /// Too much is waiting; nothing was done.
    #[error("{0}")]
    Busy(Busy),
    /// A read took too long and was interrupted.
    #[error("the read took longer than {0:?}")]
    Deadline(Duration),
    /// The documents of a page have more bytes than a page may have.
    #[error("the page would be larger than {bytes_max} bytes")]
    TooLarge {
        /// Most bytes of a page.
        bytes_max: usize,
        /// How many of its documents fit.
        fits: u32,
    },
    /// The disk is full; nothing was written.
    #[error("the disk is full")]
    DiskFull,
    /// The disk failed; nothing was written.
    #[error("the disk failed: {0}")]
    DiskFailed(String),
    /// The disk failed while a commit was made durable and the write could not be undone, so it may
    /// exist after the next start; or the database was lost during the commit and did not come back
    /// in time to be asked.
    #[error("the disk or the database failed; it is not known whether the write was stored")]
    Unsure,
    /// The database failed; nothing was written.
    #[error("the database failed: {0}")]
    Failed(String),
    /// The database cannot be reached, or cannot write, at the moment; nothing was done.
    #[error("the database cannot be used at the moment: {0}")]
    Away(String),
    /// The store is being shut down.
    #[error("the store is closed")]
    Closed,
    /// Another process has the store open.
    #[error("another process has {0} open; stop it, or choose another folder")]
    InUse(String),
    /// A file of the store was moved, replaced or deleted; nothing was written.
    #[error(
        "{0} is no longer the file that was opened: it was moved, replaced or deleted; nothing is \
         written until it is back or the server is restarted"
    )]
    Displaced(String),
    /// The store was created by a newer Homeroom.
    #[error(
        "the store has schema version {found}, but this Homeroom knows only {known}; upgrade \
             Homeroom"
    )]
    FromTheFuture {
        /// Schema version of the store.
        found: i64,
        /// Newest schema version that this Homeroom supports.
        known: i64,
    },
    /// The store's location cannot be used.
    #[error("{0}")]
    Unusable(String),
}

impl From<std::io::Error> for StoreError {
    fn from(error: std::io::Error) -> Self {
        if error.kind() == std::io::ErrorKind::StorageFull {
            Self::DiskFull
        } else {
            Self::DiskFailed(error.to_string())
        }
    }
}
