//! Where blobs are kept.

use std::fmt;
use std::fs::File;
use std::io::{Read as _, SeekFrom, Write as _};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use homeroom_store::ChangedAt;
use tokio::io::{AsyncReadExt as _, AsyncSeekExt as _, AsyncWriteExt as _};

use crate::blob::{Blob, BlobId};
use crate::bucket::{Bucket, BucketFigures, BucketSettings, Download, Link};
use crate::error::BlobError;
use crate::folder::Folder;
use crate::limits::CHUNK_BYTES;

/// The ending of the folder beside a store's file, and beside its backups.
const ENDING: &str = ".blobs";

/// The place of a store's blobs; clones share it. It is shown as people know it.
#[derive(Clone)]
pub struct BlobPlace(pub(crate) Arc<Kind>);

/// The kinds of places.
pub(crate) enum Kind {
    Folder(Folder),
    Bucket(Box<Bucket>),
}

/// The bytes of a blob, as they are read.
pub(crate) enum Source {
    File(tokio::fs::File),
    Object(Download),
}

/// The bytes of a blob, for a caller that may block.
pub(crate) enum BlockingSource {
    File(File, PathBuf),
    Object(BlobPlace, Option<Download>),
}

impl BlobPlace {
    /// Returns a folder as a place. It is created with the first blob. No two stores may use the
    /// same folder.
    pub fn folder(path: &Path) -> Self {
        Self(Arc::new(Kind::Folder(Folder::at(path))))
    }

    /// Returns the folder that belongs to a store's file, or to a backup: `FILE.blobs`.
    pub fn beside(file: &Path) -> Self {
        let mut name = file.as_os_str().to_owned();
        name.push(ENDING);
        Self::folder(&PathBuf::from(name))
    }

    /// Returns a bucket as a place. No two stores may use the same bucket and prefix.
    pub fn bucket(settings: BucketSettings) -> Self {
        Self(Arc::new(Kind::Bucket(Box::new(Bucket::new(settings)))))
    }

    /// Returns the folder's path, where this is a folder.
    pub fn path(&self) -> Option<&Path> {
        match &*self.0 {
            Kind::Folder(folder) => Some(folder.path()),
            Kind::Bucket(_) => None,
        }
    }

    /// Returns what has gone to the bucket and come from it, where this is one.
    pub fn figures(&self) -> Option<BucketFigures> {
        match &*self.0 {
            Kind::Folder(_) => None,
            Kind::Bucket(bucket) => Some(bucket.figures()),
        }
    }

    /// Returns whether anything was put here, for a caller that may block.
    ///
    /// # Errors
    ///
    /// Why that is not known.
    pub fn exists_blocking(&self) -> Result<bool, BlobError> {
        match &*self.0 {
            Kind::Folder(folder) => Ok(folder.exists()),
            Kind::Bucket(bucket) => Ok(!bucket.wait(Link::marks)?.is_empty()),
        }
    }

    /// Asks the bucket for its mark, to learn whether it can be used; does nothing with a folder.
    ///
    /// # Errors
    ///
    /// [`BlobError::Bucket`].
    pub async fn reach(&self) -> Result<(), BlobError> {
        match &*self.0 {
            Kind::Folder(_) => Ok(()),
            Kind::Bucket(bucket) => bucket.run(Link::marks).await.map(drop),
        }
    }

    /// Returns whether anything was put here.
    pub(crate) async fn exists(&self) -> Result<bool, BlobError> {
        match &*self.0 {
            Kind::Folder(_) => self.blocking(Self::exists_blocking).await,
            Kind::Bucket(bucket) => Ok(!bucket.run(Link::marks).await?.is_empty()),
        }
    }

    /// Makes a file for the bytes of a new blob.
    pub(crate) async fn create(&self, id: BlobId) -> Result<File, BlobError> {
        self.blocking(move |place| place.create_blocking(id)).await
    }

    /// Gives what was written its name. If the returned future is dropped, it may have it or not.
    pub(crate) async fn finish(&self, id: BlobId, file: File, bytes: u64) -> Result<(), BlobError> {
        match &*self.0 {
            Kind::Folder(_) => {
                self.blocking(move |place| place.finish_blocking(id, file, bytes)).await
            }
            Kind::Bucket(bucket) => bucket.upload(id, file, bytes).await,
        }
    }

    /// Returns the path of what is being written, for errors about it.
    pub(crate) fn unfinished(&self, id: BlobId) -> PathBuf {
        match &*self.0 {
            Kind::Folder(folder) => folder.unfinished(id),
            Kind::Bucket(bucket) => bucket.settings().spool.clone(),
        }
    }

    /// Removes what was written of a blob that was not finished.
    pub(crate) fn discard(&self, id: BlobId) {
        match &*self.0 {
            Kind::Folder(folder) => folder.discard(id),
            // Its file has no name, and is gone with it.
            Kind::Bucket(_) => {}
        }
    }

