//! Which file a path leads to.

use std::fs::Metadata;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// Most links that are followed to a file which is not there.
const LINKS_MAX: usize = 40;

/// Which file it is, whatever it is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct FileId {
    /// The device that it is on.
    pub device: u64,
    /// Its number there.
    pub inode: u64,
}

impl FileId {
    /// The file that stands under a name, links followed; nothing where there is none, or it cannot
    /// be seen.
    pub fn of(path: &Path) -> Option<Self> {
        std::fs::metadata(path).ok().as_ref().map(Self::of_metadata)
    }

    /// The file that this is about.
    pub(in crate::sqlite) fn of_metadata(about: &Metadata) -> Self {
        Self { device: about.dev(), inode: about.ino() }
    }
}

/// The path of a store's file without links; the file itself need not be there, its folder must.
///
/// # Errors
///
/// Why the path leads nowhere.
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

/// The folder of a path.
pub(super) fn folder_of(path: &Path) -> &Path {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    folder.unwrap_or(Path::new("."))
}
