//! Finds the files of a load and determines their format.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::fs::File;
use std::io::{Read, Write};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use homeroom_model::{Model, ResourceId};
use homeroom_store::{Uuid, is_held_here};

use crate::error::LoadError;
use crate::json_items::{Layout, layout};
use crate::levels::resource_named;

/// Most files per load.
const FILES_MAX: usize = 100_000;
/// Deepest level of folders that is searched.
const FOLDERS_MAX: usize = 32;
/// Most bytes that are read from the standard input.
pub const STDIN_BYTES_MAX: u64 = 64 << 30;
/// The path that means the standard input.
const STDIN: &str = "-";

/// A file to load.
#[derive(Debug)]
pub(crate) struct SourceFile {
    /// Where the file is.
    pub path: PathBuf,
    /// Name of the file in reports.
    pub name: String,
    /// Path of the file below the given path, used for output files about it.
    pub relative: PathBuf,
    /// Format of its content.
    pub format: Format,
    /// Deletes the spooled copy when dropped.
    _spool: Option<Spool>,
}

/// Format of a file's content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Format {
    /// Interchange XML.
    Xml,
    /// JSON documents, of one resource or each naming its own.
    Json(Layout, Option<ResourceId>),
    /// An empty file.
    Empty,
    /// Anything else, with the reason why it cannot be read.
    Unreadable(String),
}

/// Finds the files below all paths, in the order of the paths, and by name within a folder.
///
/// # Errors
///
/// [`LoadError::Path`], [`LoadError::Nothing`].
pub(crate) fn find(model: &Model, paths: &[PathBuf]) -> Result<Vec<SourceFile>, LoadError> {
    let mut found = vec![];
    for path in paths {
        if path.as_os_str() == STDIN {
            found.push(standard_input()?);
            continue;
        }
        let wrong = |problem: String| LoadError::Path { path: path.clone(), problem };
        let about = std::fs::metadata(path).map_err(|error| wrong(error.to_string()))?;
        if about.is_dir() {
            let mut files = vec![];
            search(path, FOLDERS_MAX, &mut files)?;
            for file in files {
                refuse_open_store(&file)?;
                let relative = file.strip_prefix(path).unwrap_or(&file).to_owned();
                found.push(source_file(model, file, relative));
            }
        } else {
            refuse_open_store(path)?;
            let relative = path.file_name().map_or_else(PathBuf::new, PathBuf::from);
            found.push(source_file(model, path.clone(), relative));
        }
    }
    let mut seen = HashSet::new();
    found
        .retain(|file| seen.insert(file.path.canonicalize().unwrap_or_else(|_| file.path.clone())));
    if found.is_empty() { Err(LoadError::Nothing) } else { Ok(found) }
}

/// Refuses a database file that this process has open: closing it again would release the store's
/// locks.
fn refuse_open_store(path: &Path) -> Result<(), LoadError> {
    if is_held_here(path) {
        let problem =
            "it is a store or belongs to one; write it to files with homeroom export first".into();
        return Err(LoadError::Path { path: path.to_owned(), problem });
    }
    Ok(())
}

/// Refuses to write to a file that is to be read.
///
/// # Errors
///
/// [`LoadError::OutputIsSource`].
pub(crate) fn refuse_as_output(files: &[SourceFile], path: &Path) -> Result<(), LoadError> {
    // Files are compared by device and inode, because names and links may differ.
    let file = |path: &Path| std::fs::metadata(path).ok().map(|about| (about.dev(), about.ino()));
    let Some(output) = file(path) else { return Ok(()) };
    if files.iter().any(|source| file(&source.path) == Some(output)) {
        return Err(LoadError::OutputIsSource(path.to_owned()));
    }
    Ok(())
}

fn search(folder: &Path, depth: usize, files: &mut Vec<PathBuf>) -> Result<(), LoadError> {
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
            search(&path, depth, files)?;
        } else if Extension::of(&path).is_some() && !is_beside_documents(&path) {
            if files.len() >= FILES_MAX {
                return Err(wrong(format!("more than {FILES_MAX} files; load it in parts")));
            }
            files.push(path);
        }
    }
    Ok(())
}

/// Files that an export writes beside its documents. Deletions are not documents; a file that is
/// named explicitly is read nevertheless.
const BESIDE_DOCUMENTS: [&str; 2] = ["manifest.json", "deletes.jsonl"];

fn is_beside_documents(path: &Path) -> bool {
    path.file_name().is_some_and(|name| BESIDE_DOCUMENTS.iter().any(|beside| name == *beside))
}

/// Kinds of file extensions that are searched for in folders.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Extension {
    Xml,
    Json,
}

impl Extension {
    fn of(path: &Path) -> Option<Self> {
        let extension = path.extension()?.to_str()?.to_ascii_lowercase();
        match extension.as_str() {
            "xml" => Some(Self::Xml),
            "jsonl" | "ndjson" | "json" => Some(Self::Json),
            _ => None,
        }
    }
}

fn source_file(model: &Model, path: PathBuf, relative: PathBuf) -> SourceFile {
    let format = format_of(model, &path);
    SourceFile { name: path.display().to_string(), path, relative, format, _spool: None }
}

