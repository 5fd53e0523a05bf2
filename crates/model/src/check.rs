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

/// Where in a folder of published artefacts those of a version stand.
#[derive(Debug, Clone, Copy)]
pub struct Artefacts {
    /// The version.
    pub version: &'static str,
    /// See [`Published`]; [`None`] where nothing is published.
    pub manifest: Option<&'static str>,
    /// See [`Published`].
    pub api_schema: Option<&'static str>,
    /// See [`Published`].
    pub resources: &'static str,
    /// See [`Published`].
    pub descriptors: &'static str,
    /// See [`Published`].
    pub dependencies: &'static str,
}

/// The artefacts by version.
pub const ARTEFACTS: &[Artefacts] = &[
    Artefacts {
        version: "4.0.0",
        manifest: None,
        api_schema: None,
        resources: "openapi/resources-ds-4.0.json",
        descriptors: "openapi/descriptors-ds-4.0.json",
        dependencies: "dependencies/dependencies-ds-4.0.0.json",
    },
    Artefacts {
        version: "5.2.0",
        manifest: Some("model/relational-model-manifest-ds-5.2.0.json"),
        api_schema: Some("model/ApiSchema-ds-5.1.0.json"),
        resources: "openapi/resources-ds-5.2-with-tpdm-dms.json",
        descriptors: "openapi/descriptors-ds-5.2-with-tpdm-dms.json",
        dependencies: "dependencies/dependencies-ds-5.2.0.json",
    },
];

/// The artefacts to compare with; texts in JSON.
#[derive(Debug, Clone, Copy)]
pub struct Published<'a> {
    /// Manifest of a relational store: tables, columns, keys.
    pub manifest: Option<&'a str>,
    /// API schema, of this version or a neighbour; kinds that only one of the two has are left out.
    pub api_schema: Option<&'a str>,
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
    if let Some(text) = published.manifest {
        compare("manifest", manifest::ours(model), manifest::theirs(text)?);
    }
    if let Some(text) = published.api_schema {
        let theirs = api_schema::theirs(text, model)?;
        compare("api-schema", api_schema::ours(model, &theirs), theirs);
    }
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
