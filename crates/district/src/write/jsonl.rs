//! Writes one file for each kind of document, with one document per line.

use std::collections::HashMap;
use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::{Path, PathBuf};

use homeroom_model::Model;

use super::file::{WriteError, at, create, name_of, resource};
use crate::batch::Document;

/// Writes `students.jsonl` and the like.
pub(super) struct Jsonl<'a> {
    model: &'a Model,
    directory: &'a Path,
    open: HashMap<&'static str, (PathBuf, BufWriter<File>)>,
}

impl<'a> Jsonl<'a> {
    pub(super) fn new(model: &'a Model, directory: &'a Path) -> Self {
        Self { model, directory, open: HashMap::new() }
    }

    /// Adds a document to its file.
    pub(super) fn add(&mut self, document: &Document) -> Result<(), WriteError> {
        if !self.open.contains_key(document.resource) {
            let endpoint = &resource(self.model, document.resource)?.endpoint;
            let path = self.directory.join(format!("{endpoint}.jsonl"));
            let file = BufWriter::new(create(&path)?);
            self.open.insert(document.resource, (path, file));
        }
        let (path, file) =
            self.open.get_mut(document.resource).expect("it was opened when it was not");
        let written = file.write_all(document.json.as_bytes()).and_then(|()| file.write_all(b"\n"));
        written.map_err(|source| at(path, source))
    }

    /// Closes all files; returns their names.
    pub(super) fn finish(self) -> Result<Vec<String>, WriteError> {
        self.open
            .into_values()
            .map(|(path, mut file)| {
                file.flush().map_err(|source| at(&path, source))?;
                Ok(name_of(&path))
            })
            .collect()
    }
}
