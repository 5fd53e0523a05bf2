//! What an export says of itself, in `manifest.json`, the last file that is written.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write as _;
use std::path::{Path, PathBuf};

use homeroom_model::Model;
use serde::{Deserialize, Serialize};

use super::csv::Formulas;
use super::file::{Checked, Written};
use super::folder::remove;
use crate::error::ExportError;

/// The file's name.
pub const MANIFEST: &str = "manifest.json";
/// Version of the layout of exports that is written here.
pub const FORMAT_VERSION: u32 = 1;

/// An export that is whole.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Manifest {
    /// Version of the layout.
    pub format_version: u32,
    /// Homeroom that wrote it.
    pub homeroom: String,
    /// When the export was begun, ISO 8601 in UTC.
    pub begun: String,
    /// `jsonl`, `csv` or `parquet`.
    pub format: String,
    /// Of CSV: `escape` where a text that begins `=`, `+`, `-`, `@`, a tab or an end of line, perhaps
    /// behind blanks and quotes, has an apostrophe before it; `keep` where it is as it was.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub csv_formulas: Option<Formulas>,
    /// The data standard and its extensions.
    pub projects: Vec<ExportedProject>,
    /// The change version after which changes are in it; 0 for a whole export.
    pub since: i64,
    /// The change version that it shows: what the next export is to be given as `since`.
    pub change_version: i64,
    /// How many documents are in it.
    pub documents: u64,
    /// How many deletions are in it.
    pub deletes: u64,
    /// Documents by resource, `ed-fi/students`; resources without any are left out.
    pub resources: BTreeMap<String, u64>,
    /// Documents that are not in it, by kind, as the model does not have the kind; none where the
    /// resources were named.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", default)]
    pub left_out: BTreeMap<String, u64>,
    /// Its files, this one aside.
    pub files: Vec<ExportedFile>,
}

/// A project of the model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExportedProject {
    /// `Ed-Fi`
    pub name: String,
    /// `5.2.0`
    pub version: String,
}

/// A file of an export.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExportedFile {
    /// Path from the export's folder.
    pub path: String,
    /// `ed-fi/students`; none for the deletions.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub resource: Option<String>,
    /// The table, `edfi.Student`; none for JSON lines.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub table: Option<String>,
    /// Lines or rows, a header aside.
    pub rows: u64,
    /// Bytes.
    pub bytes: u64,
    /// SHA-256 of the file, in hex.
    pub sha256: String,
}

impl Manifest {
    pub(super) fn projects(model: &Model) -> Vec<ExportedProject> {
        let of = |project: &homeroom_model::Project| ExportedProject {
            name: project.name.clone(),
            version: project.version.clone(),
        };
        model.projects.iter().map(of).collect()
    }

    /// Writes it into the export's folder: whole under its name, or not at all.
    pub(super) fn write(&self, folder: &Path) -> Result<(), ExportError> {
        let (part, path) = (folder.join(".manifest.part"), folder.join(MANIFEST));
        let failed = |error| ExportError::of_file(&path, error);
        let mut text = serde_json::to_vec_pretty(self).map_err(|error| failed(error.into()))?;
        text.push(b'\n');
        remove(&part)?;
        let mut file = Checked::create(&part)?;
        file.write_all(&text).map_err(failed)?;
        let _: Written = file.finish().map_err(failed)?;
        std::fs::rename(&part, &path).map_err(failed)?;
        // Makes the names durable, where the file system can: those of the files, of the folders that
        // they stand in, of the export itself.
        let inner = self.files.iter().map(|file| folder.join(&file.path));
        let inner: BTreeSet<_> =
            inner.filter_map(|path| path.parent().map(PathBuf::from)).collect();
        let outer = folder.canonicalize().ok().and_then(|path| path.parent().map(PathBuf::from));
        for folder in inner.iter().map(PathBuf::as_path).chain([folder]).chain(outer.as_deref()) {
            _ = std::fs::File::open(folder).and_then(|folder| folder.sync_all());
        }
        Ok(())
    }
}
