//! Limits of packages.

use super::finding::Finding;

/// Limits of a package.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PackageLimits {
    /// Most bytes of the file as it is handed in. Default: 4 GiB.
    pub packed_bytes: u64,
    /// Most bytes of all its files when they are unpacked. Default: 8 GiB.
    pub unpacked_bytes: u64,
    /// Most files. Default: 50,000.
    pub files: usize,
    /// Most bytes of all its files unpacked, whatever the size of the package. Default: 256 MiB.
    pub any_ratio_bytes: u64,
    /// Most times that all its files together may be larger than the package, beyond that. Default: 100.
    pub ratio: u64,
    /// Most bytes of a file's path. Default: 1,024.
    pub path_bytes: usize,
    /// Most bytes of a manifest. Default: 16 MiB.
    pub manifest_bytes: usize,
}

impl Default for PackageLimits {
    fn default() -> Self {
        Self {
            packed_bytes: 4 << 30,
            unpacked_bytes: 8 << 30,
            files: 50_000,
            any_ratio_bytes: 256 << 20,
            ratio: 100,
            path_bytes: 1_024,
            manifest_bytes: 16 << 20,
        }
    }
}

impl PackageLimits {
    /// Returns how many bytes the files of a package of so many bytes may have unpacked.
    pub(crate) fn unpacked_max(&self, packed: u64) -> u64 {
        let by_ratio = packed.saturating_mul(self.ratio).max(self.any_ratio_bytes);
        by_ratio.min(self.unpacked_bytes)
    }

    /// Says that a package has more bytes unpacked than it may have.
    pub(crate) fn too_much(&self, packed: u64) -> Finding {
        if self.unpacked_max(packed) >= self.unpacked_bytes {
            let message = format!(
                "the package has more than {} bytes when it is unpacked",
                self.unpacked_bytes
            );
            return Finding::fail("too-large", message);
        }
        let message = format!(
            "the package is more than {} times as large when it is unpacked, and then has more than {} \
             bytes, as only content made for harm does",
            self.ratio, self.any_ratio_bytes
        );
        Finding::fail("bomb", message)
    }
}

/// Deepest nesting of elements of a manifest.
pub(crate) const DEPTH_MAX: usize = 128;
/// Most elements of a manifest.
pub(crate) const ELEMENTS_MAX: usize = 200_000;
/// Most activities of a course.
pub(crate) const ACTIVITIES_MAX: usize = 5_000;
