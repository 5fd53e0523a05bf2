//! Shared helpers for unit tests.

use std::path::{Path, PathBuf};

use homeroom_model::{Model, format, link, shipped};
use homeroom_store::Uuid;

/// Returns the linked shipped model.
pub(crate) fn model() -> Model {
    link(&[format::read(shipped("5.2.0").unwrap()).unwrap()]).unwrap()
}

/// A folder that is deleted on drop.
pub(crate) struct Folder(PathBuf);

impl Folder {
    /// Makes a new, empty folder.
    pub(crate) fn new() -> Self {
        let path = std::env::temp_dir().join(format!("homeroom-bulk-{}", Uuid::new()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    /// Returns its path.
    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    /// Writes a file in it.
    pub(crate) fn write(&self, name: &str, text: impl AsRef<[u8]>) -> PathBuf {
        let path = self.0.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        _ = std::fs::remove_dir_all(&self.0);
    }
}
