//! Compares a model with published artefacts that it was not built from, or not from alone.
//!
//! Every artefact is turned into facts (a place, what is said about it, and the value) and so is
//! the model; where the two disagree there is a [`Difference`]. A difference that has its reason is
//! a row of a data file ([`Exceptions`]); what no row explains, and a row that explains nothing,
//! are findings.

mod api_schema;
mod exceptions;
mod facts;
mod manifest;
mod openapi;
mod order;

use std::fmt;

pub use exceptions::{Exception, Exceptions};

use crate::resource::Model;

/// The artefacts to compare with; texts in JSON.
#[derive(Debug, Clone, Copy)]
pub struct Published<'a> {
    /// Manifest of a relational store: tables, columns, keys.
    pub manifest: &'a str,
    /// API schema, of this version or a neighbour; kinds that only one of the two has are left out.
    pub api_schema: &'a str,
    /// `OpenAPI` document of the resources.
    pub resources: &'a str,
    /// `OpenAPI` document of the descriptors.
    pub descriptors: &'a str,
    /// Answer of a dependencies endpoint.
    pub dependencies: &'a str,
}

/// One fact about which model and artefact disagree.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Difference {
    /// The artefact: `manifest`, `api-schema`, `openapi` or `dependencies`.
    pub against: &'static str,
    /// Resource and path, `Section.classPeriods.classPeriodReference.schoolId`.
    pub place: String,
    /// What is said: `type`, `required`, `key`, …
    pub what: &'static str,
    /// What the model says; empty where it says nothing.
    pub ours: String,
    /// What the artefact says; empty where it says nothing.
    pub theirs: String,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let said = |value: &str| if value.is_empty() { "-".to_owned() } else { value.to_owned() };
        write!(
            f,
            "{} {} {}: ours {}, theirs {}",
            self.against,
            self.place,
            self.what,
            said(&self.ours),
            said(&self.theirs)
        )
    }
}

/// What a check found.
#[derive(Debug, Default)]
pub struct Report {
    /// How many facts were compared, by artefact.
    pub compared: Vec<(&'static str, usize)>,
    /// Differences that a row explains.
    pub explained: usize,
    /// Differences that none explains.
    pub unexplained: Vec<Difference>,
    /// Rows that explain nothing.
    pub idle: Vec<String>,
}

impl Report {
    /// Whether there is nothing to look at.
    pub fn is_clean(&self) -> bool {
        self.unexplained.is_empty() && self.idle.is_empty()
    }
}

/// Compares the core of a model with what is published.
///
/// # Errors
///
/// An artefact that cannot be read.
pub fn check(
    model: &Model,
    published: &Published<'_>,
    exceptions: &Exceptions,
) -> Result<Report, String> {
    let mut report = Report::default();
    let mut differences = vec![];
    let mut compare = |against, ours: facts::Facts, theirs: facts::Facts| {
        report.compared.push((against, theirs.len()));
        differences.extend(facts::differences(against, &ours, &theirs));
    };
    let theirs = manifest::theirs(published.manifest)?;
    compare("manifest", manifest::ours(model), theirs);
    let theirs = api_schema::theirs(published.api_schema, model)?;
    compare("api-schema", api_schema::ours(model, &theirs), theirs);
    let theirs = openapi::theirs(&[published.resources, published.descriptors], model)?;
    compare("openapi", openapi::ours(model), theirs);
    compare("dependencies", order::ours(model), order::theirs(published.dependencies)?);
    differences.sort();
    let (unexplained, idle) = exceptions.explain(&differences);
    report.explained = differences.len() - unexplained.len();
    report.unexplained = unexplained;
    report.idle = idle;
    Ok(report)
}
