//! Blobs as files in a folder.
//!
//! `AAAAAA/ID` has the bytes of a blob, where `AAAAAA` begins the id: files of about five hours are
//! in one folder. `unfinished/ID` is being written, or was. `store` has the mark of the store.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use homeroom_store::{ChangedAt, Uuid};

use crate::blob::BlobId;
use crate::error::BlobError;

/// Folder of what is being written.
const UNFINISHED: &str = "unfinished";
/// File that says which store's blobs these are.
pub(crate) const MARK: &str = "store";
/// Letters of an id that name its folder.
pub(crate) const BEGIN: usize = 6;

/// A folder of blobs.
#[derive(Debug)]
pub(crate) struct Folder {
    path: PathBuf,
}

impl Folder {
    /// Returns a folder, which is created when it is written to.
    pub(crate) fn at(path: &Path) -> Self {
        Self { path: path.to_owned() }
    }

    /// Creates the folder as needed, for its owner alone.
    pub(crate) fn prepare(&self) -> Result<(), BlobError> {
        let unfinished = self.path.join(UNFINISHED);
        make(&unfinished).map_err(BlobError::at("make the folder", &unfinished))
    }

    /// Creates the folder as needed and marks it as `mark`'s. Returns the mark
    /// that it has.
    pub(crate) fn claim(&self, mark: &str) -> Result<String, BlobError> {
        self.prepare()?;
        let unfinished = self.path.join(UNFINISHED);
        let file = self.path.join(MARK);
        let cannot = BlobError::at("mark", &file);
        if !file.exists() {
            // Whole or not at all, also where two nodes do it at once.
            let own = unfinished.join(format!("{MARK}-{}", Uuid::new()));
            std::fs::write(&own, mark).map_err(&cannot)?;
            let linked = std::fs::hard_link(&own, &file);
            if linked.is_err() && !file.exists() {
                std::fs::rename(&own, &file).map_err(&cannot)?;
            }
            _ = std::fs::remove_file(&own);
            sync(&self.path).map_err(&cannot)?;
        }
        let found = std::fs::read_to_string(&file).map_err(&cannot)?;
        if found != mark && found.lines().any(|own| own == mark) {
            // A restore was killed while it handed the folder over; the store at hand is the one of
            // the two that is there.
            self.hand_over(Some(mark))?;
            return Ok(mark.to_owned());
        }
        Ok(found)
    }

    /// Returns the marks of the stores that may use the folder: one, or two while a restore hands it
    /// over; none where nobody has claimed it.
    pub(crate) fn marks(&self) -> Result<Vec<String>, BlobError> {
        let file = self.path.join(MARK);
        match std::fs::read_to_string(&file) {
            Ok(found) => Ok(found.lines().map(str::to_owned).collect()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(vec![]),
            Err(error) => Err(BlobError::at("read", &file)(error)),
        }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Returns whether there is anything at the path.
    pub(crate) fn exists(&self) -> bool {
        self.path.symlink_metadata().is_ok()
    }

    /// Returns the file of a blob that is being written.
    pub(crate) fn unfinished(&self, id: BlobId) -> PathBuf {
        self.path.join(UNFINISHED).join(id.to_string())
    }

    /// Returns the file of a blob.
    pub(crate) fn file(&self, id: BlobId) -> PathBuf {
        let name = id.to_string();
        self.path.join(&name[..BEGIN]).join(name)
    }

    /// Creates the file of a blob that is being written.
    pub(crate) fn create(&self, id: BlobId) -> Result<File, BlobError> {
        let path = self.unfinished(id);
        let created = OpenOptions::new().create_new(true).write(true).mode(0o600).open(&path);
        created.map_err(BlobError::at("create", &path))
    }

    /// Syncs a file that was written and gives it its name, which is then durable, too.
    pub(crate) fn finish(&self, id: BlobId, file: &File) -> Result<(), BlobError> {
        let from = self.unfinished(id);
        file.sync_all().map_err(BlobError::at("sync", &from))?;
        let (folder, to) = self.room(id)?;
        std::fs::rename(&from, &to).map_err(BlobError::at("name", &to))?;
        sync(&folder).map_err(BlobError::at("sync", &folder))
    }

    /// Makes the folder of a blob's file. Returns it and the file.
    pub(crate) fn room(&self, id: BlobId) -> Result<(PathBuf, PathBuf), BlobError> {
        let name = id.to_string();
        let folder = self.path.join(&name[..BEGIN]);
        if !folder.exists() {
            make(&folder).map_err(BlobError::at("make the folder", &folder))?;
            sync(&self.path).map_err(BlobError::at("sync", &self.path))?;
        }
        let file = folder.join(name);
        Ok((folder, file))
    }

    /// Removes the folder of what is being written, where nothing is.
    pub(crate) fn tidy(&self) {
        _ = std::fs::remove_dir(self.path.join(UNFINISHED));
    }

    /// Marks the folder as the one of a store, whatever mark it has; without a mark it belongs to
    /// the store that claims it next.
    pub(crate) fn hand_over(&self, mark: Option<&str>) -> Result<(), BlobError> {
        let file = self.path.join(MARK);
        match mark {
            None => match std::fs::remove_file(&file) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    Err(BlobError::at("remove", &file)(error))
                }
                _ => Ok(()),
            },
            Some(mark) => {
                self.prepare()?;
                let own = self.path.join(UNFINISHED).join(format!("{MARK}-{}", Uuid::new()));
                std::fs::write(&own, mark)
                    .and_then(|()| std::fs::rename(&own, &file))
                    .and_then(|()| sync(&self.path))
                    .map_err(BlobError::at("mark", &file))
            }
        }
    }

