//! Finds out which file a path leads to.

use std::fs::Metadata;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// Most links that are followed to a file that does not exist.
const LINKS_MAX: usize = 40;

/// Identity of a file, whatever its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct FileId {
    /// The device that it is on.
    pub device: u64,
    /// Its inode number on the device.
    pub inode: u64,
}

impl FileId {
    /// Returns the file under a name, following links; [`None`] where there is none, or it cannot
    /// be examined.
    pub fn of(path: &Path) -> Option<Self> {
        std::fs::metadata(path).ok().as_ref().map(Self::of_metadata)
    }

    /// Returns the file that the metadata describes.
    pub(in crate::sqlite) fn of_metadata(about: &Metadata) -> Self {
        Self { device: about.dev(), inode: about.ino() }
    }
}

/// Resolves the links in a store's path. The file itself may be missing, its folder must exist.
///
/// # Errors
///
/// The reason why the path leads nowhere.
pub fn real_file(path: &Path) -> io::Result<PathBuf> {
    let mut path = path.to_owned();
    for _ in 0..LINKS_MAX {
        match path.canonicalize() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            found => return found,
        }
        let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?;
        let folder = folder_of(&path).canonicalize()?;
        let whole = folder.join(name);
        match whole.read_link() {
            Ok(target) => path = folder.join(target),
            Err(_) => return Ok(whole),
        }
    }
    Err(io::Error::other("too many links"))
}

/// Returns the folder of a path.
pub(crate) fn folder_of(path: &Path) -> &Path {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    folder.unwrap_or(Path::new("."))
}

/// Returns the name of a file next to another.
pub(crate) fn with_ending(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    PathBuf::from(name)
}
