//! The root element of an interchange.

/// Place of the tag of an interchange's root.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct RootTag {
    /// Offset of its first byte.
    pub start: u64,
    /// Offset after its last byte.
    pub end: u64,
    /// Its name, with its prefix.
    pub name: Vec<u8>,
    /// Whether it is an element without content, `<InterchangeStudent/>`.
    pub is_empty: bool,
}

impl RootTag {
    /// Makes the place of a tag that begins at an offset.
    pub(crate) fn new(start: u64, tag: &[u8]) -> Self {
        let is_end = |byte: &u8| byte.is_ascii_whitespace() || matches!(byte, b'>' | b'/');
        let end = tag.iter().position(is_end).unwrap_or(tag.len());
        Self {
            start,
            end: start + tag.len() as u64,
            name: tag.get(1..end).unwrap_or_default().to_owned(),
            is_empty: tag.ends_with(b"/>"),
        }
    }
}