    /// Removes what was written of a blob that was not finished.
    pub(crate) fn discard(&self, id: BlobId) {
        _ = std::fs::remove_file(self.unfinished(id));
    }

    /// Opens the file of a blob.
    pub(crate) fn read(&self, id: BlobId) -> Result<File, BlobError> {
        let path = self.file(id);
        File::open(&path).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => BlobError::missing(id),
            _ => BlobError::at("open", &path)(error),
        })
    }

    /// Returns the size of a blob's file, if there is one.
    pub(crate) fn bytes(&self, id: BlobId) -> Result<Option<u64>, BlobError> {
        let path = self.file(id);
        match std::fs::metadata(&path) {
            Ok(about) => Ok(Some(about.len())),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(BlobError::at("look at", &path)(error)),
        }
    }

    /// Removes the file of a blob, if there is one. Returns its size.
    pub(crate) fn remove(&self, id: BlobId) -> Result<Option<u64>, BlobError> {
        let Some(bytes) = self.bytes(id)? else { return Ok(None) };
        let path = self.file(id);
        match std::fs::remove_file(&path) {
            Ok(()) => Ok(Some(bytes)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(BlobError::at("remove", &path)(error)),
        }
    }

    /// Removes what was left unfinished and not changed since a moment. Returns the number.
    pub(crate) fn remove_unfinished(&self, since: ChangedAt) -> Result<u64, BlobError> {
        let folder = self.path.join(UNFINISHED);
        let mut removed = 0;
        for id in old_files(&folder, since)? {
            self.discard(id);
            removed += 1;
        }
        Ok(removed)
    }

    /// Returns the folders of blobs, in order of the ids in them.
    pub(crate) fn folders(&self) -> Result<Vec<PathBuf>, BlobError> {
        let mut folders = vec![];
        for name in names(&self.path)? {
            let is_one = name.len() == BEGIN && name.bytes().all(|byte| byte.is_ascii_hexdigit());
            folders.extend(is_one.then(|| self.path.join(name)));
        }
        folders.sort_unstable();
        Ok(folders)
    }
}

/// Returns the blobs that have a file in a folder, in order.
pub(crate) fn names_of_blobs(folder: &Path) -> Result<Vec<BlobId>, BlobError> {
    let mut ids: Vec<_> = names(folder)?.iter().filter_map(|name| BlobId::read(name)).collect();
    ids.sort_unstable();
    Ok(ids)
}

/// Returns the blobs of a folder whose files have not changed since a moment, in order.
pub(crate) fn old_files(folder: &Path, since: ChangedAt) -> Result<Vec<BlobId>, BlobError> {
    let mut ids = names_of_blobs(folder)?;
    ids.retain(|id| {
        // A file that is gone meanwhile is not old.
        let about = std::fs::metadata(folder.join(id.to_string()));
        let changed = about.and_then(|about| about.modified()).map(micros);
        changed.is_ok_and(|changed| changed <= since.0)
    });
    Ok(ids)
}

/// Returns the names in a folder; none if there is no folder.
fn names(folder: &Path) -> Result<Vec<String>, BlobError> {
    let cannot = BlobError::at("list", folder);
    let entries = match std::fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(vec![]),
        Err(error) => return Err(cannot(error)),
    };
    let mut names = vec![];
    for entry in entries {
        names.extend(entry.map_err(&cannot)?.file_name().into_string());
    }
    Ok(names)
}

/// Makes a folder and those above it, for their owner alone.
pub(crate) fn make(folder: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

/// Makes new names in a folder durable.
pub(crate) fn sync(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

fn micros(moment: SystemTime) -> i64 {
    let since = moment.duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_micros()).unwrap_or(i64::MAX)
}
