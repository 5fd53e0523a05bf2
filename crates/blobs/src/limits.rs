//! Limits of blobs.

use std::time::Duration;

/// Limits of blobs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Most bytes of a blob. Default: 16 GiB.
    pub bytes_max: u64,
    /// How long bytes that no row names are kept, and bytes whose row was removed. A row must be
    /// committed within half of this time after its bytes were written. Default: 1 hour.
    pub grace: Duration,
}

/// Most bytes of the name of an owner's kind.
pub(crate) const OWNER_KIND_BYTES_MAX: usize = 64;

/// Bytes that are read or copied at a time, and so the memory of a stream.
pub(crate) const CHUNK_BYTES: usize = 256 << 10;

impl Default for Limits {
    fn default() -> Self {
        Self { bytes_max: 16 << 30, grace: Duration::from_hours(1) }
    }
}

impl Limits {
    /// Returns the grace period in microseconds.
    pub(crate) fn grace_us(&self) -> i64 {
        i64::try_from(self.grace.as_micros()).unwrap_or(i64::MAX)
    }
}
