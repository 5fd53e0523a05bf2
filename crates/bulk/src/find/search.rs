//! Which files of a folder may be loaded.

use std::path::{Path, PathBuf};

use crate::error::LoadError;
use crate::packed::Packing;
use crate::source::Extension;

/// Most files per load.
const FILES_MAX: usize = 100_000;
/// Deepest level of folders that is searched.
const FOLDERS_MAX: usize = 32;

/// Finds the files of a folder that may be loaded, by name.
///
/// # Errors
///
/// [`LoadError::Path`].
pub(crate) fn search(folder: &Path, files: &mut Vec<PathBuf>) -> Result<(), LoadError> {
    search_to(FOLDERS_MAX, folder, files)
}

fn search_to(depth: usize, folder: &Path, files: &mut Vec<PathBuf>) -> Result<(), LoadError> {
    let wrong = |problem: String| LoadError::Path { path: folder.to_owned(), problem };
    let Some(depth) = depth.checked_sub(1) else {
        return Err(wrong(format!("folders are nested deeper than {FOLDERS_MAX}")));
    };
    let entries = std::fs::read_dir(folder).and_then(Iterator::collect::<Result<Vec<_>, _>>);
    let mut entries = entries.map_err(|error| wrong(error.to_string()))?;
    entries.sort_by_key(std::fs::DirEntry::file_name);
    for entry in entries {
        let path = entry.path();
        let is_hidden = entry.file_name().as_encoded_bytes().starts_with(b".");
        if is_hidden {
            continue;
        }
        let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
        if is_folder {
            search_to(depth, &path, files)?;
        } else if has_documents(&path) || is_toml(&path) {
            if files.len() >= FILES_MAX {
                return Err(wrong(format!("more than {FILES_MAX} files; load it in parts")));
            }
            files.push(path);
        }
    }
    Ok(())
}

/// Whether a file in a folder or archive has documents, by its name.
pub(crate) fn has_documents(path: &Path) -> bool {
    let is_wanted = match Packing::named(path) {
        Some(Packing::Gzip) => Extension::of(&path.with_extension("")).is_some(),
        Some(Packing::Zip) => true,
        None => Extension::of(path).is_some(),
    };
    is_wanted && !is_beside_documents(path)
}

/// Files that an export writes beside its documents. Deletions are not documents; a file that is
/// named explicitly is read nevertheless.
const BESIDE_DOCUMENTS: [&str; 3] = ["manifest.json", "deletes.jsonl", "deletes.jsonl.gz"];

/// Whether a file in a folder or archive is one that an export writes beside its documents.
fn is_beside_documents(path: &Path) -> bool {
    path.file_name().is_some_and(|name| BESIDE_DOCUMENTS.iter().any(|beside| name == *beside))
}

/// Whether a file may be one of mappings.
pub(crate) fn is_toml(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("toml"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_in_folders_and_archives_are_those_with_documents() {
        for (name, is_wanted) in [
            ("a/students.jsonl", true),
            ("students.json.gz", true),
            ("students.json.gzip", true),
            ("students.gz", false),
            ("year.ZIP", true),
            ("pupils.csv", true),
            ("pupils.toml", false),
            ("manifest.json", false),
            ("a/deletes.jsonl.gz", false),
            ("notes.txt", false),
        ] {
            assert_eq!(has_documents(Path::new(name)), is_wanted, "{name}");
        }
    }
}
