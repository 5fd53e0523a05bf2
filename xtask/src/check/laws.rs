//! Checks of the code that no lint makes.

use std::collections::HashSet;

use homeroom_model::{format, link, shipped};

use super::source::{Source, has_word};
use crate::house::all_well;
use crate::house::{Done, is_test, read, root, rust_files, shown};

/// Crates whose behaviour comes from the model, which holds all differences between resources.
const WITHOUT_NAMES: &[&str] = &["access", "bulk", "data", "document", "gateway", "http", "store"];

/// Exceptions where a resource's name is allowed: file, name, reason.
const NAMES_ALLOWED: &[(&str, &str, &str)] = &[
    ("crates/data/src/metadata/openapi/shared.rs", "Location", "the HTTP header"),
    ("crates/data/src/metadata/page.rs", "credentials", "what a caller shows, on the first page"),
];

/// Paths that pure crates must not name: crate, path in the code, reason.
const IMPURE: &[(&str, &str, &str)] = &[
    ("model", "std::fs", "the model is text in, values out; callers read files"),
    ("model", "std::net", "the model does no I/O"),
    ("model", "std::env", "the model does not depend on where it runs"),
    ("model", "std::process", "the model does no I/O"),
    ("model", "rusqlite", "the model knows no SQL"),
    ("model", "http", "the model knows no HTTP"),
    ("district", "std::net", "a district does no I/O"),
    ("district", "SystemTime", "the same seed gives the same bytes at any time"),
    ("store", "serde_json", "the store keeps documents and does not read them"),
    ("store", "http", "the store knows no HTTP"),
    ("document", "http", "a document knows no HTTP"),
    ("http", "rusqlite", "the HTTP parts know no SQL"),
];

/// Macros and attributes of unfinished work.
const UNFINISHED: &[&str] = &["todo!", "unimplemented!", "dbg!", "#[ignore"];

/// Words in comments that postpone work.
const PUT_OFF: &[&str] = &["TODO", "FIXME", "XXX", "HACK"];

/// Checks that no branch names a resource: no string literal outside tests is a resource's name.
///
/// # Errors
///
/// Names each such literal, and each exception that is no longer needed.
pub fn check_names() -> Done {
    let names = Names::of_the_model()?;
    let mut problems = vec![];
    let mut needed = HashSet::new();
    for name in WITHOUT_NAMES {
        for path in rust_files(&root().join("crates").join(name).join("src"))? {
            if is_test(&path) {
                continue;
            }
            let (file, source) = (shown(&path), Source::read(&read(&path)?).without_tests());
            for text in &source.texts {
                let Some(found) = names.find(&text.text) else { continue };
                let row = NAMES_ALLOWED.iter().position(|row| (row.0, row.1) == (&file, found));
                match row {
                    Some(row) => {
                        needed.insert(row);
                    }
                    None => problems.push(format!(
                        "{file}:{}: \"{}\" names the resource {found}: let the model decide",
                        source.line(text.at),
                        text.text
                    )),
                }
            }
        }
    }
    for (row, (file, name, reason)) in NAMES_ALLOWED.iter().enumerate() {
        if !needed.contains(&row) {
            problems.push(format!("{file} no longer names {name} ({reason}): remove this row"));
        }
    }
    all_well(&problems)
}

/// Checks that pure crates name nothing that does I/O.
///
/// # Errors
///
/// Names each file that does.
pub fn check_purity() -> Done {
    let mut problems = vec![];
    for (name, path, reason) in IMPURE {
        for file in rust_files(&root().join("crates").join(name).join("src"))? {
            if has_word(&Source::read(&read(&file)?).without_tests().code, path) {
                problems.push(format!("{} names {path}: {reason}", shown(&file)));
            }
        }
    }
    all_well(&problems)
}

/// Checks that no source postpones work and that no test is ignored.
///
/// # Errors
///
/// Names each such place.
pub fn check_leftovers() -> Done {
    let mut problems = vec![];
    for folder in ["crates", "tests", "xtask"] {
        for path in rust_files(&root().join(folder))? {
            let source = Source::read(&read(&path)?);
            for mark in UNFINISHED {
                for (at, _) in source.code.match_indices(mark) {
                    problems.push(format!("{}:{}: {mark}", shown(&path), source.line(at)));
                }
            }
            for comment in &source.comments {
                if let Some(word) = PUT_OFF.iter().find(|word| has_word(&comment.text, word)) {
                    let line = source.line(comment.at);
                    problems.push(format!("{}:{line}: {word} in a comment", shown(&path)));
                }
            }
        }
    }
    all_well(&problems)
}

/// The names of the shipped model's resources and their endpoints.
struct Names {
    /// All names, such as `Student` and `students`.
    all: HashSet<String>,
    /// Names such as `StudentAssessment` and `studentAssessments`, which do not look like words of
    /// a sentence.
    compound: HashSet<String>,
}

impl Names {
    fn of_the_model() -> Result<Self, String> {
        let text = shipped("5.2.0").ok_or("no model of 5.2.0 is shipped")?;
        let source = format::read(text).map_err(|error| format!("the shipped model: {error}"))?;
        let model = link(&[source]).map_err(|error| format!("the shipped model: {error:?}"))?;
        let mut names = Self { all: HashSet::new(), compound: HashSet::new() };
        for resource in &model.resources {
            for name in [&resource.name, &resource.endpoint] {
                if name.chars().skip(1).any(char::is_uppercase) {
                    names.compound.insert(name.clone());
                }
                names.all.insert(name.clone());
            }
        }
        Ok(names)
    }

    /// Returns the resource that a text names: as the whole text, a segment of a path, or a
    /// compound word.
    fn find<'a>(&self, text: &'a str) -> Option<&'a str> {
        let whole = Some(text).filter(|text| self.all.contains(*text));
        let segment = || {
            let path = text.contains('/').then_some(text).into_iter();
            path.flat_map(|path| path.split('/')).find(|segment| self.all.contains(*segment))
        };
        let word = || {
            text.split(|c: char| !c.is_alphanumeric()).find(|word| self.compound.contains(*word))
        };
        whole.or_else(segment).or_else(word)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_resource_name_is_found_alone_in_a_path_and_in_a_compound_word() {
        let names = Names::of_the_model().unwrap();

        for (text, found) in [
            ("Student", Some("Student")),
            ("sessions", Some("sessions")),
            ("/data/v3/ed-fi/students", Some("students")),
            ("no StudentSchoolAssociation yet", Some("StudentSchoolAssociation")),
            ("the sessions of a course", None),
            ("studentUniqueId", None),
            ("/data/v3/{schema}/{endpoint}", None),
        ] {
            assert_eq!(names.find(text), found, "{text}");
        }
    }
}
