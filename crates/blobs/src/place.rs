//! Where blobs are kept.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::error::BlobError;
use crate::folder::Folder;

/// The ending of the folder beside a store's file, and beside its backups.
const ENDING: &str = ".blobs";

/// The place of a store's blobs; clones share it.
#[derive(Clone)]
pub struct BlobPlace(pub(crate) Arc<Folder>);

impl BlobPlace {
    /// Returns a folder as a place. It is created with the first blob. No two stores may use the
    /// same folder.
    pub fn folder(path: &Path) -> Self {
        Self(Arc::new(Folder::at(path)))
    }

    /// Returns the folder that belongs to a store's file, or to a backup: `FILE.blobs`.
    pub fn beside(file: &Path) -> Self {
        let mut name = file.as_os_str().to_owned();
        name.push(ENDING);
        Self::folder(&PathBuf::from(name))
    }

    /// Returns the folder's path.
    pub fn path(&self) -> &Path {
        self.0.path()
    }

    /// Returns whether there is anything at this place.
    pub fn exists(&self) -> bool {
        self.path().symlink_metadata().is_ok()
    }

    /// Runs work on the folder on a thread that may block.
    pub(crate) async fn on<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Folder) -> Result<T, BlobError> + Send + 'static,
    ) -> Result<T, BlobError> {
        let folder = Arc::clone(&self.0);
        let done = tokio::task::spawn_blocking(move || work(&folder)).await;
        done.unwrap_or_else(|error| {
            let path = self.path().display().to_string();
            Err(BlobError::Failed { doing: "work in", path, why: error.to_string() })
        })
    }
}

impl fmt::Debug for BlobPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "BlobPlace({})", self.path().display())
    }
}
