//! Faults in one record that are found before it is checked as a document.

use homeroom_document::{Code, DOCUMENT_BYTES_MAX};

/// A part of a record that cannot be read as the model describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Flaw {
    /// Its stable code.
    pub code: Code,
    /// Line and column in bytes of the fault in its file, each from 1, where that is known.
    pub place: Option<(u32, u32)>,
    /// Path of elements or members to it, `SchoolReference/SchoolIdentity`; empty for the record
    /// itself.
    pub path: String,
    /// What is wrong, in a sentence that fits all flaws of this kind.
    pub general: &'static str,
    /// What is wrong here, in a sentence.
    pub message: String,
    /// How to correct it.
    pub hint: &'static str,
}

impl Flaw {
    /// Returns the flaw of a document that is too large.
    pub(crate) fn too_large() -> Self {
        Self {
            place: None,
            code: Code::TooLarge,
            path: String::new(),
            general: "A document is too large.",
            message: format!("The document is larger than {DOCUMENT_BYTES_MAX} bytes."),
            hint: "Split it, or leave out what is not needed.",
        }
    }
}
