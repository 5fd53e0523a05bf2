//! Reads a blob as a stream.

use std::fs::File;
use std::io::SeekFrom;
use std::ops::Range;

use bytes::{Bytes, BytesMut};
use tokio::io::{AsyncReadExt as _, AsyncSeekExt as _};

use crate::blob::BlobId;
use crate::error::BlobError;

/// A range of a blob's bytes, which are read as they are asked for.
#[derive(Debug)]
pub struct Reading {
    id: BlobId,
    file: tokio::fs::File,
    left: u64,
    chunk_bytes: usize,
}

impl Reading {
    pub(crate) async fn new(
        id: BlobId,
        file: File,
        range: Range<u64>,
        chunk_bytes: usize,
    ) -> Result<Self, BlobError> {
        let mut file = tokio::fs::File::from_std(file);
        file.set_max_buf_size(chunk_bytes);
        if range.start > 0 {
            let sought = file.seek(SeekFrom::Start(range.start)).await;
            sought.map_err(|error| damaged(id, &error))?;
        }
        Ok(Self { id, file, left: range.end.saturating_sub(range.start), chunk_bytes })
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
        let most = usize::try_from(self.left).unwrap_or(usize::MAX).min(self.chunk_bytes);
        let mut bytes = BytesMut::with_capacity(most);
        let mut limited = (&mut self.file).take(most as u64);
        let read = limited.read_buf(&mut bytes).await.map_err(|error| damaged(self.id, &error))?;
        if read == 0 {
            let why = format!("its last {} bytes are missing", self.left);
            return Err(BlobError::Damaged { id: self.id, why });
        }
        self.left -= read as u64;
        Ok(Some(bytes.freeze()))
    }
}

fn damaged(id: BlobId, error: &std::io::Error) -> BlobError {
    BlobError::Damaged { id, why: format!("its file cannot be read: {error}") }
}
