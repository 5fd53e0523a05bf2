//! The files of an upload: their formats, interchanges and sizes.

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use homeroom_bulk::{NotTaken, PlainFile};
use homeroom_bulk_api::FILES_MAX;

use crate::command::interchange_order::ordered;
use crate::config::StandardConfig;
use crate::exit::Failure;
use crate::standard::Standard;

/// Bytes at the beginning of a file in which its kind is looked for.
const HEAD_BYTES: u64 = 64 << 10;
/// The interchange of lines that name their own resources.
const DOCUMENTS: &str = "Documents";
/// What the name of an interchange's root element begins with.
const ROOT: &[u8] = b"<Interchange";

/// A file to upload.
#[derive(Debug, Clone)]
pub struct Source {
    /// Its path, as it was given; a file in an archive is below it.
    pub path: PathBuf,
    /// Its content.
    pub file: PlainFile,
    /// Its media type.
    pub format: &'static str,
    /// Its interchange; for lines of JSON its resource, or `Documents`.
    pub interchange: String,
    /// Its size in bytes.
    pub bytes: u64,
    /// When it was changed last, in nanoseconds.
    changed: u128,
}

/// Finds the files below all paths, in the order of the paths, and by name within a folder. Packed files
/// are unpacked, and arrays of JSON are sent as lines. What cannot be uploaded is told by name.
///
/// # Errors
///
/// Which path does not exist.
pub fn find(paths: &[PathBuf]) -> Result<(Vec<Source>, Vec<NotTaken>), Failure> {
    let (files, mut not_taken) = homeroom_bulk::plain_files(paths)?;
    let mut found = vec![];
    for file in files {
        let name = file.name.clone();
        match source(file) {
            Ok(source) => found.push(source),
            Err(problem) => not_taken.push(NotTaken::file(&name, problem)),
        }
    }
    if found.is_empty() && not_taken.is_empty() {
        return Err(Failure::Usage(
            "no file to upload: folders are searched for .xml, .jsonl, .ndjson and .json files, also \
             packed as .gz or .zip, and none was found"
                .into(),
        ));
    }
    Ok((found, not_taken))
}

/// Divides files into operations, none of which has more than it may. If there are several, files that
/// others may refer to come first.
///
/// # Errors
///
/// If the model cannot be read.
pub fn parts(mut sources: Vec<Source>) -> Result<Vec<Vec<Source>>, Failure> {
    if sources.len() <= FILES_MAX {
        return Ok(vec![sources]);
    }
    let standard = Standard::read(&StandardConfig::default())?;
    let names = sources.iter().map(|source| source.interchange.clone()).collect();
    let order = ordered(&standard.model, names);
    // Of lines that name their resources nothing is known; they may refer to anything.
    let place = |source: &Source| match &*source.interchange {
        DOCUMENTS => order.len(),
        name => order.iter().position(|own| own == name).unwrap_or(order.len()),
    };
    sources.sort_by_key(place);
    Ok(sources.chunks(FILES_MAX).map(<[Source]>::to_vec).collect())
}

fn source(file: PlainFile) -> Result<Source, String> {
    let unreadable = |error: std::io::Error| format!("the file cannot be read: {error}");
    let about = std::fs::metadata(&file.content).map_err(unreadable)?;
    let mut head = vec![];
    let opened = File::open(&file.content).map_err(unreadable)?;
    opened.take(HEAD_BYTES).read_to_end(&mut head).map_err(unreadable)?;
    if about.len() == 0 {
        return Err("the file is empty".into());
    }
    let (format, interchange) = kind(&file.name, &head)?;
    // The time of a file in an archive is that of the archive.
    let own = file.name.ancestors().find_map(|path| std::fs::metadata(path).ok());
    let changed = own.and_then(|own| own.modified().ok());
    let changed = changed.and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    Ok(Source {
        path: file.name.clone(),
        format,
        interchange,
        bytes: about.len(),
        changed: changed.map_or(0, |time| time.as_nanos()),
        file,
    })
}

/// Returns the media type of a file and its interchange, by its beginning and its name.
fn kind(path: &Path, head: &[u8]) -> Result<(&'static str, String), &'static str> {
    let first = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head);
    match first.iter().find(|byte| !byte.is_ascii_whitespace()) {
        Some(b'<') => {
            let name = root(head).or_else(|| stem(path)).ok_or("the file has no interchange")?;
            Ok(("text/xml", name))
        }
        Some(b'{') => Ok(("application/x-ndjson", lines_of(path, first)?)),
        _ => Err("the file is neither interchange XML nor lines of JSON"),
    }
}

