//! A file of an export: written once, counted and hashed, and synced to disk when finished.

use std::fmt::Write as _;
use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::write::GzEncoder;
use sha2::{Digest as _, Sha256};

use crate::error::ExportError;

/// Number of bytes that are buffered before they are hashed and written.
const BUFFER_BYTES: usize = 256 << 10;

/// Size and hash of a finished file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Written {
    pub(super) bytes: u64,
    pub(super) sha256: String,
}

/// Creates a folder, and its missing parents, that only the owner may read.
pub(super) fn make_folder(path: &Path) -> Result<(), ExportError> {
    std::fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(path)
        .map_err(|error| ExportError::of_file(path, error))
}

/// A file that counts and hashes what is written to it.
pub(super) struct Checked {
    file: File,
    hash: Sha256,
    bytes: u64,
}

impl Checked {
    /// Creates a file that only its owner may read, because it holds student data.
    pub(super) fn create(path: &Path) -> Result<Self, ExportError> {
        if let Some(folder) = path.parent() {
            make_folder(folder)?;
        }
        // Files of an earlier export have been removed by now; any other file is not overwritten.
        let file = OpenOptions::new().create_new(true).write(true).mode(0o600).open(path);
        let file = file.map_err(|error| ExportError::of_file(path, error))?;
        Ok(Self { file, hash: Sha256::new(), bytes: 0 })
    }

    /// Syncs the file to disk.
    pub(super) fn finish(self) -> io::Result<Written> {
        self.file.sync_all()?;
        let mut sha256 = String::with_capacity(64);
        for byte in self.hash.finalize() {
            _ = write!(sha256, "{byte:02x}");
        }
        Ok(Written { bytes: self.bytes, sha256 })
    }
}

impl Write for Checked {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = self.file.write(bytes)?;
        self.hash.update(&bytes[..count]);
        self.bytes += count as u64;
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// A text file, with or without compression.
pub(super) struct TextFile {
    path: PathBuf,
    out: Out,
}

enum Out {
    Plain(BufWriter<Checked>),
    Gzip(BufWriter<GzEncoder<Checked>>),
    Stream(BufWriter<io::Stdout>),
}

impl TextFile {
    pub(super) fn create(path: &Path, compress: bool) -> Result<Self, ExportError> {
        let file = Checked::create(path)?;
        let out = if compress {
            let encoder = GzEncoder::new(file, Compression::fast());
            Out::Gzip(BufWriter::with_capacity(BUFFER_BYTES, encoder))
        } else {
            Out::Plain(BufWriter::with_capacity(BUFFER_BYTES, file))
        };
        Ok(Self { path: path.to_owned(), out })
    }

    /// Makes a writer to the standard output.
    pub(super) fn stream() -> Self {
        let out = BufWriter::with_capacity(BUFFER_BYTES, io::stdout());
        Self { path: "-".into(), out: Out::Stream(out) }
    }

    pub(super) fn write(&mut self, bytes: &[u8]) -> Result<(), ExportError> {
        let done = match &mut self.out {
            Out::Plain(out) => out.write_all(bytes),
            Out::Gzip(out) => out.write_all(bytes),
            Out::Stream(out) => out.write_all(bytes),
        };
        done.map_err(|error| ExportError::of_file(&self.path, error))
    }

    /// Finishes the file; returns [`None`] for a stream.
    pub(super) fn finish(self) -> Result<Option<Written>, ExportError> {
        let done = match self.out {
            Out::Plain(out) => inner(out).and_then(Checked::finish).map(Some),
            Out::Gzip(out) => {
                inner(out).and_then(GzEncoder::finish).and_then(Checked::finish).map(Some)
            }
            Out::Stream(mut out) => out.flush().map(|()| None),
        };
        done.map_err(|error| ExportError::of_file(&self.path, error))
    }
}

fn inner<W: Write>(out: BufWriter<W>) -> io::Result<W> {
    out.into_inner().map_err(io::IntoInnerError::into_error)
}

/// Removes a file, if there is one.
///
/// # Errors
///
/// [`ExportError`] of the file.
pub(super) fn remove(path: &Path) -> Result<(), ExportError> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(ExportError::of_file(path, error))
        }
        _ => Ok(()),
    }
}
