//! Why a definition cannot be used.

/// A definition that does not fit the schema or the model.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{file}:{line}: {what}")]
pub struct CompositeError {
    /// The file.
    pub file: String,
    /// The line, from 1.
    pub line: usize,
    /// Says what the line contains, and what would be right.
    pub what: String,
}
