//! The results file of a load: a line for each reject, then the summary.

use std::fs::{File, TryLockError};
use std::io::{self, BufWriter, Seek as _, SeekFrom, Write};
use std::path::{Path, PathBuf};

use homeroom_store::OutputKind;
use serde::Serialize;

use crate::error::LoadError;
use crate::reject::Summary;
use crate::terminal::escaped;

/// The results path that means the standard output.
const STDOUT: &str = "-";

/// The results file of a load: lines of rejects and a summary.
pub const RESULTS: OutputKind = OutputKind {
    name: "a file of results",
    is_ours: |head| head.starts_with(b"{\"file\":") || head.starts_with(b"{\"summary\":"),
};

/// The results of a load, to which lines are added.
pub(super) struct Results {
    path: PathBuf,
    out: Box<dyn Write>,
    /// Number of bytes written.
    bytes: u64,
}

impl Results {
    /// Begins the results of a load; `-` is the standard output.
    ///
    /// # Errors
    ///
    /// [`LoadError::Output`], [`LoadError::Refused`].
    pub(super) fn new(path: &Path) -> Result<Self, LoadError> {
        let out: Box<dyn Write> = if path.as_os_str() == STDOUT {
            Box::new(BufWriter::new(io::stdout()))
        } else {
            Box::new(BufWriter::new(RESULTS.create(path)?))
        };
        Ok(Self { path: path.to_owned(), out, bytes: 0 })
    }

    /// Refuses what [`Results::new`] refuses; what is made to find that out is removed again.
    ///
    /// # Errors
    ///
    /// As [`Results::new`].
    pub(super) fn attempt(path: &Path) -> Result<(), LoadError> {
        if path.as_os_str() == STDOUT {
            return Ok(());
        }
        match std::fs::metadata(path) {
            Ok(about) if about.is_file() || about.is_dir() => RESULTS.check(path)?,
            // A pipe is not opened: its reader would take the closing for the end of the results.
            Ok(_) => {}
            Err(_) => {
                drop(RESULTS.create(path)?);
                _ = std::fs::remove_file(path);
            }
        }
        Ok(())
    }

    /// Goes on after the first `bytes` bytes of the results of an interrupted load.
    ///
    /// # Errors
    ///
    /// [`LoadError::CannotResume`] if they are not there, or another process writes them.
    pub(super) fn again(path: &Path, bytes: u64) -> Result<Self, LoadError> {
        let out = Box::new(BufWriter::new(continued(path, bytes)?));
        Ok(Self { path: path.to_owned(), out, bytes })
    }

    /// Returns the number of bytes written.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Adds a line.
    ///
    /// # Errors
    ///
    /// [`LoadError::Output`].
    pub(super) fn write(&mut self, line: &impl Serialize) -> Result<(), LoadError> {
        let written = serde_json::to_string(line).map_err(io::Error::from).and_then(|line| {
            let line = escaped(&line);
            self.bytes += line.len() as u64 + 1;
            self.out.write_all(line.as_bytes())?;
            self.out.write_all(b"\n")
        });
        written.map_err(|source| LoadError::Output { path: self.path.clone(), source })
    }

    /// Hands all lines to the file.
    ///
    /// # Errors
    ///
    /// [`LoadError::Output`].
    pub(super) fn flush(&mut self) -> Result<(), LoadError> {
        let flushed = self.out.flush();
        flushed.map_err(|source| LoadError::Output { path: self.path.clone(), source })
    }
}

/// Opens the results of an interrupted load, to add to their first `bytes` bytes.
fn continued(path: &Path, bytes: u64) -> Result<File, LoadError> {
    let refused = |problem: String| LoadError::CannotResume { path: path.to_owned(), problem };
    let mut file = File::options()
        .write(true)
        .open(path)
        .map_err(|error| refused(format!("its results cannot be added to: {error}")))?;
    match file.try_lock() {
        Ok(()) | Err(TryLockError::Error(_)) => {}
        Err(TryLockError::WouldBlock) => {
            return Err(refused("another process writes its results".into()));
        }
    }
    let length = file.metadata().map_or(0, |about| about.len());
    if length < bytes {
        return Err(refused("its results are shorter than they were".into()));
    }
    let cut = file.set_len(bytes).and_then(|()| file.seek(SeekFrom::End(0)));
    cut.map_err(|error| refused(error.to_string()))?;
    Ok(file)
}

/// The last line of the results.
#[derive(Serialize)]
pub(super) struct Last<'s> {
    pub(super) summary: &'s Summary,
}
