//! Uploads a file: at once, or in parts where it is large. Nothing has the blob's name before all of it
//! is there.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};
use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use homeroom_store::Uuid;
use object_store::multipart::{MultipartStore as _, PartId};
use object_store::{Error, MultipartId, ObjectStoreExt as _, PutPayload};
use tokio::sync::oneshot;
use tokio::task::JoinSet;

use super::link::Link;
use crate::blob::BlobId;
use crate::error::BlobError;
use crate::folder::make;

/// Bytes of a part, and most bytes of what is uploaded at once. 10,000 parts, the most that S3 allows,
/// are 80 GB. Some stores want parts of equal size.
const PART_BYTES: u64 = 8 << 20;

/// Makes a file without a name in a folder: nothing of it is left whatever ends this process.
pub(super) fn spool(folder: &Path) -> Result<File, BlobError> {
    make(folder).map_err(BlobError::at("make the folder", folder))?;
    let path = folder.join(Uuid::new().to_string());
    let mut options = OpenOptions::new();
    let made = options.read(true).write(true).create_new(true).mode(0o600).open(&path);
    let file = made.map_err(BlobError::at("create", &path))?;
    std::fs::remove_file(&path).map_err(BlobError::at("remove", &path))?;
    Ok(file)
}

/// Uploads a file. `gone` ends when nobody waits any more: then the upload is given up.
pub(super) async fn upload(
    link: Link,
    id: BlobId,
    file: File,
    bytes: u64,
    gone: oneshot::Receiver<()>,
) -> Result<(), BlobError> {
    let (path, file) = (link.path(id), Arc::new(file));
    if bytes <= PART_BYTES {
        return tokio::select! {
            put = put_whole(&link, &path, &file, bytes) => put,
            _ = gone => Err(BlobError::Unknown(id)),
        };
    }
    let upload = link.store.create_multipart(&path).await;
    let upload = upload.map_err(|error| cannot_write(&link, &error))?;
    let done = tokio::select! {
        done = put_in_parts(&link, (id, &path), &upload, &file, bytes) => done,
        _ = gone => Err(BlobError::Unknown(id)),
    };
    if done.is_err() {
        // Where this fails, too, a sweep aborts it.
        _ = link.store.abort_multipart(&path, &upload).await;
    }
    done
}

fn cannot_write(link: &Link, error: &Error) -> BlobError {
    link.trouble("write a blob to", error)
}

async fn put_whole(
    link: &Link,
    path: &object_store::path::Path,
    file: &Arc<File>,
    bytes: u64,
) -> Result<(), BlobError> {
    let _room = link.parts.acquire().await;
    let payload = PutPayload::from(part(link, file, 0, bytes).await?);
    let put = link.store.put(path, payload).await;
    put.map(drop).map_err(|error| cannot_write(link, &error))
}

async fn put_in_parts(
    link: &Link,
    (id, path): (BlobId, &object_store::path::Path),
    upload: &MultipartId,
    file: &Arc<File>,
    bytes: u64,
) -> Result<(), BlobError> {
    let parts = put_parts(link, path, upload, file, bytes).await?;
    match link.store.complete_multipart(path, upload, parts).await {
        Ok(_) => Ok(()),
        // An answer may have been lost: then the upload is no more, and the object is there.
        Err(Error::NotFound { .. }) if matches!(link.bytes(id).await, Ok(Some(found)) if found == bytes) => {
            Ok(())
        }
        Err(error) => Err(cannot_write(link, &error)),
    }
}

async fn put_parts(
    link: &Link,
    path: &object_store::path::Path,
    upload: &MultipartId,
    file: &Arc<File>,
    bytes: u64,
) -> Result<Vec<PartId>, BlobError> {
    let mut tasks = JoinSet::new();
    let count = usize::try_from(bytes.div_ceil(PART_BYTES)).unwrap_or(usize::MAX);
    let mut parts: Vec<Option<PartId>> = vec![None; count];
    let mut keep = |put: Result<Put, tokio::task::JoinError>| {
        let (at, put) = put.map_err(|error| BlobError::broken(&*link.settings, &error))?;
        parts[at] = Some(put?);
        Ok::<_, BlobError>(())
    };
    for at in 0..count {
        while let Some(put) = tasks.try_join_next() {
            keep(put)?;
        }
        let room = Arc::clone(&link.parts).acquire_owned().await;
        let (link, file) = (link.clone(), Arc::clone(file));
        let (path, upload) = (path.clone(), upload.clone());
        tasks.spawn(async move {
            let _room = room;
            let start = at as u64 * PART_BYTES;
            let put = async {
                let payload = part(&link, &file, start, PART_BYTES.min(bytes - start)).await?;
                let put = link.store.put_part(&path, &upload, at, PutPayload::from(payload)).await;
                put.map_err(|error| cannot_write(&link, &error))
            };
            (at, put.await)
        });
    }
    while let Some(put) = tasks.join_next().await {
        keep(put)?;
    }
    Ok(parts.into_iter().flatten().collect())
}

type Put = (usize, Result<PartId, BlobError>);

/// Reads a part of a file into memory.
async fn part(link: &Link, file: &Arc<File>, start: u64, length: u64) -> Result<Bytes, BlobError> {
    let file = Arc::clone(file);
    let read = tokio::task::spawn_blocking(move || {
        let mut bytes = vec![0; usize::try_from(length).map_err(io::Error::other)?];
        file.read_exact_at(&mut bytes, start)?;
        Ok(Bytes::from(bytes))
    });
    let read = read.await.unwrap_or_else(|error| Err(io::Error::other(error)));
    read.map_err(BlobError::at("read what was spooled in", &link.settings.spool))
}
