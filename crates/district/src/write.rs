//! Writes a district to files: one file for each kind of document, or interchanges.

mod file;
mod jsonl;
mod order;
mod xml;

use std::collections::BTreeMap;
use std::path::Path;

use homeroom_model::Model;

pub use self::file::WriteError;
use self::file::at;
use crate::batch::Document;
use crate::documents::documents;
use crate::plan::DistrictPlan;
use crate::profile::{Profile, profiled};
use jsonl::Jsonl;
use xml::Xml;

/// Format of the files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// One file for each kind, `students.jsonl`, with one document per line.
    Jsonl,
    /// Interchanges, `Student.xml`; large ones in parts, `StudentGrade-001.xml` and so on.
    Xml,
}

/// Summary of the written district.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Written {
    /// Number of documents by resource name.
    pub documents: BTreeMap<&'static str, usize>,
    /// Names of the files, sorted.
    pub files: Vec<String>,
}

/// Writes the district that `plan` describes, with the documents of a profile if there is one, into the folder `directory`, which is created if
/// missing.
///
/// `model` gives the names of files and the XML form of documents. Memory does not grow with the
/// district.
///
/// # Errors
///
/// Returns an error when a file exists already or cannot be written, or when the model is of
/// another standard.
pub fn write(
    plan: &DistrictPlan,
    profile: Option<&'static Profile>,
    model: &Model,
    directory: &Path,
    formats: &[Format],
) -> Result<Written, WriteError> {
    let all: Box<dyn Iterator<Item = Document>> = match profile {
        Some(profile) => Box::new(profiled(plan, profile)),
        None => Box::new(documents(plan)),
    };
    write_documents(all, model, directory, formats)
}

/// Writes documents to files of each format, in the order given.
///
/// # Errors
///
/// As [`write()`], and when a resource is in no interchange.
pub fn write_documents(
    documents: impl Iterator<Item = Document>,
    model: &Model,
    directory: &Path,
    formats: &[Format],
) -> Result<Written, WriteError> {
    std::fs::create_dir_all(directory).map_err(|source| at(directory, source))?;
    let mut jsonl = formats.contains(&Format::Jsonl).then(|| Jsonl::new(model, directory));
    let mut xml = formats.contains(&Format::Xml).then(|| Xml::new(model, directory));
    let mut counts = BTreeMap::new();
    for document in documents {
        *counts.entry(document.resource).or_default() += 1;
        if let Some(writer) = &mut jsonl {
            writer.add(&document)?;
        }
        if let Some(writer) = &mut xml {
            writer.add(&document)?;
        }
    }
    let mut files = vec![];
    if let Some(writer) = jsonl {
        files.extend(writer.finish()?);
    }
    if let Some(writer) = xml {
        files.extend(writer.finish()?);
    }
    files.sort();
    Ok(Written { documents: counts, files })
}
