//! Files that commands write at a path that the user chooses. Each kind is recognised by how it
//! begins; an existing file of another kind is never overwritten.

use std::io::Write as _;
use std::path::Path;

use homeroom_store::{OutputError, OutputKind};

use crate::exit::Failure;

/// An HTML page of the lab.
pub const PAGE: OutputKind = OutputKind {
    name: "a page of the lab",
    is_ours: |head| has(head, "<!DOCTYPE html>\n<html lang=\"en\">", &["Content-Security-Policy"]),
};

/// Tables of the lab as Markdown, recognised by the first one's caption.
pub const MARKDOWN: OutputKind = OutputKind {
    name: "Markdown of the lab",
    is_ours: |head| {
        let captions = [
            "**Levels**",
            "**Samples, ",
            "**Stages: ",
            "**Comparison: ",
            "**Gate: ",
            "**Gateway: ",
            "**Learners: ",
        ];
        has(head, "**", &captions)
    },
};

/// A table of the lab as CSV, recognised by its headings.
pub const CSV: OutputKind = OutputKind {
    name: "a table of the lab",
    is_ours: |head| {
        let headings = [
            "Label,Samples,",
            "Stage,Load,Duration,",
            "Level,Requests/s,",
            "Trial,Phase,",
            "Scenario Name,Heap Size,",
            "Level,Time,",
        ];
        headings.iter().any(|headings| head.starts_with(headings.as_bytes()))
    },
};

/// Figures of the lab as JSON, from a run, a search or a comparison.
pub const FIGURES: OutputKind = OutputKind {
    name: "a file of the lab's figures",
    is_ours: |head| {
        has(head, "{\n  \"format\": ", &["\"generator_version\"", "\"verdict\""])
            || has(head, "{\n  \"names\": [", &["\"settings\""])
    },
};

/// A test report about goals.
pub const JUNIT: OutputKind = OutputKind {
    name: "a test report of the lab",
    is_ours: |head| {
        has(head, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites tests=", &[])
    },
};

/// A page of the manual.
pub const MANUAL: OutputKind = OutputKind {
    name: "a page of Homeroom's manual",
    is_ours: |head| has(head, ".ie \\n(.g .ds Aq", &[".TH homeroom"]),
};

/// A model file.
pub const MODEL: OutputKind =
    OutputKind { name: "a model file", is_ours: |head| has(head, "standard ", &[]) };

/// The claims file.
pub const CLAIMS: OutputKind = OutputKind {
    name: "a claims file",
    is_ours: |head| has(head, "", &["# Made by `homeroom claim-sets import`"]),
};

/// Returns whether a file begins with `begin` and soon contains one of `one_of`, if there are any.
fn has(head: &[u8], begin: &str, one_of: &[&str]) -> bool {
    let text = String::from_utf8_lossy(head);
    let is_there = one_of.is_empty() || one_of.iter().any(|part| text.contains(part));
    text.starts_with(begin) && is_there
}

/// Checks that an output may be written, before there is anything to write.
///
/// # Errors
///
/// Says what is there instead, and what to do.
pub fn check(kind: &OutputKind, path: &Path) -> Result<(), Failure> {
    kind.check(path).map_err(failure)
}

/// Writes an output.
///
/// # Errors
///
/// As for [`check`], or why it cannot be written.
pub fn write(kind: &OutputKind, path: &Path, text: &str) -> Result<(), Failure> {
    let mut file = kind.create(path).map_err(failure)?;
    let written = file.write_all(text.as_bytes());
    written.map_err(|error| Failure::because(&format!("writing {}", path.display()), error))
}

/// Converts an output error into a failure of the command.
pub fn failure(error: OutputError) -> Failure {
    if error.is_refusal() {
        Failure::Usage(error.to_string())
    } else {
        Failure::Failed(error.to_string())
    }
}
