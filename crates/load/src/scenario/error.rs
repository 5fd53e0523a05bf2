//! What is wrong with a scenario, and where.

use std::fmt;

/// Why a scenario cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error {
    /// The line in its file, if the scenario was read from a text.
    pub line: Option<usize>,
    /// The step's position, from 1, and its name.
    pub step: Option<(usize, String)>,
    /// The member of the step or of the file; empty for the whole of it.
    pub part: &'static str,
    /// What is wrong, and how to correct it.
    pub why: String,
}

impl Error {
    /// Returns an error about the whole file or a member of it.
    pub(super) fn of_file(part: &'static str, why: impl Into<String>) -> Self {
        Self { line: None, step: None, part, why: why.into() }
    }

    /// Returns an error about a step.
    pub(super) fn of_step(
        at: usize,
        name: &str,
        part: &'static str,
        why: impl Into<String>,
    ) -> Self {
        Self { line: None, step: Some((at + 1, name.into())), part, why: why.into() }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(line) = self.line {
            write!(f, "line {line}: ")?;
        }
        if let Some((number, name)) = &self.step {
            write!(f, "step {number}")?;
            if !name.is_empty() {
                write!(f, " (`{name}`)")?;
            }
            f.write_str(if self.part.is_empty() { ": " } else { ", " })?;
        }
        if !self.part.is_empty() {
            write!(f, "{}: ", self.part)?;
        }
        f.write_str(&self.why)
    }
}

impl std::error::Error for Error {}
