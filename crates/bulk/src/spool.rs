//! Content that a load cannot read in place, such as the standard input or a packed file, is copied
//! to a file of its own, because a load reads its input twice.
//!
//! The copy has no name, so that nothing is left of it when the process ends, however it ends.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use homeroom_store::Uuid;

/// Bytes that are copied at a time.
const CHUNK: usize = 256 << 10;

/// A copy of some content.
#[derive(Debug)]
pub(crate) struct Spool {
    path: PathBuf,
    /// Keeps the content as long as it is open.
    _file: File,
}

/// How much was copied, and why no more.
#[derive(Debug)]
pub(crate) struct Spooled {
    /// The copy.
    pub spool: Spool,
    /// Number of bytes in it.
    pub bytes: u64,
    /// Number of line breaks in it.
    pub lines: u64,
    /// Why the copy ends early, or is not to be trusted.
    pub damage: Option<Damage>,
}

/// What is wrong with content that was copied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Damage {
    /// It ends early; what is there is right.
    Cut(String),
    /// It is not what was packed, at a place that nobody knows.
    Wrong(String),
}

impl Damage {
    fn of(error: &io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::UnexpectedEof => Self::Cut(error.to_string()),
            _ => Self::Wrong(error.to_string()),
        }
    }

    /// Returns what is wrong, as a sentence without its end.
    pub(crate) fn into_text(self) -> String {
        match self {
            Self::Cut(problem) | Self::Wrong(problem) => problem,
        }
    }
}

/// A file that is written and then read as a [`Spool`].
pub(crate) struct SpoolWriter {
    file: File,
}

impl SpoolWriter {
    /// Makes an empty file that only its owner can read.
    ///
    /// # Errors
    ///
    /// Returns the I/O error.
    pub(crate) fn new() -> io::Result<Self> {
        let path = std::env::temp_dir().join(format!("homeroom-load-{}", Uuid::new()));
        let mut options = File::options();
        let file = options.read(true).write(true).create_new(true).mode(0o600).open(&path)?;
        std::fs::remove_file(&path)?;
        Ok(Self { file })
    }

    /// Ends the writing.
    pub(crate) fn finish(self) -> Spool {
        let path = PathBuf::from(format!("/proc/self/fd/{}", self.file.as_raw_fd()));
        Spool { path, _file: self.file }
    }
}

impl Write for SpoolWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Spool {
    /// Returns a path under which the copy can be opened as long as this value lives.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Copies what `source` yields, up to the first error or up to where `allows`, which gets the
    /// number of bytes so far, says that it is too much.
    ///
    /// # Errors
    ///
    /// Returns the error of writing the copy.
    pub(crate) fn of(
        mut source: impl Read,
        allows: impl Fn(u64) -> Result<(), String>,
    ) -> io::Result<Spooled> {
        let mut out = SpoolWriter::new()?;
        let mut chunk = vec![0; CHUNK];
        let (mut bytes, mut lines, mut damage) = (0, 0, None);
        loop {
            let read = match source.read(&mut chunk) {
                Ok(0) => break,
                Ok(read) => read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => {
                    damage = Some(Damage::of(&error));
                    break;
                }
            };
            bytes += read as u64;
            if let Err(problem) = allows(bytes) {
                damage = Some(Damage::Cut(problem));
                break;
            }
            lines += memchr::memchr_iter(b'\n', &chunk[..read]).count() as u64;
            out.write_all(&chunk[..read])?;
        }
        Ok(Spooled { spool: out.finish(), bytes, lines, damage })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_can_be_opened_often_and_ends_where_it_must() {
        let all = Spool::of(&b"a\nb\n"[..], |_| Ok(())).unwrap();
        let cut = Spool::of(&b"a\nb\n"[..], |bytes| match bytes {
            0..=3 => Ok(()),
            _ => Err("too much".to_owned()),
        });

        for _ in 0..2 {
            assert_eq!(std::fs::read(all.spool.path()).unwrap(), b"a\nb\n");
        }
        assert_eq!((all.bytes, all.lines, all.damage), (4, 2, None));
        assert_eq!(cut.unwrap().damage, Some(Damage::Cut("too much".to_owned())));
    }
}
