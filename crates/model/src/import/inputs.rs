//! The published artefacts that a model is built from.

use super::rules::Rules;

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
