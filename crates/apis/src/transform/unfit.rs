//! Why a body cannot be changed.

use super::scan::NotJson;

/// A body that cannot be changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unfit {
    /// It is not JSON.
    #[error(transparent)]
    NotJson(#[from] NotJson),
    /// A member that an operation names is there twice, however its name is written.
    #[error("the member {0:?} is there twice")]
    Twice(String),
}
