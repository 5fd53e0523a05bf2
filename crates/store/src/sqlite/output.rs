//! Files that commands write to a path that a person names. They replace only earlier outputs of
//! the same kind, and never a store or another database.

use std::ffi::OsStr;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read as _, Seek as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{DirBuilderExt as _, FileTypeExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use crate::sqlite::lock::{is_held_here, real_file};

/// Bytes at the start of a file that identify its kind.
const HEAD_BYTES: u64 = 4_096;
/// Name endings of the files next to a database.
const BESIDE: [&str; 4] = ["-wal", "-shm", "-journal", ".lock"];

/// A kind of output.
#[derive(Debug, Clone, Copy)]
pub struct OutputKind {
    /// Its name with an article: `a page of the lab`.
    pub name: &'static str,
    /// Whether the first bytes of a non-empty file are those of such an output.
    pub is_ours: fn(&[u8]) -> bool,
}

/// Why an output was not written to its path.
#[derive(Debug, thiserror::Error)]
pub enum OutputError {
    /// A database, of Homeroom or others, or a file that belongs to one.
    #[error("{} is a database, or belongs to one; name another file", .0.display())]
    Database(PathBuf),
    /// An existing file of another kind.
    #[error(
        "{} already exists and is not {kind} written by a command; remove it, or name another \
         file", path.display()
    )]
    NotOurs {
        /// Path of the existing file.
        path: PathBuf,
        /// Kind of the output.
        kind: &'static str,
    },
    /// Another process is writing to it.
    #[error("{} is in use by another process; name another file", .0.display())]
    InUse(PathBuf),
    /// A folder where a file is expected, or the other way round.
    #[error("{} already exists and is not a {wanted}; name another", path.display())]
    Wrong {
        /// The existing path.
        path: PathBuf,
        /// `file` or `folder`.
        wanted: &'static str,
    },
    /// The file cannot be written.
    #[error("{}: cannot be written: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Why it cannot be written.
        source: io::Error,
    },
}

impl OutputError {
    /// Returns whether the only problem is the chosen path, so that another one would do.
    pub fn is_refusal(&self) -> bool {
        !matches!(self, Self::File { .. })
    }
}

impl OutputKind {
    /// Checks that a file may be written, before there is anything to write; creates nothing.
    ///
    /// # Errors
    ///
    /// [`OutputError`].
    pub fn check(&self, path: &Path) -> Result<(), OutputError> {
        self.existing(path).map(drop)
    }

    /// Creates the file, which only its owner may read, or empties an earlier output of this kind.
    /// As long as it is open, no other output can be written to it.
    ///
    /// # Errors
    ///
    /// [`OutputError`].
    pub fn create(&self, path: &Path) -> Result<File, OutputError> {
        let failed = |source| OutputError::File { path: path.to_owned(), source };
        if let Some(mut file) = self.existing(path)? {
            if file.metadata().map_err(failed)?.is_file() {
                file.set_len(0).and_then(|()| file.rewind()).map_err(failed)?;
            }
            return Ok(file);
        }
        let mut options = OpenOptions::new();
        options.write(true).create_new(true).mode(0o600);
        let file = options.open(path).map_err(failed)?;
        _ = file.try_lock();
        Ok(file)
    }

    /// Opens and locks an existing file that may be overwritten.
    fn existing(&self, path: &Path) -> Result<Option<File>, OutputError> {
        let own = || path.to_owned();
        let failed = |source| OutputError::File { path: own(), source };
        if belongs_to_database(path) {
            return Err(OutputError::Database(own()));
        }
        let kind = match std::fs::metadata(path) {
            Ok(about) => about.file_type(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(failed(error)),
        };
        if kind.is_fifo() || kind.is_char_device() {
            return OpenOptions::new().write(true).open(path).map(Some).map_err(failed);
        }
        if !kind.is_file() {
            return Err(OutputError::Wrong { path: own(), wanted: "file" });
        }
        let mut file = OpenOptions::new().read(true).write(true).open(path).map_err(failed)?;
        match file.try_lock() {
            // A file system without locks has no stores.
            Ok(()) | Err(TryLockError::Error(_)) => {}
            Err(TryLockError::WouldBlock) => return Err(OutputError::InUse(own())),
        }
        let mut head = vec![];
        (&mut file).take(HEAD_BYTES).read_to_end(&mut head).map_err(failed)?;
        if has_magic(&head) {
            return Err(OutputError::Database(own()));
        }
        if !head.is_empty() && !(self.is_ours)(&head) {
            return Err(OutputError::NotOurs { path: own(), kind: self.name });
        }
        Ok(Some(file))
    }
}

/// Checks that a folder exists or can be created.
///
/// # Errors
///
/// [`OutputError::Wrong`], [`OutputError::Database`].
pub fn check_folder(path: &Path) -> Result<(), OutputError> {
    match std::fs::metadata(path) {
        Ok(about) if about.is_dir() => Ok(()),
        Ok(_) if belongs_to_database(path) || is_database(path) => {
            Err(OutputError::Database(path.to_owned()))
        }
        Ok(_) => Err(OutputError::Wrong { path: path.to_owned(), wanted: "folder" }),
        Err(_) => Ok(()),
    }
}

/// Makes a folder, and those above it, which only their owner may read. Returns those that were not there,
/// the innermost first.
///
/// # Errors
///
/// Returns why it cannot be made; then none of them is.
pub fn make_folder(path: &Path) -> io::Result<Vec<PathBuf>> {
    let is_missing = |folder: &&Path| !folder.as_os_str().is_empty() && !folder.exists();
    let missing: Vec<PathBuf> = path.ancestors().take_while(is_missing).map(Into::into).collect();
    match std::fs::DirBuilder::new().recursive(true).mode(0o700).create(path) {
        Ok(()) => Ok(missing),
        Err(error) => {
            remove_folders(&missing);
            Err(error)
        }
    }
}

/// Removes folders that were made for what was not to be, as far as they are empty.
pub fn remove_folders(made: &[PathBuf]) {
    for folder in made {
        _ = std::fs::remove_dir(folder);
    }
}

/// Returns whether a file is a database: a store that this process has open, or any other by its
/// first bytes.
pub fn is_database(path: &Path) -> bool {
    if is_held_here(path) {
        return true;
    }
    // Opening a pipe would wait until another process writes to it.
    if !std::fs::metadata(path).is_ok_and(|about| about.is_file()) {
        return false;
    }
    let mut head = vec![];
    let read = File::open(path).and_then(|file| file.take(HEAD_BYTES).read_to_end(&mut head));
    read.is_ok() && has_magic(&head)
}

/// Returns whether a file belongs to a store that this process has open, or is one of the files
/// next to a database, by its own name or by the one that links lead to.
pub(super) fn belongs_to_database(path: &Path) -> bool {
    let is_beside = |path: &Path| {
        let name = path.as_os_str().as_bytes();
        BESIDE.iter().any(|ending| {
            let store = name.strip_suffix(ending.as_bytes());
            store.is_some_and(|store| is_database(Path::new(OsStr::from_bytes(store))))
        })
    };
    is_held_here(path) || is_beside(path) || real_file(path).is_ok_and(|real| is_beside(&real))
}

/// Source: SQLite file format, §1.3.1.
fn has_magic(head: &[u8]) -> bool {
    head.starts_with(b"SQLite format 3\0")
}

#[cfg(test)]
mod tests {
    use homeroom_testkit::Folder;

