//! Prepares the folder of an export.

use std::collections::BTreeSet;
use std::io::Write as _;
use std::path::{Component, Path};

use homeroom_store::{OutputError, check_folder, is_database};

use super::file::{Checked, make_folder, remove};
use super::manifest::{MANIFEST, Manifest};
use crate::error::ExportError;

/// Lists the files that an unfinished export may have written; removed once the manifest is
/// written.
const UNFINISHED: &str = ".export.part";

/// Creates the folder, or checks that it is empty. With `replace`, an existing export is removed:
/// first its manifest, so that it no longer counts as a complete export, then the files that the
/// manifest lists, or those of an interrupted export. Other content of the folder stays and is
/// never overwritten. `files` are the files to be written.
///
/// # Errors
///
/// [`ExportError::NotEmpty`], [`ExportError::Foreign`], [`ExportError::Refused`],
/// [`ExportError::File`].
pub(super) fn prepare(
    folder: &Path,
    replace: bool,
    files: impl IntoIterator<Item = String>,
) -> Result<(), ExportError> {
    check_folder(folder)?;
    make_folder(folder)?;
    let failed = |error| ExportError::of_file(folder, error);
    let is_empty = std::fs::read_dir(folder).map_err(failed)?.next().is_none();
    if !is_empty && !replace {
        return Err(ExportError::NotEmpty(folder.to_owned()));
    }
    let before = written_before(folder);
    if !is_empty && before.is_none() {
        return Err(ExportError::Foreign(folder.to_owned()));
    }
    let before = before.unwrap_or_default();
    let files: BTreeSet<String> = files.into_iter().collect();
    refuse_others(folder, &before, &files)?;
    let all: BTreeSet<String> = before.union(&files).cloned().collect();
    let path = folder.join(UNFINISHED);
    let failed = |error| ExportError::of_file(&path, error);
    remove(&path)?;
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

/// Removes the list of unfinished files, once the manifest is written.
pub(super) fn finish(folder: &Path) -> Result<(), ExportError> {
    remove(&folder.join(UNFINISHED))
}

/// Returns the files of earlier exports, complete or interrupted; [`None`] if there is no such
/// export.
fn written_before(folder: &Path) -> Option<BTreeSet<String>> {
    let whole = manifest(folder).map(|manifest| manifest.files);
    let broken_off = std::fs::read_to_string(folder.join(UNFINISHED)).ok();
    if whole.is_none() && broken_off.is_none() {
        return None;
    }
    let broken_off = broken_off.unwrap_or_default();
    let broken_off = broken_off.lines().map(str::to_owned);
    Some(whole.into_iter().flatten().map(|file| file.path).chain(broken_off).collect())
}

fn manifest(folder: &Path) -> Option<Manifest> {
    let text = std::fs::read(folder.join(MANIFEST)).ok()?;
    serde_json::from_slice(&text).ok()
}

/// Refuses to remove a database that a list names, and to overwrite a file that no export has
/// written.
fn refuse_others(
    folder: &Path,
    before: &BTreeSet<String>,
    files: &BTreeSet<String>,
) -> Result<(), ExportError> {
    for name in before {
        let path = folder.join(name);
        if is_database(&path) {
            return Err(OutputError::Database(path).into());
        }
    }
    let is_there = |name: &str| folder.join(name).symlink_metadata().is_ok();
    let other = files.difference(before).map(String::as_str).find(|name| is_there(name));
    let no_manifest = is_there(MANIFEST) && manifest(folder).is_none();
    match other.or(no_manifest.then_some(MANIFEST)) {
        Some(name) => {
            Err(OutputError::NotOurs { path: folder.join(name), kind: "a file of an export" }
                .into())
        }
        None => Ok(()),
    }
}
