//! Temporary folders of stores, for tests and trials.

use std::path::PathBuf;

use crate::error::StoreError;
use crate::id::Uuid;

/// A folder that is removed when the value is dropped.
pub(super) struct TemporaryFolder(pub(super) PathBuf);

impl TemporaryFolder {
    /// Creates a folder with a unique name.
    pub(super) fn new() -> Result<Self, StoreError> {
        let path = std::env::temp_dir().join(format!("homeroom-{}", Uuid::new()));
        std::fs::create_dir_all(&path).map_err(|error| {
            StoreError::Unusable(format!("cannot create {}: {error}", path.display()))
        })?;
        Ok(Self(path))
    }
}

impl Drop for TemporaryFolder {
    fn drop(&mut self) {
        _ = std::fs::remove_dir_all(&self.0);
    }
}
