//! Puts the files of an operation together from their chunks, in a folder of their own.

use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use homeroom_blobs::BlobError;
use tokio::io::AsyncWriteExt as _;

use crate::format::path_of;
use crate::operation::{Operation, UploadFile};
use crate::service::BulkService;

/// Why files cannot be put together.
#[derive(Debug)]
pub(crate) enum SpoolError {
    /// The folder or a file cannot be written.
    File(std::io::Error),
    /// A chunk cannot be read.
    Blob(BlobError),
    /// The store failed.
    Store(String),
}

impl std::fmt::Display for SpoolError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::File(error) => write!(f, "the files cannot be put together: {error}"),
            Self::Blob(error) => error.fmt(f),
            Self::Store(error) => f.write_str(error),
        }
    }
}

/// The folder of an attempt at an operation, which is removed when the value is dropped.
#[derive(Debug)]
pub(crate) struct Spool {
    /// The folder.
    pub(crate) folder: PathBuf,
}

impl Spool {
    /// Makes the folder, and removes what earlier attempts have left.
    pub(crate) fn new(parent: &Path, of: &Operation, attempt: u32) -> Result<Self, SpoolError> {
        let id = of.id.to_string();
        let mut folders = std::fs::DirBuilder::new();
        folders.recursive(true).mode(0o700);
        folders.create(parent).map_err(SpoolError::File)?;
        for entry in std::fs::read_dir(parent).map_err(SpoolError::File)?.flatten() {
            if entry.file_name().as_encoded_bytes().starts_with(id.as_bytes()) {
                _ = std::fs::remove_dir_all(entry.path());
            }
        }
        let folder = parent.join(format!("{id}-{attempt}"));
        folders.create(&folder).map_err(SpoolError::File)?;
        Ok(Self { folder })
    }

    /// Puts a file together.
    pub(crate) async fn add(
        &self,
        service: &BulkService,
        file: &UploadFile,
    ) -> Result<(), SpoolError> {
        let path = self.path(file);
        if let Some(parent) = path.parent() {
            std::fs::create_dir_all(parent).map_err(SpoolError::File)?;
        }
        let mut out = tokio::fs::File::create(&path).await.map_err(SpoolError::File)?;
        let chunks = service.chunks(file.id).await.map_err(|problem| {
            SpoolError::Store(
                problem.internal.clone().unwrap_or_else(|| "the store is busy".into()),
            )
        })?;
        for chunk in chunks {
            let found = service.blobs.find(chunk.blob).await.map_err(SpoolError::Blob)?;
            let blob = found.ok_or(SpoolError::Blob(BlobError::Unknown(chunk.blob)))?;
            let mut reading = service
                .blobs
                .read(blob.id, blob.bytes, 0..u64::MAX)
                .await
                .map_err(SpoolError::Blob)?;
            while let Some(bytes) = reading.next().await.map_err(SpoolError::Blob)? {
                out.write_all(&bytes).await.map_err(SpoolError::File)?;
            }
        }
        out.flush().await.map_err(SpoolError::File)
    }

    /// Returns the path of a file of the operation.
    pub(crate) fn path(&self, file: &UploadFile) -> PathBuf {
        self.folder.join(path_of(&file.id.to_string(), &file.format, &file.interchange))
    }

    /// Returns the path of the results.
    pub(crate) fn results(&self) -> PathBuf {
        self.folder.join("results")
    }
}

impl Drop for Spool {
    fn drop(&mut self) {
        _ = std::fs::remove_dir_all(&self.folder);
    }
}
