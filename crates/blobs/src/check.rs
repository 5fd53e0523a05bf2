//! Looks for damage: bytes that are missing, or are others than were written.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use homeroom_store::{Snapshot, StoreError};
use sha2::{Digest as _, Sha256};

use crate::blob::Blob;
use crate::error::BlobError;
use crate::limits::CHUNK_BYTES;
use crate::place::BlobPlace;
use crate::rows;

/// Most problems that are described.
const PROBLEMS_MAX: usize = 20;

/// The result of a look at the blobs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Checked {
    /// Descriptions of damage.
    pub problems: Vec<String>,
    /// Descriptions of what was not checked.
    pub left_out: Vec<String>,
    /// The number of blobs that were looked at.
    pub blobs: u64,
}

/// Checks that every blob that a state of the store names has its bytes: their number and, unless
/// `is_quick`, their hash.
///
/// # Errors
///
/// The store's own. What is wrong with a blob is a problem and no error.
pub fn check(
    place: &BlobPlace,
    snapshot: &Snapshot,
    is_quick: bool,
    is_late: &dyn Fn() -> bool,
) -> Result<Checked, StoreError> {
    let mut checked = Checked::default();
    let mut after = None;
    let mut bad = 0;
    loop {
        let page = rows::page(snapshot, after)?;
        let Some(last) = page.last() else { break };
        after = Some(last.id);
        for blob in &page {
            if is_late() {
                checked.left_out.push(format!(
                    "the bytes of blobs from {} on: the time limit was reached",
                    blob.id
                ));
                return Ok(checked);
            }
            checked.blobs += 1;
            let Err(error) = look_at(place, blob, is_quick) else { continue };
            bad += 1;
            if bad <= PROBLEMS_MAX {
                checked.problems.push(error.to_string());
            }
        }
    }
    if bad > PROBLEMS_MAX {
        checked.problems.push(format!("{} more blobs are damaged", bad - PROBLEMS_MAX));
    }
    if is_quick && checked.blobs > 0 {
        checked.left_out.push("the hashes of blobs (--quick)".into());
    }
    Ok(checked)
}

fn look_at(place: &BlobPlace, blob: &Blob, is_quick: bool) -> Result<(), BlobError> {
    let id = blob.id;
    let damaged = |why: String| BlobError::Damaged { id, why };
    let bytes = place.0.bytes(id)?.ok_or_else(|| damaged("its file is missing".into()))?;
    if bytes != blob.bytes {
        return Err(damaged(format!("its file has {bytes} bytes of {}", blob.bytes)));
    }
    if is_quick {
        return Ok(());
    }
    let path = place.0.file(id);
    verify(&mut place.0.read(id)?, &path, blob, &mut |_| Ok(()))
}

/// Reads a file and gives its bytes to `sink`; fails where they are not the blob's.
pub(crate) fn verify(
    file: &mut File,
    path: &Path,
    blob: &Blob,
    sink: &mut dyn FnMut(&[u8]) -> Result<(), BlobError>,
) -> Result<(), BlobError> {
    let (mut hash, mut buffer) = (Sha256::new(), vec![0; CHUNK_BYTES]);
    loop {
        let read = file.read(&mut buffer).map_err(BlobError::at("read", path))?;
        if read == 0 {
            break;
        }
        hash.update(&buffer[..read]);
        sink(&buffer[..read])?;
    }
    let found: [u8; 32] = hash.finalize().into();
    if found == blob.sha256 {
        return Ok(());
    }
    Err(BlobError::Damaged { id: blob.id, why: "its bytes are not those that were written".into() })
}
