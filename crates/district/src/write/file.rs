//! The files of a district, and why one cannot be written.

use std::path::{Path, PathBuf};

use homeroom_model::{Model, Resource, Target};

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

/// Finds the resource with this name.
pub(super) fn resource<'a>(
    model: &'a Model,
    name: &'static str,
) -> Result<&'a Resource, WriteError> {
    match model.by_name(name) {
        Some(Target::Resource(id)) => Ok(model.resource(id)),
        _ => Err(WriteError::Unplaced { resource: name }),
    }
}

/// Creates a file that must not exist yet.
pub(super) fn create(path: &Path) -> Result<std::fs::File, WriteError> {
    std::fs::File::create_new(path).map_err(|source| match source.kind() {
        std::io::ErrorKind::AlreadyExists => WriteError::Exists { path: path.to_owned() },
        _ => at(path, source),
    })
}

pub(super) fn at(path: &Path, source: std::io::Error) -> WriteError {
    WriteError::File { path: path.to_owned(), source }
}

/// Returns the name of a written file.
pub(super) fn name_of(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}
