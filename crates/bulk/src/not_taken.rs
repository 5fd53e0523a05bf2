//! What is not sent to a service, told as a load tells its rejects.

use std::path::{Path, PathBuf};

use crate::causes::{Causes, Group, Reason};
use crate::fault::{Fault, Words};
use crate::flaw::Flaw;
use crate::place::Malformed;
use crate::reject::{Reject, Summary, Tally};

/// A file, or a part of one, that a service does not take.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotTaken {
    /// Path of the file.
    pub file: PathBuf,
    /// Line at which the fault is, from 1.
    pub line: u64,
    /// Its column in bytes, from 1.
    pub column: u64,
    /// What is not taken.
    pub what: NotTakenPart,
    /// Why, as a sentence without its end.
    pub problem: String,
}

/// What is not taken of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotTakenPart {
    /// Nothing of it is.
    File,
    /// A part that is no document is not; all documents are.
    Part,
    /// A document that is too large is not.
    TooLarge,
}

impl NotTaken {
    /// Returns that nothing of a file is taken, and why.
    pub fn file(file: &Path, problem: impl Into<String>) -> Self {
        let (file, problem) = (file.to_owned(), problem.into());
        Self { file, line: 1, column: 1, what: NotTakenPart::File, problem }
    }
}

/// Returns a reject for each part, and the summary of a load that had read nothing else.
pub fn rejects_of(not_taken: &[NotTaken]) -> (Vec<Reject>, Summary) {
    let (mut causes, mut summary) = (Causes::default(), Summary::default());
    let mut unknown = Tally::default();
    let mut rejects = vec![];
    for NotTaken { file, line, column, what, problem } in not_taken {
        let name = file.display().to_string();
        let malformed = Malformed { line: *line, column: *column, message: problem.clone() };
        let flaws = [Flaw::too_large()];
        let fault = match what {
            NotTakenPart::File => Fault::File(&malformed),
            NotTakenPart::Part => Fault::Stray(&malformed),
            NotTakenPart::TooLarge => Fault::Flawed(&flaws),
        };
        let words = match what {
            NotTakenPart::File => not_uploaded(&name, &fault, problem),
            NotTakenPart::Part => fault.words(&name),
            NotTakenPart::TooLarge => fault.words("A record"),
        };
        let Words { message, hint, group, what: said } = words;
        let (resource, place) = (None, (name.as_str(), *line));
        let reason = Reason { group, resource, what: &said, hint: &hint, place, root: None };
        let cause = causes.of(reason);
        causes.count(cause, 1);
        summary.rejected += 1;
        unknown.rejected += 1;
        match what {
            NotTakenPart::File => summary.files += 1,
            NotTakenPart::Part => {}
            NotTakenPart::TooLarge => {
                summary.documents += 1;
                summary.rows += 1;
            }
        }
        rejects.push(Reject {
            file: name,
            line: *line,
            column: (*what != NotTakenPart::TooLarge).then_some(*column),
            element: None,
            resource: None,
            key: None,
            r#type: fault.code().urn().to_owned(),
            message,
            hint,
            missing: vec![],
            count: 1,
            status_code: fault.status(),
            method: fault.method(),
            line_numbers: [*line],
        });
    }
    if !rejects.is_empty() {
        summary.resources.insert("unknown".to_owned(), unknown.complete());
    }
    summary.causes = causes.sorted();
    (rejects, summary)
}

fn not_uploaded(name: &str, fault: &Fault<'_>, problem: &str) -> Words {
    let message = format!("It was not uploaded: {problem}.");
    Words {
        hint: "Mend the file and upload it again; what is uploaded already is left alone.".into(),
        group: Group { r#type: fault.code().urn().into(), by: name.to_owned() },
        what: format!("{name}: {message}"),
        message,
    }
}
