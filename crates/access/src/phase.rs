//! The two versions of a document that rights are checked on.

/// Which version of a document is checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// The document that the client sends.
    Proposed,
    /// The stored document; a problem reveals nothing of it.
    Stored,
}
