//! What the store cannot do, in its own words.

use std::time::Duration;

/// Why the store did not do what was asked; no driver's type or text gets past it to a caller.
#[derive(Debug, Clone, thiserror::Error)]
pub enum StoreError {
    /// More requests wait than may; nothing was done.
    #[error("the store's queue is full")]
    Busy,
    /// A read took longer than it may and was interrupted.
    #[error("the read took longer than {0:?}")]
    Deadline(Duration),
    /// The documents of a page have more bytes than a page may.
    #[error("the page would be larger than {bytes_max} bytes")]
    TooLarge {
        /// Most bytes of a page.
        bytes_max: usize,
        /// How many of its documents were read until there were more.
        fits: u32,
    },
    /// The disk is full; nothing was written.
    #[error("the disk is full")]
    DiskFull,
    /// The disk failed; nothing was written.
    #[error("the disk failed: {0}")]
    DiskFailed(String),
    /// The disk failed while a commit was made durable, and what was written could not be taken
    /// back: it may be there after the next start. Or the database was lost while it committed, and
    /// did not come back in time to be asked.
    #[error("the disk or the database failed; whether the write is there is not known")]
    Unsure,
    /// The database failed; nothing was written.
    #[error("the database failed: {0}")]
    Failed(String),
    /// The database cannot be reached, or not write, at the moment; nothing was done.
    #[error("the database cannot be used at the moment: {0}")]
    Away(String),
    /// The store is being shut down.
    #[error("the store is closed")]
    Closed,
    /// Another process has the store open.
    #[error("another process has {0} open; stop it, or choose another folder")]
    InUse(String),
    /// Another file, or none, stands under the name of one of the store's files; nothing was written.
    #[error(
        "{0} is not the file any more that was opened: it was moved, replaced or deleted; nothing is \
         written until it is back, or the server is started anew"
    )]
    Displaced(String),
    /// The store was made by a newer Homeroom.
    #[error("the store has schema version {found}, this Homeroom knows {known}; upgrade Homeroom")]
    FromTheFuture {
        /// Version of the file.
        found: i64,
        /// Newest version that is known here.
        known: i64,
    },
    /// The place where the store should be cannot be used.
    #[error("{0}")]
    Unusable(String),
}
