//! Looks for damage: bytes that are missing, or are others than were written.

use homeroom_store::{Snapshot, StoreError};
use sha2::{Digest as _, Sha256};

use crate::blob::Blob;
use crate::error::BlobError;
use crate::place::{BlobPlace, BlockingSource};
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
    /// Why the bucket could not be asked, and what to do about it.
    pub unreachable: Option<String>,
}

/// Checks that every blob that a state of the store names has its bytes: their number and, unless
/// `is_quick`, their hash.
///
/// # Errors
///
/// The store's own. What is wrong with a blob, or with the bucket, is a problem and no error.
pub fn check(
    place: &BlobPlace,
    snapshot: &Snapshot,
    is_quick: bool,
    is_late: &dyn Fn() -> bool,
) -> Result<Checked, StoreError> {
    let mut checked = Checked::default();
    match look(place, snapshot, is_quick, is_late, &mut checked) {
        Ok(()) => {}
        Err(BlobError::Store(error)) => return Err(error),
        Err(error) => checked.unreachable = Some(error.to_string()),
    }
    Ok(checked)
}

fn look(
    place: &BlobPlace,
    snapshot: &Snapshot,
    is_quick: bool,
    is_late: &dyn Fn() -> bool,
    checked: &mut Checked,
) -> Result<(), BlobError> {
    place.exists_blocking()?;
    let mut after = None;
    let mut bad = 0;
    loop {
        let page = rows::page(snapshot, after)?;
        let Some(last) = page.last() else { break };
        after = Some(last.id);
        let sizes = place.sizes_blocking(&page)?;
        for (blob, bytes) in page.iter().zip(sizes) {
            if is_late() {
                checked.left_out.push(format!(
                    "the bytes of blobs from {} on: the time limit was reached",
                    blob.id
                ));
                return Ok(());
            }
            checked.blobs += 1;
            let error = match look_at(place, blob, bytes, is_quick) {
                Ok(()) => continue,
                Err(error @ BlobError::Bucket { .. }) => return Err(error),
                Err(error) => error,
            };
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
    Ok(())
}

fn look_at(
    place: &BlobPlace,
    blob: &Blob,
    bytes: Option<u64>,
    is_quick: bool,
) -> Result<(), BlobError> {
    let bytes = bytes.ok_or_else(|| BlobError::missing(blob.id))?;
    if bytes != blob.bytes {
        let why = format!("there are {bytes} bytes of {}", blob.bytes);
        return Err(BlobError::Damaged { id: blob.id, why });
    }
    if is_quick {
        return Ok(());
    }
    verify(&mut place.read_blocking(blob)?, blob, &mut |_| Ok(()))
}

/// Reads a blob's bytes and gives its bytes to `sink`; fails where they are not the blob's.
pub(crate) fn verify(
    source: &mut BlockingSource,
    blob: &Blob,
    sink: &mut dyn FnMut(&[u8]) -> Result<(), BlobError>,
) -> Result<(), BlobError> {
    let mut hash = Sha256::new();
    while let Some(bytes) = source.next()? {
        hash.update(&bytes);
        sink(&bytes)?;
    }
    let found: [u8; 32] = hash.finalize().into();
    if found == blob.sha256 {
        return Ok(());
    }
    Err(BlobError::Damaged { id: blob.id, why: "its bytes are not those that were written".into() })
}
