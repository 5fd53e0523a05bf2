//! Limits of packages.

/// Limits of a package.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PackageLimits {
    /// Most bytes of the file as it is handed in. Default: 4 GiB.
    pub packed_bytes: u64,
    /// Most bytes of all its files when they are unpacked. Default: 8 GiB.
    pub unpacked_bytes: u64,
    /// Most files. Default: 50,000.
    pub files: usize,
    /// Most times that a file may be larger unpacked than packed, beyond the first MiB. Default: 500.
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
            ratio: 500,
            path_bytes: 1_024,
            manifest_bytes: 16 << 20,
        }
    }
}

/// Deepest nesting of elements of a manifest.
pub(crate) const DEPTH_MAX: usize = 128;
/// Most elements of a manifest.
pub(crate) const ELEMENTS_MAX: usize = 200_000;
/// Most activities of a course.
pub(crate) const ACTIVITIES_MAX: usize = 5_000;
/// Most findings that are kept; further ones are counted.
pub(crate) const FINDINGS_MAX: usize = 500;
