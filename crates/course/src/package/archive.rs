//! The files of a package, whose names and sizes are not to be trusted.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufReader, Read, Seek as _, SeekFrom};

use unicode_normalization::UnicodeNormalization as _;
use zip::result::ZipError;
use zip::{CompressionMethod, ZipArchive};

use super::finding::{Finding, Findings};
use super::limits::PackageLimits;

/// What computers leave in archives, and no course needs.
const JUNK: &[&str] = &["__MACOSX", ".DS_Store", "Thumbs.db", "desktop.ini", ".git", ".svn"];

/// Bytes from which the ratio of sizes counts.
const ANY_RATIO_BYTES: u64 = 1 << 20;

/// The bits of a Unix mode that say what a file is, and the value for a link.
const KIND_BITS: u32 = 0o170_000;
const LINK: u32 = 0o120_000;

/// A file of a package.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Entry {
    /// Its path below the manifest's folder, with slashes.
    pub(crate) path: String,
    /// Its place in the archive.
    index: usize,
}

/// The archive of a package.
#[derive(Debug)]
pub(crate) struct Archive {
    zip: ZipArchive<BufReader<File>>,
    pub(crate) entries: Vec<Entry>,
}

impl Archive {
    /// Reads the table of contents. What must not be there is a failure among the findings.
    ///
    /// # Errors
    ///
    /// Why it is no archive that can be read.
    pub(crate) fn open(
        file: File,
        limits: &PackageLimits,
        findings: &mut Findings,
    ) -> Result<Self, Finding> {
        let mut zip = ZipArchive::new(BufReader::new(file)).map_err(|error| broken(&error))?;
        if zip.len() > limits.files {
            let message = format!("the archive has more than {} files", limits.files);
            return Err(Finding::fail("too-many-files", message));
        }
        let mut entries: Vec<Entry> = vec![];
        let mut known: HashMap<String, usize> = HashMap::new();
        let (mut junk, mut declared) = (0_usize, 0_u64);
        for index in 0..zip.len() {
            let entry = zip.by_index_raw(index).map_err(|error| broken(&error))?;
            if entry.is_dir() {
                continue;
            }
            let name = name_of(entry.name_raw(), entry.name());
            let path = match plain_path(&name, limits.path_bytes) {
                Ok(path) => path,
                Err(why) => {
                    let message = format!("the archive has a file whose path {why}");
                    findings.add(Finding::fail("bad-path", message).of_file(printable(&name)));
                    continue;
                }
            };
            if is_junk(&path) {
                junk += 1;
                continue;
            }
            if entry.unix_mode().is_some_and(|mode| mode & KIND_BITS == LINK) {
                let message =
                    "the archive has a link, which could lead anywhere; pack the file itself";
                findings.add(Finding::fail("link", message).of_file(path));
                continue;
            }
            if entry.encrypted() {
                let message = "the archive has a file with a password; pack it without one";
                findings.add(Finding::fail("encrypted", message).of_file(path));
                continue;
            }
            let method = entry.compression();
            if !matches!(method, CompressionMethod::Stored | CompressionMethod::Deflated) {
                let message = format!(
                    "the archive has a file packed with {method}, which browsers and players do not \
                     know; pack it with the usual method (deflate)"
                );
                findings.add(Finding::fail("method", message).of_file(path));
                continue;
            }
            declared = declared.saturating_add(entry.size());
            match known.insert(path.clone(), entries.len()) {
                Some(at) => {
                    let message = "the archive has a file twice; the last one is taken";
                    findings.add(Finding::warn("file-twice", message).of_file(path.clone()));
                    entries[at] = Entry { path: path.clone(), index };
                    known.insert(path, at);
                }
                None => entries.push(Entry { path, index }),
            }
        }
        if declared > limits.unpacked_bytes {
            let message =
                format!("the archive has more than {} bytes unpacked", limits.unpacked_bytes);
            return Err(Finding::fail("too-large", message));
        }
        if junk > 0 {
            let message = format!("{junk} files that a computer has left there are passed over");
            findings.add(Finding::warn("junk", message));
        }
        Ok(Self { zip, entries })
    }

    /// Reads a file of at most so many bytes.
    ///
    /// # Errors
    ///
    /// Why it cannot be read.
    pub(crate) fn read(&mut self, path: &str, bytes_max: usize) -> Result<Vec<u8>, Finding> {
        let Some(entry) = self.entries.iter().find(|entry| entry.path == path) else {
            return Err(Finding::fail("missing-file", "the file is missing").of_file(path));
        };
        let file = self.zip.by_index(entry.index).map_err(|e| broken(&e).of_file(path))?;
        let mut bytes = vec![];
        let read = file.take(bytes_max as u64 + 1).read_to_end(&mut bytes);
        read.map_err(|error| damaged(&error).of_file(path))?;
        if bytes.len() > bytes_max {
            let message = format!("the file has more than {bytes_max} bytes");
            return Err(Finding::fail("too-large", message).of_file(path));
        }
        Ok(bytes)
    }

    /// Keeps only files below a folder, whose paths are then relative to it.
    pub(crate) fn within(mut self, folder: &str) -> Self {
        if !folder.is_empty() {
            self.entries.retain_mut(|entry| match entry.path.strip_prefix(folder) {
                Some(rest) => {
                    entry.path = rest.to_owned();
                    true
                }
                None => false,
            });
        }
        self
    }
}

/// What takes a file's path and bytes, piece by piece.
pub type Taking<'t> = dyn FnMut(&str, &[u8]) -> Result<(), Finding> + 't;