/// Returns the name of an interchange by its root element.
fn root(head: &[u8]) -> Option<String> {
    let at = head.windows(ROOT.len()).position(|window| window == ROOT)? + ROOT.len();
    let rest = &head[at..];
    let end = rest.iter().position(|byte| !byte.is_ascii_alphanumeric())?;
    (end > 0).then(|| String::from_utf8_lossy(&rest[..end]).into_owned())
}

/// Returns the first word of a file's name.
fn stem(path: &Path) -> Option<String> {
    let stem = path.file_stem()?.to_str()?;
    let first = stem.split(['-', '_', '.', ' ']).next().unwrap_or(stem);
    (!first.is_empty()).then(|| first.to_owned())
}

/// Returns the resource of lines of JSON: that of the file's name, unless each line names its own.
fn lines_of(path: &Path, head: &[u8]) -> Result<String, &'static str> {
    let line = head.split(|byte| *byte == b'\n').find(|line| !line.trim_ascii().is_empty());
    let first: Option<serde_json::Value> = line.and_then(|line| serde_json::from_slice(line).ok());
    if first.is_some_and(|line| line["resource"].is_string() && line["document"].is_object()) {
        return Ok(DOCUMENTS.to_owned());
    }
    let stem = stem(path).ok_or("the file is not named after a resource")?;
    // `ed-fi/students.jsonl`, or `students/1.jsonl`.
    let folder = path.parent().and_then(Path::file_name).and_then(|name| name.to_str());
    let is_number = stem.bytes().all(|byte| byte.is_ascii_digit());
    Ok(match folder {
        Some(folder) if is_number => folder.to_owned(),
        _ => stem,
    })
}

/// Returns a text by which the same upload is found again: it changes with the names, the sizes and
/// the times of the files.
pub fn fingerprint(sources: &[Source]) -> String {
    // FNV-1a, twice with other beginnings: it only has to distinguish one key's uploads.
    let mut sums = [0xcbf2_9ce4_8422_2325_u64, 0x8422_2325_cbf2_9ce4];
    for source in sources {
        let path = std::path::absolute(&source.path).unwrap_or_else(|_| source.path.clone());
        let text = format!("{}\n{}\n{}\n", path.display(), source.bytes, source.changed);
        for sum in &mut sums {
            for byte in text.bytes() {
                *sum = (*sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
            }
        }
    }
    format!("upload-{:016x}{:016x}", sums[0], sums[1])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_what_it_begins_with_and_then_what_its_name_says() {
        for (path, head, expected) in [
            ("a.xml", "<?xml version='1.0'?>\n<InterchangeStudent xmlns='x'>", "Student"),
            ("a.xml", "<InterchangeDescriptors>", "Descriptors"),
            ("in/Student-2.xml", "<Other/>", "Student"),
            ("in/students.jsonl", "{\"studentUniqueId\":\"1\"}", "students"),
            ("in/students/1.jsonl", "{\"studentUniqueId\":\"1\"}", "students"),
            ("in/all.jsonl", "\n{\"resource\":\"x\",\"document\":{}}\n", "Documents"),
        ] {
            let (_, interchange) = kind(Path::new(path), head.as_bytes()).unwrap();
            assert_eq!(interchange, expected, "{path}");
        }
        assert!(kind(Path::new("a.zip"), b"PK").is_err());
    }

    #[test]
    fn a_fingerprint_changes_with_what_it_is_of() {
        let folder = std::env::temp_dir().join(format!("homeroom-upload-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("a.xml"), "<InterchangeStudent/>").unwrap();
        let source = find(&[folder.join("a.xml")]).unwrap().0.remove(0);
        std::fs::remove_dir_all(&folder).unwrap();
        let own = fingerprint(std::slice::from_ref(&source));

        assert_eq!(own, fingerprint(std::slice::from_ref(&source)));
        for other in [
            Source { path: "b.xml".into(), ..source.clone() },
            Source { bytes: 600, ..source.clone() },
            Source { changed: 8, ..source.clone() },
        ] {
            assert_ne!(own, fingerprint(&[other]));
        }
    }
}
