//! Copies of blobs: into a backup, and back from one.
//!
//! Blobs never change under their ids, so a copy of one is good for every state of the store that
//! names it.

use std::io::Write as _;
use std::path::Path;

use homeroom_store::{Snapshot, StoreError};

use crate::blob::Blob;
use crate::check::verify;
use crate::error::BlobError;
use crate::folder::{Folder, names_of_blobs, sync};
use crate::place::{BlobPlace, Kind};
use crate::rows;

/// The extent of a copy.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Copied {
    /// The number of blobs that were copied.
    pub blobs: u64,
    /// Their bytes.
    pub bytes: u64,
}

/// Copies every blob that a state of the store names and `to` does not have yet, and checks each
/// against its hash on the way. Nothing is created where there is no blob.
///
/// # Errors
///
/// The store's; [`BlobError::Damaged`] for the first blob whose bytes are missing or wrong; why a
/// copy cannot be written. Copies that were made before stay.
pub fn copy(snapshot: &Snapshot, from: &BlobPlace, to: &BlobPlace) -> Result<Copied, BlobError> {
    let copied = copy_those(snapshot, from, to, &|_| Ok(true))?;
    to.tidy();
    Ok(copied)
}

/// Copies those of the blobs that a state of the store names.
fn copy_those(
    snapshot: &Snapshot,
    from: &BlobPlace,
    to: &BlobPlace,
    is_wanted: &dyn Fn(&Blob) -> Result<bool, BlobError>,
) -> Result<Copied, BlobError> {
    let (mut copied, mut after) = (Copied::default(), None);
    loop {
        let page = rows::page(snapshot, after)?;
        let Some(last) = page.last() else { return Ok(copied) };
        after = Some(last.id);
        for (blob, bytes) in page.iter().zip(to.sizes_blocking(&page)?) {
            if bytes == Some(blob.bytes) || !is_wanted(blob)? {
                continue;
            }
            copy_one(blob, from, to)?;
            copied.blobs += 1;
            copied.bytes += blob.bytes;
        }
    }
}

fn copy_one(blob: &Blob, from: &BlobPlace, to: &BlobPlace) -> Result<(), BlobError> {
    let id = blob.id;
    let mut source = from.read_blocking(blob)?;
    to.discard(id);
    let (path, mut file) = (to.unfinished(id), to.create_blocking(id)?);
    let mut write = |bytes: &[u8]| file.write_all(bytes).map_err(BlobError::at("write", &path));
    let copied = verify(&mut source, blob, &mut write);
    copied.and_then(|()| to.finish_blocking(id, file, blob.bytes)).inspect_err(|_| to.discard(id))
}

/// Keeps the blobs of a store that another has replaced in a folder, so that sweeping the place leaves
/// them there. Those of a folder get a second name, or are copied where the file system has no hard
/// links. Of a bucket, those are fetched that the store of today does not name; `open` opens the replaced
/// one and that.
///
/// # Errors
///
/// Why that cannot be done.
pub fn keep(
    place: &BlobPlace,
    open: &dyn Fn() -> Result<(Snapshot, Snapshot), StoreError>,
    to: &Path,
) -> Result<Copied, BlobError> {
    let to = BlobPlace::beside(to);
    match (&*place.0, &*to.0) {
        (Kind::Folder(from), Kind::Folder(to)) => link(from, to),
        _ => {
            let (replaced, now) = open()?;
            let is_gone = |blob: &Blob| Ok(!rows::has(&now, blob.id)?);
            let kept = copy_those(&replaced, place, &to, &is_gone)?;
            to.tidy();
            Ok(kept)
        }
    }
}

fn link(from: &Folder, to: &Folder) -> Result<Copied, BlobError> {
    let mut copied = Copied::default();
    for folder in from.folders()? {
        for id in names_of_blobs(&folder)? {
            let name = from.file(id);
            let (_, second) = to.room(id)?;
            let linked = std::fs::hard_link(&name, &second)
                .or_else(|_| std::fs::copy(&name, &second).map(|_| ()));
            linked.map_err(BlobError::at("keep", &second))?;
            copied.blobs += 1;
            copied.bytes += from.bytes(id)?.unwrap_or(0);
        }
        sync(to.path()).map_err(BlobError::at("sync", to.path()))?;
    }
    Ok(copied)
}

impl From<BlobError> for StoreError {
    /// Describes the error in a copy of a store, of which the blobs are a part.
    fn from(error: BlobError) -> Self {
        match error {
            BlobError::Store(error) => error,
            error => Self::Unusable(error.to_string()),
        }
    }
}
