//! Why model files cannot be linked.

/// A contradiction within a model file or between files.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{resource}: {message}")]
pub struct LinkError {
    /// Schema and name of the resource at fault, `ed-fi/Section`; the schema alone for a file as a
    /// whole.
    pub resource: String,
    /// What cannot be resolved, and what would be right.
    pub message: String,
}
