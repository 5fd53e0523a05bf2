//! The seal of a backup: hashes of all its bytes, behind its last page.
//!
//! A flipped bit in a text breaks no page and no table. So a backup ends with a hash of each of its
//! blocks, the number of its bytes, a hash over both, and [`LAST`]. SQLite reads no byte behind the
//! pages that the header counts, so a sealed file is still a store. A row of `place` says that
//! there is a seal; the first process that writes to the file removes the row.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::Path;

/// The end of a seal.
const LAST: &[u8; 16] = b"homeroom sealed\n";
/// Bytes that have a hash of their own.
const BLOCK: u64 = 1 << 20;
/// Bytes of a hash.
const HASH: usize = 32;
/// Bytes of a seal behind the hashes of blocks: the number of bytes, a hash, and [`LAST`].
const END: usize = 8 + HASH + LAST.len();
/// Most bytes of a seal that is read: one for 8 TiB.
const SEAL_MAX: u64 = 256 << 20;
/// Bytes of the header of an SQLite file.
const HEADER: usize = 100;

/// Why a file is not known to be whole.
pub(super) enum Flaw {
    /// What is wrong, in words that follow "is damaged:".
    Damaged(String),
    /// The time was over before all of it was read.
    Late,
    /// The file cannot be read.
    Unread(io::Error),
}

impl From<io::Error> for Flaw {
    fn from(error: io::Error) -> Self {
        Self::Unread(error)
    }
}

/// Seals a file that no process has open, and syncs it to disk.
pub(super) fn seal(path: &Path) -> io::Result<()> {
    let mut file = OpenOptions::new().read(true).append(true).open(path)?;
    let bytes = file.metadata()?.len();
    let mut seal = vec![];
    for at in 0..bytes.div_ceil(BLOCK) {
        seal.extend_from_slice(block(&mut file, at, bytes)?.as_bytes());
    }
    seal.extend_from_slice(&bytes.to_le_bytes());
    let own = blake3::hash(&seal);
    seal.extend_from_slice(own.as_bytes());
    seal.extend_from_slice(LAST);
    file.write_all(&seal)?;
    file.sync_all()
}

/// Compares a sealed file with its seal. Returns the number of bytes before the seal.
pub(super) fn compare(path: &Path, is_late: &dyn Fn() -> bool) -> Result<u64, Flaw> {
    let mut file = File::open(path)?;
    let len = file.metadata()?.len();
    let (hashes, bytes) = read(&mut file, len)?;
    for (at, expected) in (0_u64..).zip(hashes.chunks_exact(HASH)) {
        if is_late() {
            return Err(Flaw::Late);
        }
        if block(&mut file, at, bytes)?.as_bytes() != expected {
            let (first, last) = (at * BLOCK, ((at + 1) * BLOCK).min(bytes) - 1);
            return Err(Flaw::Damaged(format!(
                "bytes {first} to {last} are not those that were written"
            )));
        }
    }
    Ok(bytes)
}

/// Returns the number of bytes before a file's seal, if it has one.
pub(super) fn bytes_before(path: &Path) -> io::Result<Option<u64>> {
    let mut file = File::open(path)?;
    let len = file.metadata()?.len();
    match read(&mut file, len) {
        Ok((_, bytes)) => Ok(Some(bytes)),
        Err(Flaw::Unread(error)) => Err(error),
        Err(Flaw::Damaged(_) | Flaw::Late) => Ok(None),
    }
}

/// Refuses a file that ends before its last page.
pub(super) fn refuse_cut(path: &Path) -> Result<(), Flaw> {
    let mut file = File::open(path)?;
    let len = file.metadata()?.len();
    let mut header = [0; HEADER];
    if len < HEADER as u64 {
        return Err(Flaw::Damaged(format!("it has {len} bytes, which is too few for a store")));
    }
    file.read_exact(&mut header)?;
    if !header.starts_with(b"SQLite format 3\0") {
        // What it is instead is said where it is opened.
        return Ok(());
    }
    let page = match u64::from(u16::from_be_bytes([header[16], header[17]])) {
        1 => 65_536,
        bytes => bytes,
    };
    let pages = u32::from_be_bytes([header[28], header[29], header[30], header[31]]);
    let whole = u64::from(pages) * page;
    if len < whole {
        return Err(Flaw::Damaged(format!("it ends at byte {len} of {whole}: it was cut off")));
    }
    Ok(())
}

