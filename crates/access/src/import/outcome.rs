//! What an import ends with: a claims file with notes, or what is wrong.

use crate::claims_file::ClaimsError;

/// A claims hierarchy that cannot be imported.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// The hierarchy is not in the published form.
    #[error("the hierarchy cannot be read: {0}")]
    Reference(#[from] serde_json::Error),
    /// A name in it has no meaning here.
    #[error("{claim}: {message}")]
    Claim {
        /// The claim that contains it.
        claim: String,
        /// The part that cannot be parsed.
        message: String,
    },
    /// The current claims file cannot be read.
    #[error(transparent)]
    Current(#[from] ClaimsError),
}

/// A claims file, and what was left out of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Imported {
    /// The new text of the claims file.
    pub text: String,
    /// The published claim sets that it contains.
    pub claim_sets: Vec<String>,
    /// Claim sets that were left out.
    pub left_out_sets: Vec<String>,
    /// Claims that match no resource of the model, and domains that became empty.
    pub left_out_claims: Vec<String>,
}
