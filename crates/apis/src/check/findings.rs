//! What is wrong with a definition, and where.

use serde::{Deserialize, Serialize};

/// Something that is wrong with a definition.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
pub struct Finding {
    /// The file, if it came from one.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub file: String,
    /// The line, from 1; 0 where it is not known.
    #[serde(default)]
    pub line: usize,
    /// The member, such as `apis[0].upstream`.
    pub path: String,
    /// What is wrong, and how to mend it.
    pub message: String,
}

impl Finding {
    /// Returns what is wrong at a member, of which file and line are not known.
    pub(crate) fn at(path: impl Into<String>, message: impl Into<String>) -> Self {
        Self { file: String::new(), line: 0, path: path.into(), message: message.into() }
    }
}

impl std::fmt::Display for Finding {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match (self.file.as_str(), self.line) {
            ("", _) => {}
            (file, 0) => write!(f, "{file}: ")?,
            (file, line) => write!(f, "{file}:{line}: ")?,
        }
        if self.path.is_empty() {
            return f.write_str(&self.message);
        }
        write!(f, "{}: {}", self.path, self.message)
    }
}

/// Collects findings below a path.
pub(super) struct Findings<'a> {
    pub(super) found: &'a mut Vec<Finding>,
    pub(super) path: String,
}

impl Findings<'_> {
    pub(super) fn add(&mut self, member: &str, message: impl Into<String>) {
        let dot = if member.is_empty() || member.starts_with('[') { "" } else { "." };
        let path = format!("{}{dot}{member}", self.path).trim_end_matches('.').to_owned();
        self.found.push(Finding::at(path, message));
    }
}
