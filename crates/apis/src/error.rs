//! Why what is published is not changed or read.

use homeroom_store::StoreError;

use crate::check::Finding;

/// Most bytes of a definition with its documents.
pub(crate) const DEFINITION_BYTES_MAX: usize = 64 << 20;

/// Why a request of a command is not done.
#[derive(Debug, thiserror::Error)]
pub enum ApisError {
    /// The definition cannot be published.
    #[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))]
    Invalid(Vec<Finding>),
    /// The definition is too large.
    #[error("the definition has more than {DEFINITION_BYTES_MAX} bytes with its documents")]
    TooLarge,
    /// Nothing of this name is published.
    #[error("there is no {what} {name}")]
    Unknown {
        /// `API` or `plan`.
        what: &'static str,
        /// The name.
        name: String,
    },
    /// APIs or keys have the plan that is to be removed.
    #[error("the plan {plan} is that of {}", dependents(.apis, .keys))]
    InUse {
        /// The plan.
        plan: String,
        /// The names of the APIs.
        apis: Vec<String>,
        /// The keys.
        keys: Vec<String>,
    },
    /// A subscription makes no sense.
    #[error("{0}")]
    Subscription(String),
    /// Another process has changed what is published in the same moment.
    #[error("another process has changed what is published at the same moment; try again")]
    Meanwhile,
    /// The store has failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// What the store has cannot be read.
    #[error("what is published cannot be read from the store: {0}")]
    Damaged(String),
}

/// Most names that an error lists.
pub(crate) const NAMED_MAX: usize = 20;

/// Lists the APIs and keys that have a plan, as a sentence shows them.
fn dependents(apis: &[String], keys: &[String]) -> String {
    let some = |what: &str, names: &[String]| {
        let named = names[..names.len().min(NAMED_MAX)].join(", ");
        match names.len().saturating_sub(NAMED_MAX) {
            0 => format!("the {what} {named}"),
            more => format!("the {what} {named} and {more} more"),
        }
    };
    match (apis.is_empty(), keys.is_empty()) {
        (_, true) => some("APIs", apis),
        (true, false) => some("keys", keys),
        (false, false) => format!("{} and {}", some("APIs", apis), some("keys", keys)),
    }
}
