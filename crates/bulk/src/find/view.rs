//! The unpacked files of an archive under their names.

use std::os::unix::fs::DirBuilderExt as _;
use std::path::PathBuf;

use homeroom_store::Uuid;

use crate::packed::Unpacked;

/// A folder in which the unpacked files of an archive have their names, as long as this value lives.
pub(super) struct View(pub(super) PathBuf);

impl View {
    /// Makes the folder.
    pub(super) fn of(files: &[Unpacked]) -> std::io::Result<Self> {
        let view = Self(std::env::temp_dir().join(format!("homeroom-load-{}", Uuid::new())));
        let mut folders = std::fs::DirBuilder::new();
        folders.recursive(true).mode(0o700);
        folders.create(&view.0)?;
        for Unpacked { inner, content, .. } in files {
            let Ok(spool) = content else { continue };
            let to = view.0.join(inner);
            if let Some(folder) = to.parent() {
                folders.create(folder)?;
            }
            std::os::unix::fs::symlink(spool.path(), to)?;
        }
        Ok(view)
    }
}

impl Drop for View {
    fn drop(&mut self) {
        _ = std::fs::remove_dir_all(&self.0);
    }
}
