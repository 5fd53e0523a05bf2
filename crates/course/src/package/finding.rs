//! What was found in a package, in words for people.

use serde::{Deserialize, Serialize};

/// Most findings that are kept; further ones are counted.
const FINDINGS_MAX: usize = 500;

/// How good or bad a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// It is as it should be.
    Pass,
    /// It is not as the standard asks, and the course plays all the same.
    Warn,
    /// The package cannot be played.
    Fail,
}

/// A finding.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
pub struct Finding {
    /// How good or bad it is.
    pub level: Level,
    /// A stable word for it, such as `missing-file`.
    pub code: String,
    /// What was found, and what to do.
    pub message: String,
    /// The element that it is about, such as `item item_1`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub element: Option<String>,
    /// The line of the manifest, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<usize>,
    /// The file that it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
}

impl Finding {
    /// Creates a finding about the package as a whole.
    pub fn new(level: Level, code: &str, message: impl Into<String>) -> Self {
        let (code, message) = (code.to_owned(), message.into());
        Self { level, code, message, element: None, line: None, file: None }
    }

    /// Creates a failure.
    pub fn fail(code: &str, message: impl Into<String>) -> Self {
        Self::new(Level::Fail, code, message)
    }

    /// Creates a warning.
    pub fn warn(code: &str, message: impl Into<String>) -> Self {
        Self::new(Level::Warn, code, message)
    }

    /// Creates a confirmation.
    pub fn pass(code: &str, message: impl Into<String>) -> Self {
        Self::new(Level::Pass, code, message)
    }

    /// Returns the same finding about an element in a line.
    #[must_use]
    pub fn at(self, element: impl Into<String>, line: usize) -> Self {
        Self { element: Some(element.into()), line: Some(line), ..self }
    }

    /// Returns the same finding about a file.
    #[must_use]
    pub fn of_file(self, file: impl Into<String>) -> Self {
        Self { file: Some(file.into()), ..self }
    }

    /// Returns the finding in one line.
    pub fn line_of_text(&self) -> String {
        let mut text = self.message.clone();
        let mut places = vec![];
        if let Some(element) = &self.element {
            places.push(element.clone());
        }
        if let Some(line) = self.line {
            places.push(format!("line {line}"));
        }
        if let Some(file) = &self.file {
            places.push(file.clone());
        }
        if !places.is_empty() {
            text = format!("{text} ({})", places.join(", "));
        }
        text
    }
}

/// Findings, at most so many.
#[derive(Debug, Default)]
pub(crate) struct Findings {
    pub(crate) all: Vec<Finding>,
    dropped: usize,
}

impl Findings {
    /// Adds a finding, unless there are too many of those that are not failures.
    pub(crate) fn add(&mut self, finding: Finding) {
        if self.all.len() < FINDINGS_MAX || finding.level == Level::Fail {
            self.all.push(finding);
        } else {
            self.dropped += 1;
        }
    }

    /// Returns all findings; the last one tells how many were left out.
    pub(crate) fn into_all(mut self) -> Vec<Finding> {
        if self.dropped > 0 {
            let more = format!("{} more findings are not shown", self.dropped);
            self.all.push(Finding::warn("more-findings", more));
        }
        self.all
    }
}
