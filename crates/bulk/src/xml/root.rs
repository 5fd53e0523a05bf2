//! The root element of an interchange.

/// Place of the tag of an interchange's root.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct RootTag {
    /// Offset of its first byte.
    pub start: u64,
    /// Offset after its last byte.
    pub end: u64,
}
