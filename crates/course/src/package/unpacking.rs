//! The files of a package, unpacked one after the other.

use std::fs::File;
use std::io::{Read, Seek as _, SeekFrom};

use super::archive::{Archive, broken, damaged};
use super::finding::Finding;
use super::limits::PackageLimits;

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

/// Why a file was not unpacked to its end.
enum Stop {
    /// The file is damaged; others may be well.
    File(Finding),
    /// There is too much of the package.
    Package(Finding),
}

impl Stop {
    fn finding(self) -> Finding {
        match self {
            Self::File(finding) | Self::Package(finding) => finding,
        }
    }
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
        let mut left = self.bytes_max();
        for at in 0..self.files() {
            self.one(at, &mut left, take).map_err(Stop::finding)?;
        }
        Ok(())
    }

    /// Unpacks all files into nothing and returns what is wrong with them, at most so many findings.
    pub(crate) fn faults(&mut self, faults_max: usize) -> Vec<Finding> {
        let mut left = self.bytes_max();
        let mut faults = vec![];
        for at in 0..self.files() {
            match self.one(at, &mut left, &mut |_, _| Ok(())) {
                Ok(()) => {}
                Err(Stop::File(finding)) => faults.push(finding),
                Err(Stop::Package(finding)) => {
                    faults.push(finding);
                    break;
                }
            }
            if faults.len() == faults_max {
                break;
            }
        }
        faults
    }

    fn bytes_max(&self) -> u64 {
        match &self.from {
            From::Archive(archive) => self.limits.unpacked_max(archive.packed),
            From::File(..) => self.limits.unpacked_bytes,
        }
    }

    fn one(&mut self, at: usize, left: &mut u64, take: &mut Taking<'_>) -> Result<(), Stop> {
        match &mut self.from {
            From::File(file, path) => {
                let start = file.seek(SeekFrom::Start(0));
                start.map_err(|error| Stop::File(damaged(&error)))?;
                let too_much = || self.limits.too_much(u64::MAX);
                pour(file, path, left, &too_much, take)
            }
            From::Archive(archive) => {
                let entry = &archive.entries[at];
                let packed = archive.packed;
                let file = archive.zip.by_index(entry.index);
                let mut file =
                    file.map_err(|error| Stop::File(broken(&error).of_file(&entry.path)))?;
                let too_much = || self.limits.too_much(packed);
                pour(&mut file, &entry.path, left, &too_much, take)
            }
        }
    }
}

fn pour(
    from: &mut dyn Read,
    path: &str,
    left: &mut u64,
    too_much: &dyn Fn() -> Finding,
    take: &mut Taking<'_>,
) -> Result<(), Stop> {
    let mut buffer = vec![0; 256 << 10];
    loop {
        let read = from.read(&mut buffer);
        let read = read.map_err(|error| Stop::File(damaged(&error).of_file(path)))?;
        *left =
            left.checked_sub(read as u64).ok_or_else(|| Stop::Package(too_much().of_file(path)))?;
        take(path, &buffer[..read]).map_err(Stop::Package)?;
        if read == 0 {
            return Ok(());
        }
    }
}
