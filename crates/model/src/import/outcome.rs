//! What an import ends with: a model with notes, or problems.

use std::fmt;

use crate::source::Source;

/// An imported model, with notes for the caller.
#[derive(Debug)]
pub struct Imported {
    /// The model file's content.
    pub source: Source,
    /// Rows of the rules that were not used.
    pub unused: Vec<String>,
    /// Number of XML schema elements that have a property.
    pub elements: usize,
}

/// A part of an input that cannot be read or that contradicts other inputs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// Name of the input; empty where several inputs contradict each other.
    pub file: String,
    /// Table, schema, element or path.
    pub element: String,
    /// What is wrong.
    pub message: String,
}

impl Problem {
    pub(super) fn new(element: impl Into<String>, message: impl Into<String>) -> Self {
        Self { file: String::new(), element: element.into(), message: message.into() }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.file.is_empty() {
            write!(f, "{}: ", self.file)?;
        }
        write!(f, "{}: {}", self.element, self.message)
    }
}
