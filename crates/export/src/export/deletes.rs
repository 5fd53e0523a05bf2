//! Writes the deletions of all resources to one file.

use std::borrow::Cow;
use std::collections::HashSet;

use homeroom_model::ResourceId;
use homeroom_store::Deleted;

use super::field::{Field, RowError};
use super::lines::Lines;
use super::options::Format;
use super::run::{Run, resource_name};
use super::tables::TableFile;
use crate::error::ExportError;
use crate::flatten::Cell;
use crate::table::ColumnType;

/// The file's name without its extension.
pub(super) const NAME: &str = "deletes";

/// Columns of the file.
const FIELDS: [(&str, ColumnType); 5] = [
    ("Resource", ColumnType::Text),
    ("Id", ColumnType::Text),
    ("ChangeVersion", ColumnType::BigInteger),
    ("DeletedDate", ColumnType::Timestamp),
    ("KeyValues", ColumnType::Text),
];

impl Run<'_> {
    /// Writes the deletions after the requested change version, in order.
    pub(super) fn deletes(
        &mut self,
        selected: &[ResourceId],
        stream: Option<&mut Lines>,
    ) -> Result<(), ExportError> {
        let selected: HashSet<ResourceId> = selected.iter().copied().collect();
        let (options, compress) = (self.options, self.options.compress);
        let written = match (&options.folder, stream) {
            (_, Some(stream)) => self.each_deleted(&selected, &mut |resource, deleted| {
                stream.deleted(resource, deleted, true)
            })?,
            (Some(folder), None) if options.format == Format::Jsonl => {
                let path = format!("{NAME}.{}", options.format.ending(compress));
                let mut lines = Lines::create(folder, path, compress)?;
                let written = self.each_deleted(&selected, &mut |resource, deleted| {
                    lines.deleted(resource, deleted, false)
                })?;
                self.manifest.files.extend(lines.finish(None)?);
                written
            }
            (Some(folder), None) => {
                let fields = FIELDS.map(|(name, kind)| Field { name: name.into(), kind }).into();
                let mut file = TableFile::new(folder, NAME, options, fields);
                file.open()?;
                let written = self.each_deleted(&selected, &mut |resource, deleted| {
                    row(&mut file, resource, deleted)
                })?;
                self.manifest.files.extend(file.finish()?);
                written
            }
            (None, None) => 0,
        };
        self.manifest.deletes = written;
        Ok(())
    }

    fn each_deleted(
        &mut self,
        selected: &HashSet<ResourceId>,
        take: &mut dyn FnMut(&str, &Deleted) -> Result<(), ExportError>,
    ) -> Result<u64, ExportError> {
        let (mut written, mut after) = (0, self.options.since.unwrap_or(0));
        loop {
            if (self.is_stopped)() {
                return Err(ExportError::Interrupted);
            }
            let page = self.snapshot.deletes(after)?;
            let Some(last) = page.last() else { return Ok(written) };
            after = last.change_version;
            for deleted in &page {
                let resource = self.catalog.resource(deleted.kind);
                let Some(resource) = resource.filter(|r| selected.contains(&r.id)) else {
                    continue;
                };
                take(&resource_name(resource), deleted)?;
                written += 1;
            }
        }
    }
}

fn row(file: &mut TableFile, resource: &str, deleted: &Deleted) -> Result<(), ExportError> {
    let id = deleted.uuid.to_string();
    let cells = [
        Cell::Text(Cow::Borrowed(resource)),
        Cell::Text(Cow::Borrowed(&id)),
        Cell::Integer(deleted.change_version),
        Cell::Moment(deleted.modified),
        Cell::Text(Cow::Borrowed(&deleted.key_values)),
    ];
    file.row(&cells).map_err(|error| match error {
        RowError::File(error) => error,
        RowError::Misfit(_) => ExportError::Document {
            resource: resource.to_owned(),
            id: id.clone(),
            problem: "was deleted at a moment that cannot be written".into(),
        },
    })
}
