//! A blob and its id.

use std::fmt;

use homeroom_store::{ChangedAt, Uuid};

/// Id of a blob, ordered by time of creation. It is also the blob's name in its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BlobId(pub Uuid);

impl BlobId {
    /// Reads an id of 32 hex digits.
    pub fn read(text: &str) -> Option<Self> {
        // A name in another spelling is not a blob's.
        Uuid::read(text).map(Self).filter(|id| id.to_string() == text)
    }
}

impl fmt::Display for BlobId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A blob, as its row describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Blob {
    /// Its id.
    pub id: BlobId,
    /// Its size in bytes.
    pub bytes: u64,
    /// SHA-256 of its bytes.
    pub sha256: [u8; 32],
    /// What it is for, such as `course-package`: the kind of thing whose row names it.
    pub owner_kind: String,
    /// When it was written.
    pub created: ChangedAt,
}

impl Blob {
    /// Returns the hash as 64 hex digits.
    pub fn sha256_hex(&self) -> String {
        hex(&self.sha256)
    }
}

/// Returns bytes as lower-case hex digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    use fmt::Write as _;
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut out, byte| {
        _ = write!(out, "{byte:02x}");
        out
    })
}

/// Reads 64 lower-case hex digits.
pub(crate) fn hash(text: &str) -> Option<[u8; 32]> {
    let mut out = [0; 32];
    let digits = text.as_bytes();
    if digits.len() != 64 {
        return None;
    }
    for (at, byte) in out.iter_mut().enumerate() {
        let pair = std::str::from_utf8(&digits[at * 2..at * 2 + 2]).ok()?;
        *byte = u8::from_str_radix(pair, 16).ok()?;
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hash_reads_back() {
        let mut bytes = [7; 32];
        bytes[31] = 255;

        assert_eq!(hash(&hex(&bytes)), Some(bytes));
        assert_eq!(hash(&"0".repeat(63)), None);
        assert_eq!(hash(&"g".repeat(64)), None);
    }

    #[test]
    fn only_the_one_spelling_of_an_id_is_a_name() {
        let id = BlobId(Uuid([0xab; 16]));

        assert_eq!(BlobId::read(&id.to_string()), Some(id));
        assert_eq!(BlobId::read(&id.to_string().to_uppercase()), None);
        assert_eq!(BlobId::read("../../etc/passwd"), None);
    }
}
