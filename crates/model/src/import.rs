//! Builds a model file's [`Source`] from the artefacts that a data standard is published in.
//!
//! `OpenAPI` gives endpoints, names, required members and nesting; the tables give keys, types,
//! lengths and the columns that two references share; the XML schemas give ranges, element names
//! and interchanges. What follows no rule is a row of a data file ([`Rules`]) with its reason.
//! Import is a pure function: the caller reads the files.

mod assemble;
mod draft;
mod elements;
mod extension;
mod keys;
mod names;
mod openapi;
mod rules;
mod sql;
mod walk;
mod xsd;

use std::fmt;

pub use extension::import_extension;
pub use rules::Rules;

use crate::source::Source;

/// The text of a file, and its name for messages.
#[derive(Debug, Clone, Copy)]
pub struct Text<'a> {
    /// Name of the file in messages.
    pub file: &'a str,
    /// Its content.
    pub text: &'a str,
}

/// Everything that a model is built from.
#[derive(Debug, Clone)]
pub struct Inputs<'a> {
    /// Project name as tables and schemas write it, `Ed-Fi`.
    pub project: &'a str,
    /// Schema segment of a path, `ed-fi`.
    pub schema: &'a str,
    /// `OpenAPI` document of the resources.
    pub resources: Text<'a>,
    /// `OpenAPI` document of the descriptors.
    pub descriptors: Text<'a>,
    /// `OpenAPI` documents whose tags state domains; they may be of a later version.
    pub domains: Vec<Text<'a>>,
    /// SQL statements that create the tables.
    pub tables: Text<'a>,
    /// SQL statements that create the foreign keys.
    pub foreign_keys: Text<'a>,
    /// XML schemas: the core and the interchanges.
    pub xsd: Vec<Text<'a>>,
    /// Rows for what follows no rule.
    pub rules: &'a Rules,
}

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
    fn new(element: impl Into<String>, message: impl Into<String>) -> Self {
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

/// Builds the model.
///
/// # Errors
///
/// Returns everything that cannot be read, or else everything that does not fit together.
pub fn import(inputs: &Inputs<'_>) -> Result<Imported, Vec<Problem>> {
    let mut problems = vec![];
    let resources = note(
        openapi::read(inputs.resources.text, inputs.schema),
        inputs.resources.file,
        &mut problems,
    );
    let descriptors = note(
        openapi::read(inputs.descriptors.text, inputs.schema),
        inputs.descriptors.file,
        &mut problems,
    );
    let tables = note(
        sql::read(inputs.tables.text, inputs.foreign_keys.text),
        inputs.tables.file,
        &mut problems,
    );
    let mut schemas = xsd::Schemas::default();
    for text in &inputs.xsd {
        note(schemas.add(text.text).map_err(|problem| vec![problem]), text.file, &mut problems);
    }
    let mut domains = std::collections::HashMap::new();
    for text in &inputs.domains {
        if let Some(found) = note(openapi::domains(text.text), text.file, &mut problems) {
            domains.extend(found);
        }
    }
    let (Some(resources), Some(descriptors), Some(tables), true) =
        (resources, descriptors, tables, problems.is_empty())
    else {
        return Err(problems);
    };
    assemble::Published {
        project: inputs.project,
        schema: inputs.schema,
        resources,
        descriptors,
        tables,
        schemas,
        domains,
        rules: inputs.rules,
    }
    .source()
}

fn note<T>(read: Result<T, Vec<Problem>>, file: &str, problems: &mut Vec<Problem>) -> Option<T> {
    match read {
        Ok(found) => Some(found),
        Err(found) => {
            problems.extend(
                found.into_iter().map(|problem| Problem { file: file.to_owned(), ..problem }),
            );
            None
        }
    }
}
