//! Paths that a load neither reads nor writes.

use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use homeroom_store::is_held_here;

use crate::error::LoadError;
use crate::source::SourceFile;

/// Refuses a database file that this process has open: closing it again would release the store's
/// locks.
///
/// # Errors
///
/// [`LoadError::Path`].
pub(crate) fn refuse_open_store(path: &Path) -> Result<(), LoadError> {
    if is_held_here(path) {
        let problem =
            "it is a store or belongs to one; write it to files with homeroom export first".into();
        return Err(LoadError::Path { path: path.to_owned(), problem });
    }
    Ok(())
}

/// Refuses to write to a file that is to be read.
///
/// # Errors
///
/// [`LoadError::OutputIsSource`].
pub(crate) fn refuse_as_output(files: &[SourceFile], path: &Path) -> Result<(), LoadError> {
    // Files are compared by device and inode, because names and links may differ.
    let file = |path: &Path| std::fs::metadata(path).ok().map(|about| (about.dev(), about.ino()));
    let Some(output) = file(path) else { return Ok(()) };
    if files.iter().any(|source| file(&source.path) == Some(output)) {
        return Err(LoadError::OutputIsSource(path.to_owned()));
    }
    Ok(())
}
