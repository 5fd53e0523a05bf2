//! Why the part cannot be opened, or a change be made.

use homeroom_store::StoreError;

use crate::claims_file::ClaimsError;
use crate::secret::RandomError;

/// Why the part cannot be opened or refreshed.
#[derive(Debug, thiserror::Error)]
pub enum AccessError {
    /// The claims file contradicts itself or the model.
    #[error(transparent)]
    Claims(#[from] ClaimsError),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The system could not supply random bytes.
    #[error(transparent)]
    Random(#[from] RandomError),
    /// A stored row is malformed.
    #[error("a stored {0} cannot be parsed")]
    Damaged(&'static str),
}

/// Why a management command failed. Nothing was changed, as far as the store knows.
#[derive(Debug, thiserror::Error)]
pub enum ManageError {
    /// A key of the scope `data` needs a claim set.
    #[error("a key needs a claim set, which says what it may do; available: {}", .0.join(", "))]
    NoClaimSet(Vec<String>),
    /// No claim set has this name.
    #[error("there is no claim set `{name}`; available: {}", .known.join(", "))]
    UnknownClaimSet {
        /// The name that was given.
        name: String,
        /// The names that exist.
        known: Vec<String>,
    },
    /// No client has this key.
    #[error("there is no key `{key}`{hint}")]
    UnknownKey {
        /// The key that was given.
        key: String,
        /// A suggestion of what was meant.
        hint: String,
    },
    /// The request is invalid as it stands.
    #[error("{0}")]
    Invalid(String),
    /// The request conflicts with the current state.
    #[error("{0}")]
    Refused(String),
    /// Another process changed the registry at the same moment.
    #[error("another process has just changed keys, claim sets or strategies; try again")]
    Meanwhile,
    /// The store or the system failed.
    #[error(transparent)]
    Access(#[from] AccessError),
}

impl From<StoreError> for ManageError {
    fn from(error: StoreError) -> Self {
        Self::Access(error.into())
    }
}

impl From<RandomError> for ManageError {
    fn from(error: RandomError) -> Self {
        Self::Access(error.into())
    }
}
