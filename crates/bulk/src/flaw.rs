//! What is wrong with one record before it is checked as a document.

use homeroom_http::Kind;

/// Something in a record that cannot be read as the model has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Flaw {
    /// Its type among the problems of the API.
    pub kind: Kind,
    /// Elements or members on the way to it, `SchoolReference/SchoolIdentity`; empty for the record.
    pub path: String,
    /// What is wrong, in a sentence that holds for all flaws of this sort.
    pub general: &'static str,
    /// What is wrong here, in a sentence.
    pub message: String,
    /// How to mend it.
    pub hint: &'static str,
}
