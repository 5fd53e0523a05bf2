//! The files of a package, whose names and sizes are not to be trusted.

use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::io::{self, BufReader, Read as _};

use encoding_rs::Encoding;
use unicode_normalization::UnicodeNormalization as _;
use zip::result::ZipError;
use zip::{CompressionMethod, ZipArchive};

use super::encoding::name_in;
use super::finding::{Finding, Findings};
use super::limits::PackageLimits;

/// What computers leave in archives, and no course needs.
const JUNK: &[&str] = &["__MACOSX", ".DS_Store", "Thumbs.db", "desktop.ini", ".git", ".svn"];

/// The bits of a Unix mode that say what a file is, and the value for a link.
const KIND_BITS: u32 = 0o170_000;
const LINK: u32 = 0o120_000;

/// A file of a package.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Entry {
    /// Its path below the manifest's folder, with slashes.
    pub(crate) path: String,
    /// Its place in the archive.
    pub(crate) index: usize,
    /// Its name as the archive has it, where that is not in UTF-8.
    raw: Option<Vec<u8>>,
}

impl Entry {
    /// Returns whether the archive does not tell the encoding of its name.
    pub(crate) fn is_unclear(&self) -> bool {
        self.raw.is_some()
    }
}

/// The archive of a package.
#[derive(Debug)]
pub(crate) struct Archive {
    pub(crate) zip: ZipArchive<BufReader<File>>,
    pub(crate) entries: Vec<Entry>,
    /// Paths of files that are among the findings and not among the entries.
    pub(crate) refused: Vec<String>,
    /// The bytes of the archive itself.
    pub(crate) packed: u64,
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
        let packed = file.metadata().map_err(|error| damaged(&error))?.len();
        let mut zip = ZipArchive::new(BufReader::new(file)).map_err(|error| broken(&error))?;
        if zip.len() > limits.files {
            let message = format!("the archive has more than {} files", limits.files);
            return Err(Finding::fail("too-many-files", message));
        }
        let mut entries: Vec<Entry> = vec![];
        let mut known: HashMap<String, usize> = HashMap::new();
        let mut refused: Vec<String> = vec![];
        let mut methods: BTreeMap<&str, (String, usize)> = BTreeMap::new();
        let (mut junk, mut declared) = (0_usize, 0_u64);
        let mut places = vec![];
        for index in 0..zip.len() {
            let entry = zip.by_index_raw(index).map_err(|error| broken(&error))?;
            let end = entry.data_start().saturating_add(entry.compressed_size());
            places.push((entry.header_start(), end));
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
                findings.add(Finding::fail("link", message).of_file(path.clone()));
                refused.push(path);
                continue;
            }
            if entry.encrypted() {
                let message = "the archive has a file with a password; pack it without one";
                findings.add(Finding::fail("encrypted", message).of_file(path.clone()));
                refused.push(path);
                continue;
            }
            let method = entry.compression();
            if !matches!(method, CompressionMethod::Stored | CompressionMethod::Deflated) {
                let first = methods.entry(method_name(method));
                first.or_insert_with(|| (path.clone(), 0)).1 += 1;
                refused.push(path);
                continue;
            }
            declared = declared.saturating_add(entry.size());
            let raw = entry.name_raw();
            let raw = std::str::from_utf8(raw).is_err().then(|| raw.to_owned());
            match known.insert(path.clone(), entries.len()) {
                Some(at) => {
                    let message = "the archive has a file twice; the last one is taken";
                    findings.add(Finding::warn("file-twice", message).of_file(path.clone()));
                    entries[at] = Entry { path: path.clone(), index, raw };
                    known.insert(path, at);
                }
                None => entries.push(Entry { path, index, raw }),
            }
        }
        for (method, (first, files)) in methods {
            let what = if files == 1 { "a file".into() } else { format!("{files} files") };
            let message = format!(
                "the archive has {what} packed with {method}, which players do not know; pack with \
                 the usual method (deflate)"
            );
            findings.add(Finding::fail("method", message).of_file(first));
        }
        if overlap(places) {
            let message = "the archive has files that share their bytes, as only content made for harm \
                           has; pack it anew";
            return Err(Finding::fail("overlap", message));
        }
        if declared > limits.unpacked_max(packed) {
            return Err(limits.too_much(packed));
        }
        if junk > 0 {
            let message = format!("{junk} files that a computer has left there are passed over");
            findings.add(Finding::warn("junk", message));
        }
        Ok(Self { zip, entries, refused, packed })
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

    /// Returns the longest folder that has all files, empty or with a slash at its end.
    pub(crate) fn common_folder(&self) -> &str {
        let folder = |path: &str| path.rfind('/').map_or(0, |at| at + 1);
        let mut paths = self.entries.iter().map(|entry| entry.path.as_str());
        let Some(first) = paths.next() else { return "" };
        let mut common = &first[..folder(first)];
        for path in paths {
            while !path.starts_with(common) {
                common = &common[..folder(&common[..common.len() - 1])];
            }
        }
        common
    }

    /// Makes all paths relative to a folder that has all files.
    pub(crate) fn within(mut self, folder: &str) -> Self {
        for entry in &mut self.entries {
            if let Some(below) = entry.path.strip_prefix(folder) {
                entry.path = below.to_owned();
            }
        }
        self
    }

    /// Returns the names whose encoding the archive does not tell.
    pub(crate) fn unclear_names(&self) -> Vec<&[u8]> {
        self.entries.iter().filter_map(|entry| entry.raw.as_deref()).collect()
    }

    /// Reads the names whose encoding the archive does not tell in this one.
    pub(crate) fn respell(&mut self, encoding: &'static Encoding, path_bytes: usize) {
        for entry in &mut self.entries {
            let Some(raw) = &entry.raw else { continue };
            let name = name_in(raw, encoding).map(|name| name.nfc().collect::<String>());
            if let Some(Ok(path)) = name.map(|name| plain_path(&name, path_bytes)) {
                entry.path = path;
            }
        }
    }
}

