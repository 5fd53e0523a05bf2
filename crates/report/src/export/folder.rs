//! The folder of an export before anything is written.

use std::path::{Component, Path};

use super::file::make_folder;
use super::manifest::{MANIFEST, Manifest};
use crate::error::ExportError;

/// Makes the folder, or finds it empty. With `replace` an export that is there goes: its manifest
/// first, so that it is no whole export from then on, then the files that the manifest names. What
/// else stands in the folder stays.
///
/// # Errors
///
/// [`ExportError::NotEmpty`], [`ExportError::File`].
pub(super) fn prepare(folder: &Path, replace: bool) -> Result<(), ExportError> {
    make_folder(folder)?;
    let failed = |error| ExportError::of_file(folder, error);
    let is_empty = std::fs::read_dir(folder).map_err(failed)?.next().is_none();
    if is_empty {
        return Ok(());
    }
    if !replace {
        return Err(ExportError::NotEmpty(folder.to_owned()));
    }
    let path = folder.join(MANIFEST);
    let Ok(text) = std::fs::read(&path) else { return Ok(()) };
    std::fs::remove_file(&path).map_err(|error| ExportError::of_file(&path, error))?;
    let Ok(before) = serde_json::from_slice::<Manifest>(&text) else { return Ok(()) };
    for file in &before.files {
        let path = Path::new(&file.path);
        if path.components().all(|part| matches!(part, Component::Normal(_))) {
            _ = std::fs::remove_file(folder.join(path));
        }
    }
    Ok(())
}
