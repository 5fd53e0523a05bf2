//! Why a model file cannot be read.

/// Why a model file cannot be read, and where.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {message}")]
pub struct FormatError {
    /// Line number, from 1.
    pub line: usize,
    /// What is wrong, and what would be right.
    pub message: String,
}
