//! Writes a blob as a stream.

use std::fs::File;

use homeroom_store::{ChangedAt, Write};
use sha2::{Digest as _, Sha256};
use tokio::io::AsyncWriteExt as _;

use crate::blob::{Blob, BlobId};
use crate::error::BlobError;
use crate::limits::Limits;
use crate::place::BlobPlace;
use crate::{rows, sql};

/// A blob that is being written. When it is dropped before it is finished, nothing is kept of it.
#[derive(Debug)]
pub struct Writing {
    place: BlobPlace,
    id: BlobId,
    file: tokio::fs::File,
    hash: Sha256,
    bytes: u64,
    owner_kind: String,
    limits: Limits,
    is_finished: bool,
}

impl Writing {
    pub(crate) fn new(
        place: BlobPlace,
        id: BlobId,
        file: File,
        owner_kind: &str,
        limits: Limits,
    ) -> Self {
        let (file, hash) = (tokio::fs::File::from_std(file), Sha256::new());
        let owner_kind = owner_kind.to_owned();
        Self { place, id, file, hash, bytes: 0, owner_kind, limits, is_finished: false }
    }

    /// Allows fewer bytes than the limits do.
    #[must_use]
    pub fn at_most(mut self, bytes_max: u64) -> Self {
        self.limits.bytes_max = self.limits.bytes_max.min(bytes_max);
        self
    }

    /// Returns the id that the blob will have.
    pub fn id(&self) -> BlobId {
        self.id
    }

    /// Returns the number of bytes so far.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Adds bytes.
    ///
    /// # Errors
    ///
    /// [`BlobError::TooLarge`], [`BlobError::DiskFull`], or why they cannot be written. After an
    /// error, drop the value.
    pub async fn write(&mut self, bytes: &[u8]) -> Result<(), BlobError> {
        let bytes_max = self.limits.bytes_max;
        let all = self.bytes.saturating_add(bytes.len() as u64);
        if all > bytes_max {
            return Err(BlobError::TooLarge { bytes_max });
        }
        let path = self.place.unfinished(self.id);
        self.file.write_all(bytes).await.map_err(BlobError::at("write", &path))?;
        self.hash.update(bytes);
        self.bytes = all;
        Ok(())
    }

    /// Syncs the bytes to disk, or uploads them to the bucket, and names them. They are kept once [`Written::row`] is committed.
    ///
    /// # Errors
    ///
    /// [`BlobError::DiskFull`], or why they cannot be synced, uploaded or named.
    pub async fn finish(mut self, now: ChangedAt) -> Result<Written, BlobError> {
        let id = self.id;
        let path = self.place.unfinished(id);
        self.file.flush().await.map_err(BlobError::at("write", &path))?;
        let file = self.file.try_clone().await.map_err(BlobError::at("sync", &path))?;
        let file = file.into_std().await;
        self.place.finish(id, file, self.bytes).await?;
        self.is_finished = true;
        let blob = Blob {
            id,
            bytes: self.bytes,
            sha256: std::mem::take(&mut self.hash).finalize().into(),
            owner_kind: std::mem::take(&mut self.owner_kind),
            created: now,
        };
        Ok(Written { blob, late: ChangedAt(now.0.saturating_add(self.limits.grace_us() / 2)) })
    }
}

impl Drop for Writing {
    fn drop(&mut self) {
        if !self.is_finished {
            self.place.discard(self.id);
        }
    }
}

/// A blob whose bytes are in their place under its name, and that nobody owns yet.
#[derive(Debug, Clone)]
pub struct Written {
    blob: Blob,
    late: ChangedAt,
}

impl Written {
    /// Returns the blob.
    pub fn blob(&self) -> &Blob {
        &self.blob
    }

    /// Returns the write of its row, for the plan that writes what names it. `now` is the moment of
    /// that plan.
    ///
    /// # Errors
    ///
    /// [`BlobError::Late`].
    pub fn row(&self, now: ChangedAt) -> Result<Write, BlobError> {
        let Blob { id, bytes, owner_kind, created, .. } = &self.blob;
        if now > self.late {
            return Err(BlobError::Late(*id));
        }
        let bytes_max = self.blob.bytes;
        let bytes = i64::try_from(*bytes).map_err(|_| BlobError::TooLarge { bytes_max })?;
        let arguments = vec![
            id.to_string().into(),
            bytes.into(),
            self.blob.sha256_hex().into(),
            owner_kind.as_str().into(),
            created.0.into(),
        ];
        Ok(rows::write(*id, sql::ADD, arguments))
    }

    /// Returns the blob.
    pub fn into_blob(self) -> Blob {
        self.blob
    }
}
