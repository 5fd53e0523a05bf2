//! The description of an export in `manifest.json`, which is written last.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write as _;
use std::path::{Path, PathBuf};

use homeroom_model::Model;
use serde::{Deserialize, Serialize};

use super::csv::Formulas;
use super::file::{Checked, Written, remove};
use crate::error::ExportError;

/// The file's name.
pub const MANIFEST: &str = "manifest.json";
/// Version of the layout of exports.
pub const FORMAT_VERSION: u32 = 1;

/// Description of a complete export.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Manifest {
    /// Version of the layout.
    pub format_version: u32,
    /// Version of Homeroom that wrote it.
    pub homeroom: String,
    /// When the export began, ISO 8601 in UTC.
    pub begun: String,
    /// `jsonl`, `csv` or `parquet`.
    pub format: String,
    /// For CSV: `escape` if an apostrophe was put in front of texts that begin with `=`, `+`, `-`,
    /// `@`, a tab or a line break, perhaps after blanks and quotes; `keep` if texts were left
    /// unchanged.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub csv_formulas: Option<Formulas>,
    /// The data standard and its extensions.
    pub projects: Vec<ExportedProject>,
    /// The change version after which changes are included; 0 for a full export.
    pub since: i64,
    /// The change version of the snapshot: the `since` of the next export.
    pub change_version: i64,
    /// Number of documents in the export.
    pub documents: u64,
    /// Number of deletions in the export.
    pub deletes: u64,
    /// Documents by resource, `ed-fi/students`; resources without any are left out.
    pub resources: BTreeMap<String, u64>,
    /// Documents that are left out because the model does not have their kind, by kind; empty if
    /// the export was limited to certain resources.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", default)]
    pub left_out: BTreeMap<String, u64>,
    /// Its files, without this one.
    pub files: Vec<ExportedFile>,
}

/// A project of the model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExportedProject {
    /// Name of the project, `Ed-Fi`.
    pub name: String,
    /// Version of the project, `5.2.0`.
    pub version: String,
}

/// A file of an export.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExportedFile {
    /// Path from the export's folder.
    pub path: String,
    /// Its resource, `ed-fi/students`; [`None`] for the deletions.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub resource: Option<String>,
    /// Its table, `edfi.Student`; [`None`] for JSON lines.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub table: Option<String>,
    /// Number of lines or rows, without a header.
    pub rows: u64,
    /// Size of the file in bytes.
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

    /// Writes the manifest atomically into the export's folder.
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
        // Makes the names of the files, of their folders and of the export itself durable, where
        // the file system can.
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
