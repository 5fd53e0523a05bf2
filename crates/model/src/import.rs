//! Builds a model file's [`Source`](crate::Source) from the artefacts that a data standard is published in.
//!
//! `OpenAPI` gives endpoints, names, required members and nesting; the tables give keys, types,
//! lengths and the columns that two references share; the XML schemas give ranges, element names
//! and interchanges. What follows no rule is a row of a data file ([`Rules`]) with its reason.
//! Import is a pure function: the caller reads the files.

mod assemble;
mod draft;
mod elements;
mod extension;
mod inputs;
mod keys;
mod names;
mod openapi;
mod outcome;
mod published;
mod rules;
mod sql;
mod walk;
mod xsd;

pub use self::extension::import_extension;
pub use self::inputs::{Inputs, Text};
pub use self::outcome::{Imported, Problem};
pub use self::rules::Rules;

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
    let published = published::Published {
        project: inputs.project,
        schema: inputs.schema,
        resources,
        descriptors,
        tables,
        schemas,
        domains,
        rules: inputs.rules,
    };
    assemble::assemble(&published)
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
