//! Copies of blobs: into a backup, and back from one.
//!
//! Blobs never change under their ids, so a copy of one is good for every state of the store that
//! names it.

use std::io::Write as _;

use homeroom_store::{Snapshot, StoreError};

use crate::blob::Blob;
use crate::check::verify;
use crate::error::BlobError;
use crate::folder::{names_of_blobs, sync};
use crate::place::BlobPlace;
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
    let (mut copied, mut after) = (Copied::default(), None);
    loop {
        let page = rows::page(snapshot, after)?;
        let Some(last) = page.last() else {
            to.0.tidy();
            return Ok(copied);
        };
        after = Some(last.id);
        for blob in &page {
            if to.0.bytes(blob.id)? == Some(blob.bytes) {
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
    let mut source = from.0.read(id)?;
    to.0.prepare()?;
    to.0.discard(id);
    let (path, mut file) = (to.0.unfinished(id), to.0.create(id)?);
    let mut write = |bytes: &[u8]| file.write_all(bytes).map_err(BlobError::at("write", &path));
    let copied = verify(&mut source, &from.0.file(id), blob, &mut write);
    copied.and_then(|()| to.0.finish(id, &file)).inspect_err(|_| to.0.discard(id))
}

/// Gives every blob of a place a second name in another, so that sweeping the first leaves it
/// there; where the file system has no hard links, copies it.
///
/// # Errors
///
/// Why that cannot be done.
pub fn link(from: &BlobPlace, to: &BlobPlace) -> Result<Copied, BlobError> {
    let mut copied = Copied::default();
    for folder in from.0.folders()? {
        for id in names_of_blobs(&folder)? {
            let name = from.0.file(id);
            let (_, second) = to.0.room(id)?;
            let linked = std::fs::hard_link(&name, &second)
                .or_else(|_| std::fs::copy(&name, &second).map(|_| ()));
            linked.map_err(BlobError::at("keep", &second))?;
            copied.blobs += 1;
            copied.bytes += from.0.bytes(id)?.unwrap_or(0);
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
