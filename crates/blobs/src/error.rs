//! Errors of blobs.

use std::fmt;
use std::io;
use std::path::Path;

use homeroom_store::{Refused, StoreError};

use crate::blob::BlobId;

/// Why a blob was not written, read or removed.
#[derive(Debug, Clone, thiserror::Error)]
pub enum BlobError {
    /// The bytes are more than are allowed; nothing is kept of them.
    #[error("the bytes are more than {bytes_max}")]
    TooLarge {
        /// The most bytes.
        bytes_max: u64,
    },
    /// The disk is full; nothing is kept of the bytes.
    #[error("the disk of {0} is full; make room there, or move the blobs to a larger disk")]
    DiskFull(String),
    /// The file system refused.
    #[error("cannot {doing} {path}: {why}")]
    Failed {
        /// What was being done.
        doing: &'static str,
        /// The path.
        path: String,
        /// The system's reason.
        why: String,
    },
    /// The bucket, or its network, did not do what was asked.
    #[error("cannot {doing} {place}: {why}; {mend}")]
    Bucket {
        /// What was being done.
        doing: &'static str,
        /// The bucket, the prefix and the endpoint.
        place: String,
        /// The reason.
        why: String,
        /// What to do about it.
        mend: &'static str,
        /// Whether it may be over without anybody's doing.
        is_passing: bool,
    },
    /// The folder or bucket has the blobs of another store.
    #[error(
        "{0} has the blobs of another store; give each store a folder (blobs.dir) or a prefix of a \
         bucket (blobs.url) of its own"
    )]
    Foreign(String),
    /// A restore would take the folder or bucket from a store that may still be in use.
    #[error(
        "{0} has the blobs of another store, which would sweep those of the restored one; name \
         another place (blobs.dir or blobs.url), or, if that store is no more, add --take-blobs"
    )]
    NotHandedOver(String),
    /// There is no such blob.
    #[error("there is no blob {0}")]
    Unknown(BlobId),
    /// The blob's bytes are not there, or are others than were written.
    #[error("blob {id}: {why}; homeroom doctor lists all such blobs, and a backup has their bytes")]
    Damaged {
        /// The blob.
        id: BlobId,
        /// What is wrong.
        why: String,
    },
    /// Too much time has passed between writing the bytes and committing their row, so that they
    /// may be swept.
    #[error("blob {0} was written too long ago to be kept; write it again")]
    Late(BlobId),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl BlobError {
    /// Returns the error for a blob that has a row and no bytes.
    pub(crate) fn missing(id: BlobId) -> Self {
        Self::Damaged { id, why: "its bytes are missing".into() }
    }

    /// Returns the error for work in a place that has come to no end.
    pub(crate) fn broken(place: &impl fmt::Display, why: &impl fmt::Display) -> Self {
        Self::Failed { doing: "work in", path: place.to_string(), why: why.to_string() }
    }

    /// Returns a function to the error of a path.
    pub(crate) fn at<'p>(doing: &'static str, path: &'p Path) -> impl Fn(io::Error) -> Self + 'p {
        move |error| {
            let path = path.display().to_string();
            match error.kind() {
                io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Self::DiskFull(path),
                _ => Self::Failed { doing, path, why: error.to_string() },
            }
        }
    }
}

impl From<Refused<BlobError>> for BlobError {
    fn from(refused: Refused<BlobError>) -> Self {
        match refused {
            Refused::Decision(error) => error,
            Refused::Store(error) => Self::Store(error),
        }
    }
}
