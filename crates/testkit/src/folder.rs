//! A folder of a test.

use std::path::{Path, PathBuf};

use homeroom_store::Uuid;

/// A new folder, which is removed with everything in it when the value is dropped.
pub struct Folder(PathBuf);

impl Folder {
    /// Makes an empty folder.
    #[expect(clippy::new_without_default, reason = "each call makes another folder")]
    pub fn new() -> Self {
        let folder = Self::unmade();
        std::fs::create_dir_all(&folder.0).unwrap();
        folder
    }

    /// Chooses the name of a folder without making it.
    pub fn unmade() -> Self {
        Self(std::env::temp_dir().join(format!("homeroom-test-{}", Uuid::new())))
    }

    /// Returns its path.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Writes a file in it, and makes the folders above the file. Returns the path of the file.
    pub fn write(&self, name: &str, text: impl AsRef<[u8]>) -> PathBuf {
        let path = self.0.join(name);
        std::fs::create_dir_all(path.parent().expect("a file is in a folder")).unwrap();
        std::fs::write(&path, text).unwrap();
        path
    }

    /// Returns the text of a file in it.
    pub fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.0.join(name)).unwrap_or_else(|e| panic!("{name}: {e}"))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        _ = std::fs::remove_dir_all(&self.0);
    }
}
