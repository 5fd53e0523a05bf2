//! Lists of files: the `manifest.json` of an export, and the XML that other loaders take.

use std::path::{Path, PathBuf};

use homeroom_export::{Formulas, MANIFEST, Manifest};
use quick_xml::events::{BytesStart, Event};
use quick_xml::{Reader, XmlVersion};

use crate::error::LoadError;
use crate::xml::character;

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

/// A list of files.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct List {
    /// The files.
    pub files: Vec<Listed>,
    /// Why the rest of it cannot be read, as a sentence without its end.
    pub damage: Option<String>,
}

/// Returns the files that a list names, or [`None`] if the file is no list.
///
/// # Errors
///
/// [`LoadError::Path`] when it is a list that cannot be used.
pub(crate) fn listed(path: &Path) -> Result<Option<List>, LoadError> {
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
        let files = exported(path, folder)?;
        return Ok(Some(List { files, damage: None }));
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
fn xml(path: &Path, folder: &Path) -> Option<List> {
    let head = head(path)?;
    if !is_list(&head) {
        return None;
    }
    let text = std::fs::read_to_string(path).ok()?;
    let mut reader = Reader::from_str(&text);
    let mut list = List::default();
    // The text of the element with the name of a path that is open.
    let mut open: Option<String> = None;
    let mut depth = 0_usize;
    let damage = loop {
        let event = match reader.read_event() {
            Ok(event) => event,
            Err(error) => break Some(error.to_string()),
        };
        match event {
            Event::Start(tag) | Event::Empty(tag) if is_broken(&tag) => {
                break Some("an attribute cannot be read".to_owned());
            }
            Event::Start(tag) => {
                depth += 1;
                list.attributes(folder, &tag);
                open = is_path_name(tag.local_name().as_ref()).then(String::new);
            }
            Event::Empty(tag) => list.attributes(folder, &tag),
            Event::Text(text) => open.iter_mut().for_each(|open| open.push_str(&text)),
            Event::CData(text) => open.iter_mut().for_each(|open| open.push_str(&text)),
            Event::GeneralRef(reference) => match character(&reference) {
                Ok(found) => open.iter_mut().for_each(|open| open.push(found)),
                Err(message) => break Some(message),
            },
            Event::End(_) => {
                depth = depth.saturating_sub(1);
                if let Some(path) = open.take() {
                    list.take(folder, &path);
                }
            }
            Event::Eof if depth > 0 => break Some("it ends before its root element does".into()),
            Event::Eof => break None,
            _ => {}
        }
    };
    list.damage = damage.map(|damage| {
        let end = usize::try_from(reader.error_position().max(reader.buffer_position()));
        let before = text.as_bytes().get(..end.unwrap_or(0)).unwrap_or(text.as_bytes());
        let line = 1 + memchr::memchr_iter(b'\n', before).count();
        format!(
            "it is a list of files that cannot be read from line {line} on ({damage}); only the {} \
             files that it names before are taken",
            list.files.len()
        )
    });
    Some(list)
}

fn is_broken(tag: &BytesStart<'_>) -> bool {
    tag.attributes().any(|attribute| attribute.is_err())
}

impl List {
    fn attributes(&mut self, folder: &Path, tag: &BytesStart<'_>) {
        for attribute in tag.attributes().flatten() {
            if is_path_name(attribute.key.local_name().as_ref())
                && let Ok(path) = attribute.normalized_value(XmlVersion::Implicit1_0)
            {
                self.take(folder, &path);
            }
        }
    }

    fn take(&mut self, folder: &Path, path: &str) {
        let path = path.trim().replace('\\', "/");
        if !path.is_empty() {
            self.files.push(Listed { path: folder.join(path), bytes: None });
        }
    }
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

            assert_eq!(found.damage, None);
            let paths: Vec<PathBuf> = found.files.into_iter().map(|file| file.path).collect();
            assert_eq!(paths, [folder.path().join("a.xml"), folder.path().join("b/c.xml")]);
        }
        for (text, paths, is_damaged) in [
            (
                "<Interchanges><Filename>A&amp;B.xml</Filename><Filename><![CDATA[C.xml]]></Filename>\
              </Interchanges>",
                &["A&B.xml", "C.xml"][..],
                false,
            ),
            (
                "<Interchanges><Filename>a.xml</Filename>\n<b></c><Filename>d.xml</Filename>\
              </Interchanges>",
                &["a.xml"],
                true,
            ),
            ("<Interchanges><Filename>a.xml</Filename>", &["a.xml"], true),
        ] {
            let path = folder.write("list.xml", text);
            let found = listed(&path).unwrap().unwrap();
            let expected: Vec<PathBuf> =
                paths.iter().map(|path| folder.path().join(path)).collect();
            let named: Vec<PathBuf> = found.files.into_iter().map(|file| file.path).collect();
            assert_eq!((named, found.damage.is_some()), (expected, is_damaged), "{text}");
        }
        let path =
            folder.write("Student.xml", "<InterchangeStudent><Student/></InterchangeStudent>");
        assert_eq!(listed(&path).unwrap(), None);
    }
}