/// The files of a package, to be unpacked one after the other.
#[derive(Debug)]
pub struct Unpacking {
    from: From,
    limits: PackageLimits,
}

#[derive(Debug)]
enum From {
    Archive(Archive),
    /// One file and the path that it gets.
    File(File, String),
}

impl Unpacking {
    pub(crate) fn of_archive(archive: Archive, limits: PackageLimits) -> Self {
        Self { from: From::Archive(archive), limits }
    }

    pub(crate) fn of_file(file: File, path: String, limits: PackageLimits) -> Self {
        Self { from: From::File(file, path), limits }
    }

    /// Returns the number of files.
    pub fn files(&self) -> usize {
        match &self.from {
            From::Archive(archive) => archive.entries.len(),
            From::File(..) => 1,
        }
    }

    /// Hands each file's path and bytes, piece by piece, to a function; an empty piece ends a file.
    ///
    /// # Errors
    ///
    /// Why a file cannot be unpacked, as a finding, or what the function says.
    pub fn each(&mut self, take: &mut Taking<'_>) -> Result<(), Finding> {
        let mut left = self.limits.unpacked_bytes;
        match &mut self.from {
            From::File(file, path) => {
                file.seek(SeekFrom::Start(0)).map_err(|error| damaged(&error))?;
                pour(file, path, u64::MAX, &mut left, self.limits.ratio, take)
            }
            From::Archive(archive) => {
                for entry in &archive.entries {
                    let file = archive.zip.by_index(entry.index);
                    let mut file = file.map_err(|error| broken(&error).of_file(&entry.path))?;
                    let packed = file.compressed_size();
                    pour(&mut file, &entry.path, packed, &mut left, self.limits.ratio, take)?;
                }
                Ok(())
            }
        }
    }
}

fn pour(
    from: &mut dyn Read,
    path: &str,
    packed: u64,
    left: &mut u64,
    ratio: u64,
    take: &mut Taking<'_>,
) -> Result<(), Finding> {
    let mut buffer = vec![0; 256 << 10];
    let mut all = 0_u64;
    loop {
        let read = from.read(&mut buffer).map_err(|error| damaged(&error).of_file(path))?;
        take(path, &buffer[..read])?;
        if read == 0 {
            return Ok(());
        }
        all += read as u64;
        *left = left.checked_sub(read as u64).ok_or_else(|| {
            Finding::fail("too-large", "the package is too large when it is unpacked")
        })?;
        if all > ANY_RATIO_BYTES && all / packed.max(1) > ratio {
            let message = format!(
                "a file is more than {ratio} times as large when it is unpacked, as only content \
                 made for harm is"
            );
            return Err(Finding::fail("bomb", message).of_file(path));
        }
    }
}

/// Returns the name of a file: UTF-8 where it is that, whether or not the archive says so, since some
/// computers do not, with composed letters, which others take apart.
fn name_of(raw: &[u8], read: &str) -> String {
    std::str::from_utf8(raw).unwrap_or(read).nfc().collect()
}

/// Returns a path of an archive with slashes, or why it is refused.
fn plain_path(name: &str, bytes_max: usize) -> Result<String, &'static str> {
    if name.len() > bytes_max {
        return Err("is too long");
    }
    if name.chars().any(char::is_control) {
        return Err("has control characters");
    }
    let name = name.replace('\\', "/");
    if name.starts_with('/') || name.get(1..2) == Some(":") {
        return Err("begins at the root of a disk; pack paths that are relative");
    }
    let parts: Vec<&str> = name.split('/').filter(|part| !matches!(*part, "" | ".")).collect();
    if parts.contains(&"..") {
        return Err("leads out of the package");
    }
    if parts.is_empty() {
        return Err("is empty");
    }
    Ok(parts.join("/"))
}

fn is_junk(path: &str) -> bool {
    path.split('/').any(|part| JUNK.contains(&part) || part.starts_with("._"))
}

/// Returns a name without what could disturb a terminal.
fn printable(name: &str) -> String {
    name.chars().take(200).map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect()
}

fn broken(error: &ZipError) -> Finding {
    let why = match error {
        ZipError::InvalidPassword => "it has a password".to_owned(),
        other => other.to_string(),
    };
    Finding::fail("broken-zip", format!("the file is no zip archive that can be read: {why}"))
}

fn damaged(error: &io::Error) -> Finding {
    Finding::fail("broken-zip", format!("a file of the archive cannot be read: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_that_lead_elsewhere_are_refused() {
        for bad in ["/etc/passwd", "a/../../b", "..\\b", "C:\\x", "", "a\0b", "a\nb", "./"] {
            assert!(plain_path(bad, 1_024).is_err(), "{bad:?}");
        }
        assert_eq!(plain_path("a\\b//./c.html", 1_024).unwrap(), "a/b/c.html");
        assert!(plain_path(&"a".repeat(2_000), 1_024).is_err());
    }

    #[test]
    fn names_are_utf_8_where_they_are_that_and_composed() {
        assert_eq!(name_of("e\u{301}t\u{e9}.html".as_bytes(), "?"), "\u{e9}t\u{e9}.html");
        assert_eq!(name_of(b"\x82t\x82.html", "\u{e9}t\u{e9}.html"), "\u{e9}t\u{e9}.html");
    }

    #[test]
    fn what_computers_leave_is_junk() {
        assert!(is_junk("__MACOSX/a/._b"));
        assert!(is_junk("a/.DS_Store"));
        assert!(!is_junk("a/b.html"));
    }
}
