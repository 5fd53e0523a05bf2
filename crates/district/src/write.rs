//! Writes a district to files: one file for each kind of document, or interchanges.

mod jsonl;
mod order;
mod xml;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use homeroom_model::{Model, Resource, Target};

use crate::documents::documents;
use crate::plan::DistrictPlan;
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

/// Why a district could not be written.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// A file or the folder cannot be written.
    #[error("{}: {source}", path.display())]
    File {
        /// Path of the file or folder.
        path: PathBuf,
        /// The I/O error.
        source: std::io::Error,
    },
    /// The file exists; nothing is overwritten.
    #[error("{} already exists; remove it or name another folder", path.display())]
    Exists {
        /// Path of the file.
        path: PathBuf,
    },
    /// The model does not have a kind of document, or no interchange carries it.
    #[error("the model has no place for {resource} in a file of this format")]
    Unplaced {
        /// Name of the resource.
        resource: &'static str,
    },
}

/// Writes the district that `plan` describes into the folder `directory`, which is created if
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
    model: &Model,
    directory: &Path,
    formats: &[Format],
) -> Result<Written, WriteError> {
    std::fs::create_dir_all(directory).map_err(|source| at(directory, source))?;
    let mut jsonl = formats.contains(&Format::Jsonl).then(|| Jsonl::new(model, directory));
    let mut xml = formats.contains(&Format::Xml).then(|| Xml::new(model, directory));
    let mut counts = BTreeMap::new();
    for document in documents(plan) {
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

/// Finds the resource with this name.
fn resource<'a>(model: &'a Model, name: &'static str) -> Result<&'a Resource, WriteError> {
    match model.by_name(name) {
        Some(Target::Resource(id)) => Ok(model.resource(id)),
        _ => Err(WriteError::Unplaced { resource: name }),
    }
}

/// Creates a file that must not exist yet.
fn create(path: &Path) -> Result<std::fs::File, WriteError> {
    std::fs::File::create_new(path).map_err(|source| match source.kind() {
        std::io::ErrorKind::AlreadyExists => WriteError::Exists { path: path.to_owned() },
        _ => at(path, source),
    })
}

fn at(path: &Path, source: std::io::Error) -> WriteError {
    WriteError::File { path: path.to_owned(), source }
}

/// Returns the name of a written file.
fn name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}
