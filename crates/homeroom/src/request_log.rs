//! The file of the log of requests: it is opened anew when its path has another file, so that whoever
//! rotates logs moves it away at any time.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use homeroom_gateway::{AccessLog, LoggedRequests};

use crate::config::{LogConfig, RequestLog};
use crate::exit::Failure;

/// Opens the log of requests, if there is to be one.
///
/// # Errors
///
/// Which file cannot be written, and why.
pub fn open(config: &LogConfig) -> Result<Option<AccessLog>, Failure> {
    let which = match config.requests {
        RequestLog::Off => return Ok(None),
        RequestLog::Errors => LoggedRequests::Errors,
        RequestLog::All => LoggedRequests::All,
    };
    let out: Box<dyn Write + Send> = match &config.requests_file {
        None => Box::new(std::io::stderr()),
        Some(path) => {
            let file = Followed::open(path)
                .map_err(|error| Failure::of_path("log.requests_file", path, &error))?;
            Box::new(file)
        }
    };
    let log = AccessLog::new(which, out);
    log.map(Some).map_err(|e| Failure::because("opening the log of requests", e))
}

/// What identifies a file, whatever its name: its device and its number there.
type FileId = (u64, u64);

/// A file that is looked up by its path before each write.
struct Followed {
    path: PathBuf,
    file: File,
    id: FileId,
}

impl Followed {
    fn open(path: &Path) -> std::io::Result<Self> {
        let file = OpenOptions::new().create(true).append(true).mode(0o600).open(path)?;
        let found = file.metadata()?;
        Ok(Self { path: path.to_owned(), id: (found.dev(), found.ino()), file })
    }

    fn is_there(&self) -> bool {
        let found = std::fs::metadata(&self.path);
        found.is_ok_and(|found| (found.dev(), found.ino()) == self.id)
    }
}

impl Write for Followed {
    /// Where no new file can be made, the lines go on into the one that was moved away.
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        if !self.is_there()
            && let Ok(new) = Self::open(&self.path)
        {
            *self = new;
        }
        self.file.write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.file.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_go_to_the_file_that_has_the_path() {
        let folder = homeroom_testkit::Folder::new();
        let (path, moved) = (folder.path().join("log"), folder.path().join("log.1"));
        let read = |path: &Path| std::fs::read_to_string(path).unwrap_or_default();
        let mut log = Followed::open(&path).unwrap();

        log.write_all(b"a\n").unwrap();
        std::fs::rename(&path, &moved).unwrap();
        log.write_all(b"b\n").unwrap();
        assert_eq!((read(&moved), read(&path)), ("a\n".into(), "b\n".into()));
        std::fs::remove_file(&path).unwrap();
        log.write_all(b"c\n").unwrap();
        log.write_all(b"d\n").unwrap();

        assert_eq!(read(&path), "c\nd\n");
        std::fs::rename(&path, &moved).unwrap();
        std::fs::create_dir(&path).unwrap();
        log.write_all(b"e\n").unwrap();
        assert_eq!(read(&moved), "c\nd\ne\n", "nothing is lost");
    }
}
