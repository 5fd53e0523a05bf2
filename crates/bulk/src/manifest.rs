//! Lists of files: the `manifest.json` of an export, and the XML that other loaders take.

use std::path::{Path, PathBuf};

use homeroom_export::{Formulas, MANIFEST, Manifest};
use quick_xml::Reader;
use quick_xml::events::Event;

use crate::error::LoadError;

/// Most bytes of a list of files.
const MANIFEST_BYTES_MAX: u64 = 64 << 20;
/// Names, in lower case, of elements and attributes whose text is the path of a file.
const PATH_NAMES: [&str; 5] = ["filename", "file", "path", "filepath", "href"];

/// A file that a list names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Listed {
    /// Where it is.
    pub path: PathBuf,
    /// Its size, if the list tells it.
    pub bytes: Option<u64>,
}

/// Returns the files that a list names, or [`None`] if the file is no list.
///
/// # Errors
///
/// [`LoadError::Path`] when it is a list that cannot be used.
pub(crate) fn listed(path: &Path) -> Result<Option<Vec<Listed>>, LoadError> {
    let Ok(about) = std::fs::metadata(path) else { return Ok(None) };
    if !about.is_file() {
        return Ok(None);
    }
    let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
    let is_ours = path.file_name().is_some_and(|name| name == MANIFEST);
    let is_xml = ending.eq_ignore_ascii_case("xml");
    if about.len() > MANIFEST_BYTES_MAX || !(is_ours || is_xml) {
        return Ok(None);
    }
    let folder = path.parent().unwrap_or(Path::new(""));
    if is_ours {
        return exported(path, folder).map(Some);
    }
    Ok(xml(path, folder))
}

/// Returns whether the CSV of an export in a folder has apostrophes in front of formulas.
pub(crate) fn is_escaped(folder: &Path) -> bool {
    let text = std::fs::read_to_string(folder.join(MANIFEST)).unwrap_or_default();
    let manifest: Option<Manifest> = serde_json::from_str(&text).ok();
    manifest.and_then(|manifest| manifest.csv_formulas) != Some(Formulas::Keep)
}

fn exported(path: &Path, folder: &Path) -> Result<Vec<Listed>, LoadError> {
    let wrong = |problem: String| LoadError::Path { path: path.to_owned(), problem };
    let text = std::fs::read_to_string(path).map_err(|error| wrong(error.to_string()))?;
    let manifest: Manifest = serde_json::from_str(&text)
        .map_err(|error| wrong(format!("it is no manifest of an export: {error}")))?;
    if !matches!(manifest.format.as_str(), "jsonl" | "csv") {
        let format = manifest.format;
        return Err(wrong(format!(
            "an export as {format} cannot be loaded; export with --format jsonl or csv"
        )));
    }
    let of_documents = manifest.files.into_iter().filter(|file| file.resource.is_some());
    let listed = of_documents
        .map(|file| Listed { path: folder.join(plain(&file.path)), bytes: Some(file.bytes) });
    Ok(listed.collect())
}

/// Returns a path that leads nowhere but down.
fn plain(path: &str) -> PathBuf {
    let path = path.replace('\\', "/");
    let parts = Path::new(&path).components();
    parts.filter(|part| matches!(part, std::path::Component::Normal(_))).collect()
}

/// Reads a list in XML: every element or attribute with the name of a path, whatever is around it.
fn xml(path: &Path, folder: &Path) -> Option<Vec<Listed>> {
    let head = head(path)?;
    if !is_list(&head) {
        return None;
    }
    let text = std::fs::read_to_string(path).ok()?;
    let mut reader = Reader::from_str(&text);
    let mut files: Vec<PathBuf> = vec![];
    let mut is_path = false;
    let mut take = |text: &str| {
        let text = text.trim().replace('\\', "/");
        if !text.is_empty() {
            files.push(folder.join(text));
        }
    };
    loop {
        match reader.read_event() {
            Ok(Event::Start(tag) | Event::Empty(tag)) => {
                for attribute in tag.attributes().flatten() {
                    let name = attribute.key.local_name();
                    if is_path_name(name.as_ref()) {
                        take(&attribute.value);
                    }
                }
                is_path = is_path_name(tag.local_name().as_ref());
            }
            Ok(Event::Text(text)) if is_path => take(&text),
            Ok(Event::End(_)) => is_path = false,
            Ok(Event::Eof) | Err(_) => break,
            Ok(_) => {}
        }
    }
    let listed = files.into_iter().map(|path| Listed { path, bytes: None });
    Some(listed.collect())
}

fn is_path_name(name: &str) -> bool {
    let name = name.to_ascii_lowercase().replace(['_', '-'], "");
    PATH_NAMES.contains(&name.as_str())
}

/// Whether the root of a document is one of lists: `Interchanges`, or with `manifest` in its name.
fn is_list(head: &str) -> bool {
    let mut reader = Reader::from_str(head);
    loop {
        match reader.read_event() {
            Ok(Event::Start(tag) | Event::Empty(tag)) => {
                let name = tag.local_name().as_ref().to_ascii_lowercase();
                return name == "interchanges" || name.contains("manifest");
            }
            Ok(Event::Eof) | Err(_) => return false,
            Ok(_) => {}
        }
    }
}

fn head(path: &Path) -> Option<String> {
    use std::io::Read as _;
    let mut bytes = vec![];
    std::fs::File::open(path).ok()?.take(4_096).read_to_end(&mut bytes).ok()?;
    let text = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&bytes);
    Some(String::from_utf8_lossy(text).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_in_xml_is_read_whatever_is_around_its_paths() {
        let folder = crate::tests::Folder::new();
        for text in [
            "<?xml version='1.0'?>\n<Interchanges><Interchange><Filename>a.xml</Filename>\
             <Type>Student</Type></Interchange><Interchange>\n<Filename>b\\c.xml</Filename>\
             </Interchange></Interchanges>",
            "\u{feff}<x:BulkManifest xmlns:x='y'><File path='a.xml' type='student'/>\
             <file_path> b/c.xml </file_path></x:BulkManifest>",
        ] {
            let path = folder.write("list.xml", text);

            let found = listed(&path).unwrap().unwrap();

            let paths: Vec<PathBuf> = found.into_iter().map(|file| file.path).collect();
            assert_eq!(paths, [folder.path().join("a.xml"), folder.path().join("b/c.xml")]);
        }
        let path =
            folder.write("Student.xml", "<InterchangeStudent><Student/></InterchangeStudent>");
        assert_eq!(listed(&path).unwrap(), None);
    }
}