    /// Opens a range of a blob's bytes.
    pub(crate) async fn read(&self, id: BlobId, range: Range<u64>) -> Result<Source, BlobError> {
        match &*self.0 {
            Kind::Folder(_) => {
                let file = self.on(move |folder| folder.read(id)).await?;
                let mut file = tokio::fs::File::from_std(file);
                file.set_max_buf_size(CHUNK_BYTES);
                if range.start > 0 {
                    let sought = file.seek(SeekFrom::Start(range.start)).await;
                    sought.map_err(|error| damaged(id, &error))?;
                }
                Ok(Source::File(file))
            }
            Kind::Bucket(bucket) => {
                Ok(Source::Object(bucket.run(move |link| link.read(id, range)).await?))
            }
        }
    }

    /// Opens a blob as a file. One in a bucket is fetched first.
    pub(crate) async fn open(&self, blob: &Blob) -> Result<File, BlobError> {
        let (id, bytes) = (blob.id, blob.bytes);
        match &*self.0 {
            Kind::Folder(_) => self.on(move |folder| folder.read(id)).await,
            Kind::Bucket(bucket) => {
                let mut source = self.read(id, 0..bytes).await?;
                let file = self.create(id).await?;
                spooled(id, &mut source, file, &bucket.settings().spool).await
            }
        }
    }

    /// Removes the bytes of a blob, if there are any. Returns their number.
    pub(crate) async fn remove(&self, id: BlobId) -> Result<Option<u64>, BlobError> {
        match &*self.0 {
            Kind::Folder(_) => self.on(move |folder| folder.remove(id)).await,
            Kind::Bucket(bucket) => bucket.run(move |link| link.remove(id)).await,
        }
    }

    /// Marks the place as `mark`'s if it has no mark. Returns the mark that it has.
    pub(crate) async fn claim(&self, mark: String) -> Result<String, BlobError> {
        match &*self.0 {
            Kind::Folder(_) => self.on(move |folder| folder.claim(&mark)).await,
            Kind::Bucket(bucket) => bucket.run(move |link| link.claim(mark)).await,
        }
    }

    /// Removes what was left unfinished and not changed since a moment. Returns the number.
    pub(crate) async fn remove_unfinished(&self, since: ChangedAt) -> Result<u64, BlobError> {
        match &*self.0 {
            Kind::Folder(_) => self.on(move |folder| folder.remove_unfinished(since)).await,
            Kind::Bucket(bucket) => bucket.run(move |link| link.abort_uploads(since)).await,
        }
    }

    /// Runs work on the folder on a thread that may block.
    ///
    /// # Panics
    ///
    /// If this is a bucket.
    pub(crate) async fn on<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Folder) -> Result<T, BlobError> + Send + 'static,
    ) -> Result<T, BlobError> {
        let work = move |place: &Self| match &*place.0 {
            Kind::Folder(folder) => work(folder),
            Kind::Bucket(_) => unreachable!("its callers have looked which kind it is"),
        };
        self.blocking(work).await
    }

    async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Self) -> Result<T, BlobError> + Send + 'static,
    ) -> Result<T, BlobError> {
        let place = self.clone();
        let done = tokio::task::spawn_blocking(move || work(&place)).await;
        done.unwrap_or_else(|error| Err(BlobError::broken(self, &error)))
    }
}

/// What commands do with a place, on threads that may block.
impl BlobPlace {
    pub(crate) fn create_blocking(&self, id: BlobId) -> Result<File, BlobError> {
        match &*self.0 {
            Kind::Folder(folder) => {
                folder.prepare()?;
                folder.create(id)
            }
            Kind::Bucket(bucket) => bucket.spool(),
        }
    }

    pub(crate) fn finish_blocking(
        &self,
        id: BlobId,
        mut file: File,
        bytes: u64,
    ) -> Result<(), BlobError> {
        match &*self.0 {
            Kind::Folder(folder) => folder.finish(id, &file),
            Kind::Bucket(bucket) => {
                file.flush().map_err(BlobError::at("write to", &bucket.settings().spool))?;
                bucket.upload_blocking(id, file, bytes)
            }
        }
    }

    /// Returns the sizes of those blobs, given in order, that have bytes here.
    pub(crate) fn sizes_blocking(&self, blobs: &[Blob]) -> Result<Vec<Option<u64>>, BlobError> {
        match &*self.0 {
            Kind::Folder(folder) => blobs.iter().map(|blob| folder.bytes(blob.id)).collect(),
            Kind::Bucket(bucket) => {
                let blobs = blobs.to_vec();
                bucket.wait(move |link| link.sizes(blobs))
            }
        }
    }

    /// Opens all bytes of a blob.
    pub(crate) fn read_blocking(&self, blob: &Blob) -> Result<BlockingSource, BlobError> {
        let (id, bytes) = (blob.id, blob.bytes);
        match &*self.0 {
            Kind::Folder(folder) => Ok(BlockingSource::File(folder.read(id)?, folder.file(id))),
            Kind::Bucket(bucket) => {
                let download = bucket.wait(move |link| link.read(id, 0..bytes))?;
                Ok(BlockingSource::Object(self.clone(), Some(download)))
            }
        }
    }

