//! Identifiers of a document inside the store.

use std::cell::RefCell;
use std::fmt;

/// Dense number of a document, assigned in order of creation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DocumentId(pub i64);

impl DocumentId {
    /// Stands for the document itself in its own references, before its number is assigned.
    pub const ITSELF: Self = Self(0);
}

/// Number of a kind of document (a resource or an abstract base) in this store.
///
/// The store assigns them by name ([`crate::Store::kinds`]) and never changes them, so a model that
/// gains resources changes no stored row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct KindId(pub u16);

/// Public id of a document.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Uuid(pub [u8; 16]);

impl Uuid {
    /// Creates an id (version 7), ordered by time to the millisecond.
    pub fn new() -> Self {
        let (seconds, nanos) = uuid::Timestamp::now(uuid::NoContext).to_unix();
        let millis = seconds * 1_000 + u64::from(nanos / 1_000_000);
        let random = RANDOM.with_borrow_mut(RandomBytes::next);
        Self(*uuid::Builder::from_unix_timestamp_millis(millis, &random).into_uuid().as_bytes())
    }

    /// Reads 32 hex digits, with or without dashes.
    pub fn read(text: &str) -> Option<Self> {
        let parsed = uuid::Uuid::try_parse(text).ok()?;
        matches!(text.len(), 32 | 36).then(|| Self(*parsed.as_bytes()))
    }

    /// Returns 32 lower-case hex digits, as the API writes ids.
    pub fn hex(self) -> [u8; 32] {
        let mut out = [0; 32];
        for (at, byte) in self.0.iter().enumerate() {
            out[at * 2] = HEX[usize::from(byte >> 4)];
            out[at * 2 + 1] = HEX[usize::from(byte & 15)];
        }
        out
    }
}

thread_local! {
    static RANDOM: RefCell<RandomBytes> =
        const { RefCell::new(RandomBytes { bytes: [0; 500], left: 0 }) };
}

/// A buffer of the system's random bytes: one system call per id would be a good part of a write's
/// cost.
struct RandomBytes {
    bytes: [u8; 500],
    left: usize,
}

impl RandomBytes {
    fn next(&mut self) -> [u8; 10] {
        if self.left == 0 {
            getrandom::fill(&mut self.bytes).expect("a running system gives random bytes");
            self.left = self.bytes.len();
        }
        self.left -= 10;
        let mut next = [0; 10];
        next.copy_from_slice(&self.bytes[self.left..self.left + 10]);
        next
    }
}

const HEX: &[u8; 16] = b"0123456789abcdef";

impl Default for Uuid {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Display for Uuid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let hex = self.hex();
        f.write_str(std::str::from_utf8(&hex).map_err(|_| fmt::Error)?)
    }
}

impl fmt::Debug for Uuid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// 128-bit hash of an identity: a kind's name and the ordered, length-prefixed parts of its key.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NaturalKey(pub [u8; 16]);

impl NaturalKey {
    /// Hashes an identity; `kind` is a name such as `ed-fi/Section`.
    ///
    /// BLAKE3 is cryptographic, so no client can construct two identities with the same hash.
    pub fn of<'a>(kind: &str, parts: impl IntoIterator<Item = &'a [u8]>) -> Self {
        let mut hasher = blake3::Hasher::new();
        let mut add = |part: &[u8]| {
            let length = u32::try_from(part.len()).unwrap_or(u32::MAX);
            hasher.update(&length.to_le_bytes());
            hasher.update(part);
        };
        add(kind.as_bytes());
        for part in parts {
            add(part);
        }
        let mut key = [0; 16];
        key.copy_from_slice(&hasher.finalize().as_bytes()[..16]);
        Self(key)
    }
}

impl fmt::Debug for NaturalKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&Uuid(self.0), f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_parsed_with_and_without_dashes() {
        let id = Uuid::new();
        let dashed = uuid::Uuid::from_bytes(id.0).to_string();

        assert_eq!(Uuid::read(&id.to_string()), Some(id));
        assert_eq!(Uuid::read(&dashed), Some(id));
        assert_eq!(Uuid::read("{urn}"), None);
        assert_eq!(Uuid::read(&format!("{{{dashed}}}")), None);
    }

    #[test]
    fn differently_split_key_parts_give_different_keys() {
        let key = |parts: &[&str]| NaturalKey::of("k", parts.iter().map(|p| p.as_bytes()));

        assert_ne!(key(&["ab", "c"]), key(&["a", "bc"]));
        assert_ne!(key(&["a"]), key(&["a", ""]));
    }
}
