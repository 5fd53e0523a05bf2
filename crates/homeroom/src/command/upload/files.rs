//! The files of an upload: their formats, interchanges and sizes.

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use crate::exit::Failure;

/// Most files of an upload.
const FILES_MAX: usize = homeroom_bulk_api::FILES_MAX;
/// Deepest level of folders that is searched.
const FOLDERS_MAX: usize = 32;
/// Bytes at the beginning of a file in which its kind is looked for.
const HEAD_BYTES: u64 = 64 << 10;
/// What the name of an interchange's root element begins with.
const ROOT: &[u8] = b"<Interchange";

/// A file to upload.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// Where it is.
    pub path: PathBuf,
    /// Its media type.
    pub format: &'static str,
    /// Its interchange; for lines of JSON its resource, or `Documents`.
    pub interchange: String,
    /// Its size in bytes.
    pub bytes: u64,
    /// When it was changed last, in nanoseconds.
    changed: u128,
}

/// Finds the files below all paths, in the order of the paths, and by name within a folder.
///
/// # Errors
///
/// Which path does not exist, or which file cannot be uploaded.
pub fn find(paths: &[PathBuf]) -> Result<Vec<Source>, Failure> {
    let mut found = vec![];
    for path in paths {
        let about = std::fs::metadata(path)
            .map_err(|error| Failure::Usage(format!("{}: {error}", path.display())))?;
        if about.is_dir() {
            search(path, FOLDERS_MAX, &mut found)?;
        } else {
            found.push(path.clone());
        }
    }
    if found.is_empty() {
        return Err(Failure::Usage(
            "no file to upload: folders are searched for .xml, .jsonl and .ndjson files, and none was \
             found"
                .into(),
        ));
    }
    if found.len() > FILES_MAX {
        return Err(Failure::Usage(format!(
            "{} files, and an upload has at most {FILES_MAX}; upload them in parts",
            found.len()
        )));
    }
    found.iter().map(|path| source(path)).collect()
}

fn search(folder: &Path, depth: usize, found: &mut Vec<PathBuf>) -> Result<(), Failure> {
    let failed = |why: String| Failure::Usage(format!("{}: {why}", folder.display()));
    let Some(depth) = depth.checked_sub(1) else {
        return Err(failed(format!("folders are nested deeper than {FOLDERS_MAX}")));
    };
    let entries = std::fs::read_dir(folder).and_then(Iterator::collect::<Result<Vec<_>, _>>);
    let mut entries = entries.map_err(|error| failed(error.to_string()))?;
    entries.sort_by_key(std::fs::DirEntry::file_name);
    for entry in entries {
        let path = entry.path();
        if entry.file_name().as_encoded_bytes().starts_with(b".") {
            continue;
        }
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            search(&path, depth, found)?;
        } else if matches!(&*extension(&path), "xml" | "jsonl" | "ndjson")
            && path.file_name().is_none_or(|name| name != "deletes.jsonl")
        {
            found.push(path);
        }
    }
    Ok(())
}

fn extension(path: &Path) -> String {
    let extension = path.extension().and_then(|extension| extension.to_str());
    extension.unwrap_or("").to_ascii_lowercase()
}

fn source(path: &Path) -> Result<Source, Failure> {
    let failed = |why: &dyn std::fmt::Display| Failure::Usage(format!("{}: {why}", path.display()));
    let about = std::fs::metadata(path).map_err(|error| failed(&error))?;
    let mut head = vec![];
    let file = File::open(path).map_err(|error| failed(&error))?;
    file.take(HEAD_BYTES).read_to_end(&mut head).map_err(|error| failed(&error))?;
    if about.len() == 0 {
        return Err(failed(&"the file is empty"));
    }
    let (format, interchange) = kind(path, &head).map_err(|why| failed(&why))?;
    let changed = about.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    Ok(Source {
        path: path.to_owned(),
        format,
        interchange,
        bytes: about.len(),
        changed: changed.map_or(0, |time| time.as_nanos()),
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
        _ => Err("the file is neither interchange XML nor lines of JSON; unpack what is packed"),
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
        return Ok("Documents".to_owned());
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
        let source = Source {
            path: "a.xml".into(),
            format: "text/xml",
            interchange: "Student".into(),
            bytes: 5,
            changed: 7,
        };
        let own = fingerprint(std::slice::from_ref(&source));

        assert_eq!(own, fingerprint(std::slice::from_ref(&source)));
        for other in [
            Source { path: "b.xml".into(), ..source.clone() },
            Source { bytes: 6, ..source.clone() },
            Source { changed: 8, ..source.clone() },
        ] {
            assert_ne!(own, fingerprint(&[other]));
        }
    }
}