fn format_of(model: &Model, path: &Path) -> Format {
    let extension = Extension::of(path);
    // Opening a pipe would block until something writes to it.
    if std::fs::metadata(path).is_ok_and(|about| !about.is_file()) {
        return Format::Unreadable(
            "it is not a regular file, and a load reads its input twice; write it to a file, or \
             to standard input"
                .into(),
        );
    }
    if extension == Some(Extension::Xml) {
        return Format::Xml;
    }
    let layout = match File::open(path).and_then(|file| layout(&file)) {
        Ok(Some(layout)) => layout,
        Ok(None) => return Format::Empty,
        Err(error) => return Format::Unreadable(format!("the file cannot be read: {error}")),
    };
    if extension.is_none() {
        return match first_byte(path) {
            Some(b'<') => Format::Xml,
            Some(b'{' | b'[') => Format::Json(layout, resource_of(model, path)),
            _ => Format::Unreadable(
                "the file is neither XML nor JSON; interchange XML, JSON lines and JSON arrays can \
                 be loaded"
                    .into(),
            ),
        };
    }
    Format::Json(layout, resource_of(model, path))
}

fn first_byte(path: &Path) -> Option<u8> {
    let mut first = vec![];
    File::open(path).ok()?.take(64).read_to_end(&mut first).ok()?;
    let text = first.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&first);
    text.iter().copied().find(|byte| !byte.is_ascii_whitespace())
}

/// Returns the resource that a file is named after: `ed-fi/students.jsonl`, `students.jsonl`,
/// `Student-2.jsonl`, `students/1.jsonl`.
fn resource_of(model: &Model, path: &Path) -> Option<ResourceId> {
    let stem = path.file_stem().and_then(OsStr::to_str)?;
    let first = stem.split(['-', '_', '.', ' ']).next().unwrap_or(stem);
    let folder = path.parent().and_then(Path::file_name).and_then(OsStr::to_str);
    let of_project = folder.and_then(|schema| resource_named(model, &format!("{schema}/{stem}")));
    of_project.or_else(|| {
        let names = [Some(stem), Some(first), folder].into_iter().flatten();
        names.into_iter().find_map(|name| resource_named(model, name))
    })
}

/// A copy of the standard input in a file, which is deleted on drop.
#[derive(Debug)]
struct Spool(PathBuf);

impl Drop for Spool {
    fn drop(&mut self) {
        _ = std::fs::remove_file(&self.0);
    }
}

/// Copies the standard input to a file that only its owner can read, because a load reads it twice.
///
/// # Errors
///
/// [`LoadError::Path`].
fn spool() -> Result<Spool, LoadError> {
    let path = std::env::temp_dir().join(format!("homeroom-load-{}.jsonl", Uuid::new()));
    let wrong = |problem: String| LoadError::Path { path: STDIN.into(), problem };
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(&path).map_err(|error| {
        wrong(format!("the standard input is kept in {}: {error}", path.display()))
    })?;
    let spool = Spool(path);
    let copied = std::io::copy(&mut std::io::stdin().lock().take(STDIN_BYTES_MAX + 1), &mut file)
        .and_then(|bytes| file.flush().map(|()| bytes))
        .map_err(|error| wrong(format!("the standard input cannot be read: {error}")))?;
    if copied > STDIN_BYTES_MAX {
        return Err(wrong(format!("more than {STDIN_BYTES_MAX} bytes; load it from a file")));
    }
    Ok(spool)
}

/// Takes the standard input as a file of documents that each name their resource.
fn standard_input() -> Result<SourceFile, LoadError> {
    let spool = spool()?;
    let wrong =
        |error: std::io::Error| LoadError::Path { path: STDIN.into(), problem: error.to_string() };
    let format = match File::open(&spool.0).and_then(|file| layout(&file)).map_err(wrong)? {
        Some(layout) => Format::Json(layout, None),
        None => Format::Empty,
    };
    let relative = PathBuf::from("stdin.jsonl");
    Ok(SourceFile {
        path: spool.0.clone(),
        name: "stdin".into(),
        relative,
        format,
        _spool: Some(spool),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_a_folder_are_found_by_name() {
        let model = crate::tests::model();
        let folder = crate::tests::Folder::new();
        for (name, text) in [
            ("b/students.jsonl", "{}"),
            ("a.xml", "<a/>"),
            (".hidden.xml", "<a/>"),
            ("b/notes.txt", "x"),
            ("manifest.json", "{}"),
            ("ed-fi/schools.jsonl", "{}"),
            ("sections/part 1.json", "[]"),
            ("Student-2.ndjson", "{}"),
            ("other.json", " \n"),
        ] {
            folder.write(name, text);
        }

        let found = find(&model, &[folder.path().to_owned(), folder.path().join("a.xml")]).unwrap();

        let resource = |name: &str| Some(model.by_endpoint("ed-fi", name).unwrap().id);
        let found: Vec<_> =
            found.iter().map(|f| (f.relative.to_str().unwrap(), f.format.clone())).collect();
        assert_eq!(
            found,
            [
                ("Student-2.ndjson", Format::Json(Layout::Lines, resource("students"))),
                ("a.xml", Format::Xml),
                ("b/students.jsonl", Format::Json(Layout::Lines, resource("students"))),
                ("ed-fi/schools.jsonl", Format::Json(Layout::Lines, resource("schools"))),
                ("other.json", Format::Empty),
                ("sections/part 1.json", Format::Json(Layout::Array, resource("sections"))),
            ]
        );
    }

    #[test]
    fn a_path_that_leads_nowhere_is_an_error() {
        let model = crate::tests::model();
        let folder = crate::tests::Folder::new();

        let nowhere = find(&model, &[folder.path().join("nowhere")]).unwrap_err();
        let empty = find(&model, &[folder.path().to_owned()]).unwrap_err();

        assert!(nowhere.to_string().contains("nowhere"));
        assert!(matches!(empty, LoadError::Nothing));
    }
}
