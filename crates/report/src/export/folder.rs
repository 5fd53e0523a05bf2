//! The folder of an export before anything is written.

use std::collections::BTreeSet;
use std::io::Write as _;
use std::path::{Component, Path};

use super::file::{Checked, make_folder};
use super::manifest::{MANIFEST, Manifest};
use crate::error::ExportError;

/// Names what an export may have written that is not whole; it goes when the manifest is there.
const UNFINISHED: &str = ".export.part";

/// Makes the folder, or finds it empty. With `replace` an export that is there goes: its manifest
/// first, so that it is no whole export from then on, then the files that the manifest names, or
/// those of an export that was broken off. What else stands in the folder stays. `files` are those
/// that will be written.
///
/// # Errors
///
/// [`ExportError::NotEmpty`], [`ExportError::File`].
pub(super) fn prepare(
    folder: &Path,
    replace: bool,
    files: impl IntoIterator<Item = String>,
) -> Result<(), ExportError> {
    make_folder(folder)?;
    let failed = |error| ExportError::of_file(folder, error);
    let is_empty = std::fs::read_dir(folder).map_err(failed)?.next().is_none();
    if !is_empty && !replace {
        return Err(ExportError::NotEmpty(folder.to_owned()));
    }
    let before = written_before(folder);
    let all: BTreeSet<String> = before.iter().cloned().chain(files).collect();
    let path = folder.join(UNFINISHED);
    let failed = |error| ExportError::of_file(&path, error);
    let mut unfinished = Checked::create(&path)?;
    let names: Vec<&str> = all.iter().map(String::as_str).collect();
    unfinished.write_all(names.join("\n").as_bytes()).map_err(failed)?;
    unfinished.finish().map_err(failed)?;
    remove(&folder.join(MANIFEST))?;
    for name in &before {
        let path = Path::new(name);
        if path.components().all(|part| matches!(part, Component::Normal(_))) {
            _ = std::fs::remove_file(folder.join(path));
        }
    }
    Ok(())
}

/// The export is whole: its manifest is there.
pub(super) fn finish(folder: &Path) -> Result<(), ExportError> {
    remove(&folder.join(UNFINISHED))
}

/// The files of the exports that are there, whole or broken off.
fn written_before(folder: &Path) -> BTreeSet<String> {
    let whole = std::fs::read(folder.join(MANIFEST)).unwrap_or_default();
    let whole = serde_json::from_slice::<Manifest>(&whole).ok().map(|manifest| manifest.files);
    let broken_off = std::fs::read_to_string(folder.join(UNFINISHED)).unwrap_or_default();
    let broken_off = broken_off.lines().map(str::to_owned);
    whole.into_iter().flatten().map(|file| file.path).chain(broken_off).collect()
}

fn remove(path: &Path) -> Result<(), ExportError> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(ExportError::of_file(path, error))
        }
        _ => Ok(()),
    }
}
