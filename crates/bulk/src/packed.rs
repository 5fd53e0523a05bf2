//! Files packed with gzip or in a zip archive.

use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Read};
use std::path::{Component, Path, PathBuf};

use flate2::bufread::GzDecoder;
use zip::ZipArchive;

use crate::place::Malformed;
use crate::spool::{Damage, Spool, Spooled};

/// Most bytes that the packed files of one path may have when they are unpacked.
pub(crate) const UNPACKED_BYTES_MAX: u64 = 1 << 40;
/// How much larger than packed content may be. Interchanges are seldom more than 50 times as large.
const RATIO_MAX: u64 = 400;
/// Content up to this many bytes may have any ratio.
const ANY_RATIO_BYTES: u64 = 64 << 20;
/// Most files in an archive.
const ENTRIES_MAX: usize = 100_000;

/// A way of packing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Packing {
    /// One file.
    Gzip,
    /// Several files.
    Zip,
}

/// A file that was unpacked.
#[derive(Debug)]
pub(crate) struct Unpacked {
    /// Its path in the archive; for gzip, the file's name without its ending.
    pub inner: PathBuf,
    /// Its content, or why it cannot be read.
    pub content: Result<Spool, String>,
    /// Why the content ends early, and where.
    pub damage: Option<Malformed>,
}

impl Packing {
    /// Finds out how a file is packed, by its name, or by its first bytes if that says nothing.
    pub(crate) fn of(path: &Path, is_known: bool) -> Option<Self> {
        let named = Self::named(path);
        if named.is_some() || is_known {
            return named;
        }
        let mut first = vec![];
        let about = std::fs::metadata(path).ok()?;
        if !about.is_file() {
            return None;
        }
        File::open(path).ok()?.take(4).read_to_end(&mut first).ok()?;
        Self::of_bytes(&first)
    }

    /// Finds out how a file is packed by its name.
    pub(crate) fn named(path: &Path) -> Option<Self> {
        match path.extension()?.to_str()?.to_ascii_lowercase().as_str() {
            "gz" | "gzip" => Some(Self::Gzip),
            "zip" => Some(Self::Zip),
            _ => None,
        }
    }

    /// Finds out how content is packed by its first bytes.
    pub(crate) fn of_bytes(first: &[u8]) -> Option<Self> {
        match first {
            [0x1f, 0x8b, ..] => Some(Self::Gzip),
            [b'P', b'K', 3 | 5, 4 | 6, ..] => Some(Self::Zip),
            _ => None,
        }
    }
}

/// Unpacks a file. `content` is where its bytes are; `left` is the number of bytes that it, and what is
/// packed in it, may still have.
///
/// # Errors
///
/// Returns why nothing of it can be read, as a sentence without its end.
pub(crate) fn unpack(
    path: &Path,
    content: &Path,
    packing: Packing,
    is_wanted: &dyn Fn(&Path) -> bool,
    left: &mut u64,
) -> Result<Vec<Unpacked>, String> {
    let unreadable = |error: io::Error| format!("the file cannot be read: {error}");
    let file = File::open(content).map_err(unreadable)?;
    match packing {
        Packing::Gzip => {
            let packed = file.metadata().map_err(unreadable)?.len();
            let inner = path.file_name().map(PathBuf::from).unwrap_or_default().with_extension("");
            Ok(vec![unpacked(inner, Gzip::new(BufReader::new(file)), packed, left)?])
        }
        Packing::Zip => unzip(file, is_wanted, left),
    }
}

/// Unpacks a file of an archive that is packed once more.
pub(crate) fn plainly(file: Unpacked, left: &mut u64) -> Unpacked {
    let content = match (&file.content, Packing::named(&file.inner)) {
        (Ok(spool), Some(Packing::Gzip)) => {
            unpack(&file.inner, spool.path(), Packing::Gzip, &|_| true, left)
        }
        (Ok(_), Some(Packing::Zip)) => {
            Err("an archive in an archive is not unpacked; unpack it first".into())
        }
        _ => return file,
    };
    match content.map(|mut unpacked| unpacked.pop()) {
        Ok(Some(unpacked)) => {
            let damage = unpacked.damage.or(file.damage);
            Unpacked { inner: file.inner.with_file_name(&unpacked.inner), damage, ..unpacked }
        }
        Ok(None) => file,
        Err(problem) => Unpacked { content: Err(problem), ..file },
    }
}

fn unzip(
    file: File,
    is_wanted: &dyn Fn(&Path) -> bool,
    left: &mut u64,
) -> Result<Vec<Unpacked>, String> {
    let broken =
        |error: zip::result::ZipError| format!("it is no zip archive that can be read: {error}");
    let mut archive = ZipArchive::new(BufReader::new(file)).map_err(broken)?;
    if archive.len() > ENTRIES_MAX {
        return Err(format!("the archive has more than {ENTRIES_MAX} files; pack fewer together"));
    }
    let mut all = vec![];
    for at in 0..archive.len() {
        let name = archive.name_for_index(at).map(plain_path);
        let entry = match archive.by_index(at) {
            Ok(entry) => entry,
            Err(error) => {
                let inner = name.unwrap_or_default();
                let content = Err(format!("it cannot be unpacked: {error}"));
                all.push(Unpacked { inner, content, damage: None });
                continue;
            }
        };
        let inner = plain_path(entry.name());
        if entry.is_dir() || is_hidden(&inner) || !is_wanted(&inner) {
            continue;
        }
        let packed = entry.compressed_size();
        all.push(unpacked(inner, entry, packed, left)?);
    }
    all.sort_by(|a, b| a.inner.cmp(&b.inner));
    Ok(all)
}