    use super::*;
    use crate::{Options, Snapshot, SnapshotOptions, Store, StoreUrl};

    const LINES: OutputKind =
        OutputKind { name: "a list", is_ours: |head| head.starts_with(b"- ") };

    #[test]
    fn folders_that_were_made_are_removed_again_and_others_stay() {
        let folder = Folder::new();
        let folder = folder.path();
        std::fs::write(folder.join("file"), "").unwrap();
        let deep = folder.join("a/b/c");

        let made = make_folder(&deep).unwrap();
        let again = make_folder(&deep).unwrap();
        make_folder(&folder.join("d/../file/e")).unwrap_err();

        assert!(!folder.join("d").exists());
        assert_eq!(made, [deep.clone(), folder.join("a/b"), folder.join("a")]);
        assert!(again.is_empty() && deep.is_dir());
        std::fs::write(folder.join("a/kept"), "").unwrap();
        remove_folders(&made);
        assert!(!folder.join("a/b").exists() && folder.join("a/kept").exists());
    }

    #[test]
    fn an_output_is_created_or_replaces_only_one_of_its_kind() {
        let folder = Folder::new();
        let folder = folder.path();
        let path = folder.join("list");
        for content in ["", "- an earlier one"] {
            std::fs::write(&path, content).unwrap();
            LINES.create(&path).unwrap();
            assert_eq!(std::fs::read(&path).unwrap(), b"", "{content}");
        }
        std::fs::remove_file(&path).unwrap();
        LINES.check(&path).unwrap();
        assert!(!path.exists());
        let held = LINES.create(&path).unwrap();
        assert!(matches!(LINES.check(&path), Err(OutputError::InUse(_))));
        drop(held);
        std::fs::write(&path, "Dear all").unwrap();
        assert!(matches!(LINES.create(&path), Err(OutputError::NotOurs { .. })));
        assert_eq!(std::fs::read(&path).unwrap(), b"Dear all");
        assert!(matches!(LINES.check(folder), Err(OutputError::Wrong { .. })));
        assert!(matches!(check_folder(&path), Err(OutputError::Wrong { .. })));
        LINES.check(Path::new("/dev/null")).unwrap();

        let file = folder.join("homeroom.db");
        let store = Store::open(&Options::for_file(&file)).unwrap();
        for is_open in [true, false] {
            for ending in ["", "-wal", "-shm", ".lock"] {
                let path = crate::sqlite::lock::with_ending(&file, ending);
                let refused = LINES.create(&path);
                assert!(matches!(refused, Err(OutputError::Database(_))), "{is_open} {ending}");
                let linked = path.symlink_metadata().is_ok();
                let link = folder.join("link");
                std::os::unix::fs::symlink(&path, &link).unwrap();
                let refused = LINES.create(&link);
                let is_refused = matches!(refused, Err(OutputError::Database(_)));
                assert!(is_refused, "a link to {ending}: {is_open}");
                assert_eq!(path.symlink_metadata().is_ok(), linked, "{ending}");
                std::fs::remove_file(&link).unwrap();
            }
            store.close();
        }
        drop(store);
        let options = SnapshotOptions::default();
        let snapshot = Snapshot::open(&StoreUrl::Sqlite(file.clone()), &options).unwrap();
        assert!(is_held_here(&file), "to look into it would end the locks of the snapshot");
        assert!(is_database(&file));
        drop(snapshot);
        assert!(!is_held_here(&file));
    }
}
