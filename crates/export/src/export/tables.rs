//! Writes the documents of a resource to the files of its tables.

use std::path::{Path, PathBuf};

use homeroom_document::json::Json;
use homeroom_model::Resource;
use homeroom_store::Row;

use super::csv::Formulas;
use super::field::{Field, RowError};
use super::manifest::ExportedFile;
use super::options::{ExportOptions, Format};
use super::sink::Sink;
use crate::error::ExportError;
use crate::flatten::{About, Cell, each_row};
use crate::table::Table;

/// The open files of a resource.
pub(super) struct TableFiles<'a> {
    resource: &'a Resource,
    tables: Vec<(Table, TableFile)>,
}

impl<'a> TableFiles<'a> {
    /// Prepares the files of a resource. A file is created with its first row, or at once with
    /// `even_empty`.
    pub(super) fn new(
        folder: &Path,
        resource: &'a Resource,
        of_resource: Vec<Table>,
        options: &ExportOptions,
    ) -> Result<Self, ExportError> {
        let even_empty = options.even_empty;
        let mut tables = vec![];
        for table in of_resource {
            let name = format!("{}/{}", table.schema, table.name);
            let mut file = TableFile::new(folder, &name, options, fields(&table));
            if even_empty {
                file.open()?;
            }
            tables.push((table, file));
        }
        Ok(Self { resource, tables })
    }

    /// Adds the rows of a document.
    pub(super) fn take(&mut self, row: &Row) -> Result<(), ExportError> {
        let id = row.uuid.to_string();
        let resource = self.resource;
        let wrong = |problem: String| ExportError::Document {
            resource: resource.path(),
            id: id.clone(),
            problem,
        };
        let json = Json::read(row.body.as_bytes()).map_err(|_| wrong("is not JSON".into()))?;
        let about = About { id: &id, change_version: row.change_version, modified: row.modified };
        for (table, file) in &mut self.tables {
            each_row(table, &json, about, &mut |cells| {
                file.row(cells).map_err(|error| match error {
                    RowError::File(error) => error,
                    RowError::Misfit(column) => wrong(format!(
                        "has a value that does not fit the column {} of {}",
                        table.columns[column].name, table.name
                    )),
                })
            })?;
        }
        Ok(())
    }

    /// Finishes all open files.
    pub(super) fn finish(self) -> Result<Vec<ExportedFile>, ExportError> {
        let name = self.resource.path();
        let name = name.trim_start_matches('/');
        let mut files = vec![];
        for (table, file) in self.tables {
            files.extend(file.finish()?.map(|file| ExportedFile {
                resource: Some(name.to_owned()),
                table: Some(format!("{}.{}", table.schema, table.name)),
                ..file
            }));
        }
        Ok(files)
    }
}

fn fields(table: &Table) -> Vec<Field> {
    table.columns.iter().map(|c| Field { name: c.name.clone(), kind: c.kind }).collect()
}

/// A file of rows that is created with its first row.
pub(super) struct TableFile {
    /// Path from the export's folder.
    relative: String,
    path: PathBuf,
    format: Format,
    compress: bool,
    formulas: Formulas,
    fields: Vec<Field>,
    sink: Option<Sink>,
    rows: u64,
}

impl TableFile {
    pub(super) fn new(
        folder: &Path,
        name: &str,
        options: &ExportOptions,
        fields: Vec<Field>,
    ) -> Self {
        let ExportOptions { format, compress, formulas, .. } = *options;
        let relative = format!("{name}.{}", format.ending(compress));
        let path = folder.join(&relative);
        Self { relative, path, format, compress, formulas, fields, sink: None, rows: 0 }
    }

    pub(super) fn row(&mut self, cells: &[Cell<'_>]) -> Result<(), RowError> {
        self.rows += 1;
        match &mut self.sink {
            Some(sink) => sink.row(cells),
            None => self.open()?.row(cells),
        }
    }

    /// Creates the file if it is not open yet.
    pub(super) fn open(&mut self) -> Result<&mut Sink, ExportError> {
        let sink = match self.format {
            Format::Parquet => Sink::parquet(&self.path, &self.fields)?,
            Format::Csv | Format::Jsonl => {
                Sink::csv(&self.path, &self.fields, self.compress, self.formulas)?
            }
        };
        Ok(self.sink.insert(sink))
    }

    pub(super) fn finish(self) -> Result<Option<ExportedFile>, ExportError> {
        let Some(written) = self.sink.map(Sink::finish).transpose()?.flatten() else {
            return Ok(None);
        };
        Ok(Some(ExportedFile {
            path: self.relative,
            resource: None,
            table: None,
            rows: self.rows,
            bytes: written.bytes,
            sha256: written.sha256,
        }))
    }
}