fn unpacked(
    inner: PathBuf,
    source: impl Read,
    packed: u64,
    left: &mut u64,
) -> Result<Unpacked, String> {
    let bytes_max = *left;
    let allows = |bytes: u64| {
        if bytes > bytes_max {
            return Err(format!(
                "it, and what was packed with it, has more than {UNPACKED_BYTES_MAX} bytes when it is \
                 unpacked"
            ));
        }
        if bytes > ANY_RATIO_BYTES && bytes / packed.max(1) > RATIO_MAX {
            return Err(format!(
                "it is more than {RATIO_MAX} times as large when it is unpacked, as only content \
                 made for harm is"
            ));
        }
        Ok(())
    };
    let spooled = Spool::of(source, allows)
        .map_err(|error| format!("its content cannot be kept for reading: {error}"))?;
    let Spooled { spool, bytes, lines, damage } = spooled;
    *left = left.saturating_sub(bytes);
    if bytes == 0
        && let Some(damage) = damage
    {
        let content = Err(format!("it cannot be unpacked: {}", damage.into_text()));
        return Ok(Unpacked { inner, content, damage: None });
    }
    let damage = match damage {
        // Any of its bytes may be another, so that no record of it can be told from a good one.
        Some(Damage::Wrong(problem)) => {
            let content = Err(format!(
                "the packed file is damaged ({problem}), and any of its records may be wrong; copy it \
                 or pack it again"
            ));
            return Ok(Unpacked { inner, content, damage: None });
        }
        Some(Damage::Cut(problem)) => Some(Malformed {
            line: lines + 1,
            column: 1,
            message: format!("the packed file cannot be read any further: {problem}"),
        }),
        None => None,
    };
    Ok(Unpacked { inner, content: Ok(spool), damage })
}

/// The parts of a gzip file, one after the other, each with a checksum of its own.
struct Gzip {
    /// The part that is read; [`None`] after the last one.
    part: Option<GzDecoder<BufReader<File>>>,
    /// Whether a part before it was whole.
    is_later: bool,
}

impl Gzip {
    fn new(file: BufReader<File>) -> Self {
        Self { part: Some(GzDecoder::new(file)), is_later: false }
    }
}

impl Read for Gzip {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        while let Some(part) = &mut self.part {
            match part.read(bytes) {
                Ok(0) if !bytes.is_empty() => {
                    let mut file = self.part.take().map(GzDecoder::into_inner);
                    if let Some(file) = file.take_if(|file| !matches!(file.fill_buf(), Ok([]))) {
                        (self.part, self.is_later) = (Some(GzDecoder::new(file)), true);
                    }
                }
                // What was read is right, by its own checksum.
                Err(error) if self.is_later && part.header().is_none() => {
                    let problem = format!("what follows its last part is not gzip: {error}");
                    return Err(io::Error::new(io::ErrorKind::UnexpectedEof, problem));
                }
                read => return read,
            }
        }
        Ok(0)
    }
}

/// Returns the path of an archive's file without steps out of the archive.
fn plain_path(name: &str) -> PathBuf {
    let name = name.replace('\\', "/");
    Path::new(&name).components().filter(|part| matches!(part, Component::Normal(_))).collect()
}

/// Whether a file is one that programs leave in archives: hidden, or macOS's beside each file.
fn is_hidden(path: &Path) -> bool {
    path.components().any(|part| {
        let name = part.as_os_str().as_encoded_bytes();
        name.starts_with(b".") || name == b"__MACOSX"
    })
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    fn gzip(content: &[u8]) -> Vec<u8> {
        let mut out = flate2::write::GzEncoder::new(vec![], flate2::Compression::default());
        out.write_all(content).unwrap();
        out.finish().unwrap()
    }

    #[test]
    fn what_is_packed_twice_in_an_archive_counts_for_the_whole_of_it() {
        let folder = crate::tests::Folder::new();
        let mut zip = zip::ZipWriter::new(io::Cursor::new(vec![]));
        let packed = gzip(&[b' '; 1_000]);
        for name in ["a.jsonl.gz", "b.jsonl.gz", "c.jsonl.gz"] {
            zip.start_file(name, zip::write::SimpleFileOptions::default()).unwrap();
            zip.write_all(&packed).unwrap();
        }
        let path = folder.write("in.zip", zip.finish().unwrap().into_inner());
        let mut left = 3 * packed.len() as u64 + 2_500;

        let unpacked = unpack(&path, &path, Packing::Zip, &|_| true, &mut left).unwrap();
        let plain: Vec<_> = unpacked.into_iter().map(|file| plainly(file, &mut left)).collect();

        let bytes = |file: &Unpacked| {
            let content = file.content.as_ref().ok();
            content.map_or(0, |spool| std::fs::metadata(spool.path()).unwrap().len())
        };
        assert_eq!(plain.iter().map(bytes).sum::<u64>(), 2_000);
        let cut: Vec<_> = plain.iter().filter_map(|file| file.damage.as_ref()).collect();
        assert!(matches!(cut[..], [only] if only.message.contains("packed with it")), "{cut:?}");
    }

    #[test]
    fn a_path_in_an_archive_never_leads_out_of_it() {
        for (name, plain) in
            [("../../etc/a.xml", "etc/a.xml"), ("/a/b.xml", "a/b.xml"), ("a\\..\\b.xml", "a/b.xml")]
        {
            assert_eq!(plain_path(name), Path::new(plain), "{name}");
        }
        assert!(is_hidden(Path::new("__MACOSX/a.xml")) && is_hidden(Path::new("a/.b.xml")));
    }
}
