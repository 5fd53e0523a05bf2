//! Compares a model with published artefacts that it was not built from, or not built from alone.
//!
//! The model and every artefact are turned into facts: a place, what is stated about it, and the
//! value. Where the two disagree, there is a [`Difference`]. A known difference is a row of a data
//! file ([`Exceptions`]) with its reason. Findings are the differences that no row explains, and
//! the rows that explain no difference.

mod api_schema;
mod difference;
mod exceptions;
mod facts;
mod manifest;
mod openapi;
mod order;

pub use difference::Difference;
pub use exceptions::{Exception, Exceptions};

use crate::resource::Model;

/// The published artefacts of one version, as paths below a folder of such artefacts.
#[derive(Debug, Clone, Copy)]
pub struct Artefacts {
    /// Version of the data standard, `5.2.0`.
    pub version: &'static str,
    /// Path of [`Published::manifest`]; [`None`] where none is published.
    pub manifest: Option<&'static str>,
    /// Path of [`Published::api_schema`]; [`None`] where none is published.
    pub api_schema: Option<&'static str>,
    /// Path of [`Published::resources`].
    pub resources: &'static str,
    /// Path of [`Published::descriptors`].
    pub descriptors: &'static str,
    /// Path of [`Published::dependencies`].
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

/// The artefacts to compare with, as JSON text.
#[derive(Debug, Clone, Copy)]
pub struct Published<'a> {
    /// Manifest of a relational store: tables, columns, keys.
    pub manifest: Option<&'a str>,
    /// API schema of this version or a neighbouring one; kinds that only one of the two has are
    /// left out.
    pub api_schema: Option<&'a str>,
    /// `OpenAPI` document of the resources.
    pub resources: &'a str,
    /// `OpenAPI` document of the descriptors.
    pub descriptors: &'a str,
    /// Answer of a dependencies endpoint.
    pub dependencies: &'a str,
}

/// What a check found.
#[derive(Debug, Default)]
pub struct Report {
    /// Number of facts compared, by artefact.
    pub compared: Vec<(&'static str, usize)>,
    /// Number of differences that a row explains.
    pub explained: usize,
    /// Differences that no row explains.
    pub unexplained: Vec<Difference>,
    /// Rows that explain no difference.
    pub idle: Vec<String>,
}

impl Report {
    /// Whether there are neither unexplained differences nor idle rows.
    pub fn is_clean(&self) -> bool {
        self.unexplained.is_empty() && self.idle.is_empty()
    }
}

/// Compares the core of a model with what is published.
///
/// # Errors
///
/// Returns a message when an artefact cannot be read.
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