    /// Returns the marks of the stores that may use the place: one, or two while a restore hands it
    /// over; none where nobody has claimed it.
    pub(crate) fn marks_blocking(&self) -> Result<Vec<String>, BlobError> {
        match &*self.0 {
            Kind::Folder(folder) => folder.marks(),
            Kind::Bucket(bucket) => bucket.wait(Link::marks),
        }
    }

    /// Marks the place as the one of a store, whatever mark it has.
    pub(crate) fn hand_over_blocking(&self, mark: Option<&str>) -> Result<(), BlobError> {
        let mark = mark.map(str::to_owned);
        match &*self.0 {
            Kind::Folder(folder) => folder.hand_over(mark.as_deref()),
            Kind::Bucket(bucket) => {
                bucket.wait(move |link| async move { link.hand_over(mark).await })
            }
        }
    }

    /// Removes what was needed only to write here.
    pub(crate) fn tidy(&self) {
        if let Kind::Folder(folder) = &*self.0 {
            folder.tidy();
        }
    }
}

impl Source {
    /// Returns the next bytes, at most so many of a file; [`None`] at the end.
    pub(crate) async fn next(
        &mut self,
        id: BlobId,
        most: usize,
    ) -> Result<Option<Bytes>, BlobError> {
        match self {
            Self::File(file) => {
                let mut bytes = BytesMut::with_capacity(most);
                let mut limited = file.take(most as u64);
                let read = limited.read_buf(&mut bytes).await;
                let read = read.map_err(|error| damaged(id, &error))?;
                Ok((read > 0).then(|| bytes.freeze()))
            }
            Self::Object(download) => download.next().await,
        }
    }
}

impl BlockingSource {
    /// Returns the next bytes; [`None`] at the end.
    pub(crate) fn next(&mut self) -> Result<Option<Bytes>, BlobError> {
        match self {
            Self::File(file, path) => {
                let mut bytes = vec![0; CHUNK_BYTES];
                let read = file.read(&mut bytes).map_err(BlobError::at("read", path))?;
                bytes.truncate(read);
                Ok((read > 0).then(|| bytes.into()))
            }
            Self::Object(place, download) => {
                let (Kind::Bucket(bucket), Some(mut own)) = (&*place.0, download.take()) else {
                    return Ok(None);
                };
                let next = bucket.wait(|_| async move {
                    let next = own.next().await;
                    Ok((own, next))
                });
                let (own, next) = next?;
                *download = Some(own);
                next
            }
        }
    }
}

/// Copies the bytes of a blob to a file in the spool folder, and goes back to its beginning.
async fn spooled(
    id: BlobId,
    source: &mut Source,
    file: File,
    spool: &Path,
) -> Result<File, BlobError> {
    let mut file = tokio::fs::File::from_std(file);
    while let Some(piece) = source.next(id, CHUNK_BYTES).await? {
        let written = file.write_all(&piece).await;
        written.map_err(BlobError::at("write to the spool", spool))?;
    }
    // The last bytes are still being written, and only this says how that has ended.
    file.flush().await.map_err(BlobError::at("write to the spool", spool))?;
    let rewound = file.seek(SeekFrom::Start(0)).await;
    rewound.map_err(BlobError::at("read the spool", spool))?;
    Ok(file.into_std().await)
}

fn damaged(id: BlobId, error: &std::io::Error) -> BlobError {
    BlobError::Damaged { id, why: format!("its file cannot be read: {error}") }
}

impl fmt::Display for BlobPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &*self.0 {
            Kind::Folder(folder) => folder.path().display().fmt(f),
            Kind::Bucket(bucket) => bucket.settings().fmt(f),
        }
    }
}

impl fmt::Debug for BlobPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "BlobPlace({self})")
    }
}

#[cfg(test)]
mod tests {
    use homeroom_store::Uuid;
    use homeroom_testkit::Folder;

    use super::*;

    #[tokio::test]
    async fn a_full_spool_gives_an_error_and_no_shorter_file() {
        let folder = Folder::new();
        let blob = folder.path().join("blob");
        std::fs::write(&blob, b"a few bytes").unwrap();
        let opened = |path: &Path| File::options().read(true).write(true).open(path).unwrap();
        let source = || Source::File(tokio::fs::File::from_std(opened(&blob)));
        let (id, spool) = (BlobId(Uuid::new()), folder.path());
        let empty = folder.path().join("empty");
        std::fs::write(&empty, b"").unwrap();

        let full = spooled(id, &mut source(), opened("/dev/full".as_ref()), spool).await;
        let file = spooled(id, &mut source(), opened(&empty), spool).await;

        assert!(matches!(full, Err(BlobError::DiskFull(_))), "{full:?}");
        let mut text = String::new();
        file.unwrap().read_to_string(&mut text).unwrap();
        assert_eq!(text, "a few bytes");
    }
}