/// Returns the name of a file: UTF-8 where it is that, whether or not the archive says so, since some
/// computers do not, with composed letters, which others take apart.
fn name_of(raw: &[u8], read: &str) -> String {
    std::str::from_utf8(raw).unwrap_or(read).nfc().collect()
}

/// Returns the name of a method of packing, as people know it.
///
/// Source: .ZIP File Format Specification 6.3.10, §4.4.5.
fn method_name(method: CompressionMethod) -> &'static str {
    match method {
        CompressionMethod::DEFLATE64 => "Deflate64",
        CompressionMethod::BZIP2 => "bzip2",
        CompressionMethod::LZMA => "LZMA",
        CompressionMethod::ZSTD => "Zstandard",
        CompressionMethod::XZ => "XZ",
        CompressionMethod::PPMD => "PPMd",
        CompressionMethod::AES => "a password (AES)",
        _ => "an unusual method",
    }
}

/// Returns whether places of an archive, with their starts and ends, overlap.
fn overlap(mut places: Vec<(u64, u64)>) -> bool {
    places.sort_unstable();
    places.windows(2).any(|pair| pair[1].0 < pair[0].1)
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

pub(crate) fn broken(error: &ZipError) -> Finding {
    let why = match error {
        ZipError::InvalidPassword => "it has a password".to_owned(),
        other => other.to_string(),
    };
    Finding::fail("broken-zip", format!("the file is no zip archive that can be read: {why}"))
}

pub(crate) fn damaged(error: &io::Error) -> Finding {
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
    fn places_overlap_where_one_begins_before_another_ends() {
        assert!(!overlap(vec![(10, 20), (0, 10), (20, 20)]));
        assert!(overlap(vec![(10, 20), (0, 11)]));
        assert!(overlap(vec![(0, 10), (0, 10)]));
    }

    #[test]
    fn what_computers_leave_is_junk() {
        assert!(is_junk("__MACOSX/a/._b"));
        assert!(is_junk("a/.DS_Store"));
        assert!(!is_junk("a/b.html"));
    }
}
