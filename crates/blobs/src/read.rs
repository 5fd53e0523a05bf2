//! Reads a blob as a stream.

use std::fmt;

use bytes::Bytes;

use crate::blob::BlobId;
use crate::error::BlobError;
use crate::limits::CHUNK_BYTES;
use crate::place::Source;

/// A range of a blob's bytes, which are read as they are asked for.
pub struct Reading {
    id: BlobId,
    source: Source,
    left: u64,
}

impl Reading {
    pub(crate) fn new(id: BlobId, source: Source, length: u64) -> Self {
        Self { id, source, left: length }
    }

    /// Returns the number of bytes that are still to come.
    pub fn left(&self) -> u64 {
        self.left
    }

    /// Returns the next bytes; [`None`] at the end of the range.
    ///
    /// # Errors
    ///
    /// [`BlobError::Damaged`] where there are fewer bytes than were written, or they cannot be read.
    pub async fn next(&mut self) -> Result<Option<Bytes>, BlobError> {
        if self.left == 0 {
            return Ok(None);
        }
        let most = usize::try_from(self.left).unwrap_or(usize::MAX).min(CHUNK_BYTES);
        let Some(bytes) = self.source.next(self.id, most).await? else {
            let why = format!("its last {} bytes are missing", self.left);
            return Err(BlobError::Damaged { id: self.id, why });
        };
        self.left = self.left.saturating_sub(bytes.len() as u64);
        Ok(Some(bytes))
    }
}

impl fmt::Debug for Reading {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Reading({}, {} bytes left)", self.id, self.left)
    }
}
