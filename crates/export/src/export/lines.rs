//! Writes documents and deletions as JSON lines.

use std::io::Write as _;
use std::path::Path;

use homeroom_document::Catalog;
use homeroom_document::text::write_document;
use homeroom_store::ChangedAt;
use homeroom_store::{Deleted, Row};

use super::file::TextFile;
use super::manifest::ExportedFile;
use crate::error::ExportError;

/// A file of JSON lines, or the standard output.
pub(super) struct Lines {
    relative: String,
    file: TextFile,
    line: Vec<u8>,
    rows: u64,
}

impl Lines {
    pub(super) fn create(
        folder: &Path,
        relative: String,
        compress: bool,
    ) -> Result<Self, ExportError> {
        let file = TextFile::create(&folder.join(&relative), compress)?;
        Ok(Self { relative, file, line: vec![], rows: 0 })
    }

    pub(super) fn stream() -> Self {
        Self { relative: "-".into(), file: TextFile::stream(), line: vec![], rows: 0 }
    }

    /// Writes a document as the API serves it.
    pub(super) fn document(&mut self, catalog: &Catalog, row: &Row) -> Result<(), ExportError> {
        write_document(&mut self.line, catalog, row);
        self.end_line()
    }

    /// Writes a document with its resource, `{"resource": …, "document": …}`.
    pub(super) fn named_document(
        &mut self,
        catalog: &Catalog,
        resource: &str,
        row: &Row,
    ) -> Result<(), ExportError> {
        _ = write!(self.line, "{{\"resource\":\"{resource}\",\"document\":");
        write_document(&mut self.line, catalog, row);
        self.line.push(b'}');
        self.end_line()
    }

    /// Writes a deletion. In a stream, its member is `deleted` instead of `document`.
    pub(super) fn deleted(
        &mut self,
        resource: &str,
        deleted: &Deleted,
        is_wrapped: bool,
    ) -> Result<(), ExportError> {
        let Deleted { change_version, uuid, key_values, modified, .. } = deleted;
        let moment = ChangedAt(*modified);
        let (before, after) = if is_wrapped { ("\"deleted\":{", "}") } else { ("", "") };
        _ = write!(
            self.line,
            "{{\"resource\":\"{resource}\",{before}\"id\":\"{uuid}\",\
             \"changeVersion\":{change_version},\"deletedDate\":\"{moment}\",\
             \"keyValues\":{key_values}{after}}}"
        );
        self.end_line()
    }

    fn end_line(&mut self) -> Result<(), ExportError> {
        self.line.push(b'\n');
        self.file.write(&self.line)?;
        self.line.clear();
        self.rows += 1;
        Ok(())
    }

    pub(super) fn finish(
        self,
        resource: Option<String>,
    ) -> Result<Option<ExportedFile>, ExportError> {
        let (path, rows) = (self.relative, self.rows);
        Ok(self.file.finish()?.map(|written| ExportedFile {
            path,
            resource,
            table: None,
            rows,
            bytes: written.bytes,
            sha256: written.sha256,
        }))
    }
}