/// Reads a seal. Returns its hashes of blocks and the number of bytes that it is for.
fn read(file: &mut File, len: u64) -> Result<(Vec<u8>, u64), Flaw> {
    let cut = || {
        let what = "its checksums do not end there";
        Flaw::Damaged(format!("it ends at byte {len}, and {what}: it was cut off or added to"))
    };
    let end = END as u64;
    if len < end {
        return Err(cut());
    }
    let mut last = [0; END];
    file.seek(SeekFrom::Start(len - end))?;
    file.read_exact(&mut last)?;
    if !last.ends_with(LAST) {
        return Err(cut());
    }
    let bytes = u64::from_le_bytes(last[..8].try_into().expect("it has eight bytes"));
    let seal = bytes.div_ceil(BLOCK).saturating_mul(HASH as u64).saturating_add(end);
    if seal > SEAL_MAX || bytes.saturating_add(seal) != len {
        return Err(Flaw::Damaged(format!(
            "it has {len} bytes, and its checksums are for {bytes}"
        )));
    }
    let mut hashes = vec![0; usize::try_from(seal - end).unwrap_or(usize::MAX)];
    file.seek(SeekFrom::Start(bytes))?;
    file.read_exact(&mut hashes)?;
    let mut own = blake3::Hasher::new();
    own.update(&hashes).update(&last[..8]);
    if own.finalize().as_bytes() != &last[8..8 + HASH] {
        return Err(Flaw::Damaged(format!(
            "bytes {bytes} to {}, its checksums, are not those that were written",
            len - 1
        )));
    }
    Ok((hashes, bytes))
}

/// Hashes a block of a file of `bytes` bytes.
fn block(file: &mut File, at: u64, bytes: u64) -> io::Result<blake3::Hash> {
    let begin = at * BLOCK;
    let size = BLOCK.min(bytes - begin);
    file.seek(SeekFrom::Start(begin))?;
    let mut buffer = vec![0; usize::try_from(size).unwrap_or(usize::MAX)];
    file.read_exact(&mut buffer)?;
    Ok(blake3::hash(&buffer))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn damage(bytes: &[u8]) -> Option<String> {
        let path = std::env::temp_dir().join(format!("homeroom-seal-{}", crate::id::Uuid::new()));
        std::fs::write(&path, bytes).unwrap();
        let found = compare(&path, &|| false);
        std::fs::remove_file(&path).unwrap();
        let flaw = found.err()?;
        let Flaw::Damaged(why) = flaw else { panic!("it can be read") };
        Some(why)
    }

    fn sealed(content: &[u8]) -> Vec<u8> {
        let path = std::env::temp_dir().join(format!("homeroom-seal-{}", crate::id::Uuid::new()));
        std::fs::write(&path, content).unwrap();
        seal(&path).unwrap();
        let bytes = std::fs::read(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        bytes
    }

    #[test]
    fn every_changed_byte_of_a_sealed_file_is_found() {
        let good = sealed(b"some pages");
        assert_eq!(damage(&good), None);
        for at in 0..good.len() {
            let mut bad = good.clone();
            bad[at] ^= 1;

            assert!(damage(&bad).is_some(), "byte {at}");
        }
    }

    #[test]
    fn a_sealed_file_that_was_cut_or_added_to_is_refused() {
        let good = sealed(&vec![7; 3 << 20]);
        for len in [0, 1, END, good.len() / 2, good.len() - 1] {
            assert!(damage(&good[..len]).is_some(), "{len} bytes");
        }
        assert!(damage(&[good, vec![0]].concat()).is_some());
    }

    #[test]
    fn the_damaged_block_is_named() {
        let mut bad = sealed(&vec![7; (2 << 20) + 5]);
        bad[1 << 20] = 8;

        let why = damage(&bad).unwrap();

        assert!(why.contains("bytes 1048576 to 2097151"), "{why}");
    }
}
