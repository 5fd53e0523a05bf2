//! Writes documents to files: all of them, or those changed since a change version, from one
//! snapshot.
#![expect(clippy::disallowed_methods, reason = "an export says how long it took")]

mod csv;
mod deletes;
mod field;
mod file;
mod folder;
mod lines;
mod manifest;
mod number;
mod options;
mod parquet;
mod run;
mod sink;
mod tables;

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Instant;

use homeroom_document::Catalog;
use homeroom_model::{Model, Operations, Resource, ResourceId, dependency_order};
use homeroom_store::ChangedAt;
use homeroom_store::{KindId, Row, Snapshot, Span};

pub use self::csv::{Formulas, unescaped};
pub use self::manifest::{ExportedFile, ExportedProject, FORMAT_VERSION, MANIFEST, Manifest};
pub use self::options::{ExportOptions, ExportProgress, Format};

use self::lines::Lines;
use self::run::{Run, resource_name};
use self::tables::TableFiles;
use crate::error::ExportError;
use crate::table::{Table, tables};

/// Writes the content of a snapshot. `is_stopped` is asked between pages of documents.
///
/// # Errors
///
/// [`ExportError`]; no manifest is written then.
pub fn export(
    model: &Arc<Model>,
    snapshot: &Snapshot,
    options: &ExportOptions,
    now: ChangedAt,
    is_stopped: &dyn Fn() -> bool,
    progress: &mut dyn FnMut(&ExportProgress),
) -> Result<Manifest, ExportError> {
    let selected = selected(model, &options.resources)?;
    let (since, newest) = (options.since.unwrap_or(0), snapshot.newest_change_version());
    if since > newest || snapshot.is_passed_over(since)? {
        return Err(ExportError::BeforeSince { since, newest });
    }
    let catalog = Catalog::of_snapshot(Arc::clone(model), snapshot)?;
    let counts = options.since.map_or_else(|| snapshot.counts(), |v| snapshot.changed_counts(v))?;
    let counts: HashMap<KindId, u64> = counts.into_iter().collect();
    let in_all = selected.iter().filter_map(|id| counts.get(&catalog.kind(*id))).sum();
    let is_whole = options.resources.is_empty();
    let left_out =
        if is_whole { unknown(&catalog, snapshot, &counts)? } else { BTreeMap::default() };
    let tables = tables(model);
    if let Some(folder) = &options.folder {
        let files = names(model, &selected, &tables, options);
        folder::prepare(folder, options.replace, files)?;
    }
    let mut run = Run {
        catalog: &catalog,
        snapshot,
        options,
        is_stopped,
        begun: Instant::now(),
        progress: ExportProgress { documents_in_all: in_all, ..ExportProgress::default() },
        tell: progress,
        tables,
        manifest: Manifest {
            format_version: FORMAT_VERSION,
            homeroom: env!("CARGO_PKG_VERSION").into(),
            begun: now.to_string(),
            format: options.format.name().into(),
            csv_formulas: (options.format == Format::Csv).then_some(options.formulas),
            projects: Manifest::projects(model),
            since,
            change_version: newest,
            documents: 0,
            deletes: 0,
            resources: BTreeMap::new(),
            left_out,
            files: vec![],
        },
    };
    let mut stream = options.folder.is_none().then(Lines::stream);
    for id in &selected {
        let count = counts.get(&catalog.kind(*id)).copied().unwrap_or(0);
        run.resource(model.resource(*id), count, stream.as_mut())?;
    }
    if options.deletes {
        run.deletes(&selected, stream.as_mut())?;
    }
    if let Some(stream) = stream {
        stream.finish(None)?;
    }
    if let Some(folder) = &options.folder {
        run.manifest.write(folder)?;
        folder::finish(folder)?;
    }
    Ok(run.manifest)
}

/// Returns the names of the files that an export may write, without the manifest.
fn names(
    model: &Model,
    selected: &[ResourceId],
    tables: &[Table],
    options: &ExportOptions,
) -> Vec<String> {
    let mut names = vec![deletes::NAME.to_owned()];
    if options.format == Format::Jsonl {
        names.extend(selected.iter().map(|id| resource_name(model.resource(*id))));
    } else {
        let wanted = tables.iter().filter(|table| selected.contains(&table.resource));
        names.extend(wanted.map(|table| format!("{}/{}", table.schema, table.name)));
    }
    let ending = options.format.ending(options.compress);
    names.iter().map(|name| format!("{name}.{ending}")).collect()
}

/// Counts documents of kinds that the model does not have, by the kind's name. They belong to an
/// extension that the store was once opened with, but is not now.
fn unknown(
    catalog: &Catalog,
    snapshot: &Snapshot,
    counts: &HashMap<KindId, u64>,
) -> Result<BTreeMap<String, u64>, ExportError> {
    let kinds = snapshot.kinds()?;
    let unknown = kinds.into_iter().filter(|(_, kind)| catalog.resource(*kind).is_none());
    Ok(unknown.filter_map(|(name, kind)| Some((name, *counts.get(&kind)?))).collect())
}

/// Returns the selected resources, in the order in which they can be loaded again.
fn selected(model: &Model, names: &[String]) -> Result<Vec<ResourceId>, ExportError> {
    let mut wanted = vec![];
    for name in names {
        let found = model.named(name).ok_or_else(|| ExportError::UnknownResource(name.clone()))?;
        wanted.push(found.id);
    }
    let mut level = vec![0; model.resources.len()];
    for place in dependency_order(model) {
        if place.operations != Operations::Update {
            level[usize::from(place.resource.0)] = place.order;
        }
    }
    let all = model.resources.iter().map(|resource| resource.id);
    let mut ids: Vec<_> = all.filter(|id| names.is_empty() || wanted.contains(id)).collect();
    ids.sort_by_key(|id| level[usize::from(id.0)]);
    Ok(ids)
}

impl Run<'_> {
    /// Writes the documents of a resource.
    fn resource(
        &mut self,
        resource: &Resource,
        count: u64,
        stream: Option<&mut Lines>,
    ) -> Result<(), ExportError> {
        let options = self.options;
        let is_flat = options.format != Format::Jsonl;
        if count == 0 && !(is_flat && options.even_empty) {
            return Ok(());
        }
        let catalog = self.catalog;
        let name = resource_name(resource);
        self.progress.resource.clone_from(&name);
        let written = match (&options.folder, stream) {
            (_, Some(stream)) => {
                self.each(resource, &mut |row| stream.named_document(catalog, &name, row))?
            }
            (Some(folder), None) if is_flat => {
                let tables = self.tables.iter().filter(|table| table.resource == resource.id);
                let tables = tables.cloned().collect();
                let mut tables = TableFiles::new(folder, resource, tables, options)?;
                let written = self.each(resource, &mut |row| tables.take(row))?;
                self.manifest.files.extend(tables.finish()?);
                written
            }
            (Some(folder), None) => {
                let path = format!("{name}.{}", options.format.ending(options.compress));
                let mut lines = Lines::create(folder, path, options.compress)?;
                let written = self.each(resource, &mut |row| lines.document(catalog, row))?;
                self.manifest.files.extend(lines.finish(Some(name.clone()))?);
                written
            }
            (None, None) => 0,
        };
        self.manifest.documents += written;
        if written > 0 {
            self.manifest.resources.insert(name, written);
        }
        Ok(())
    }

    /// Passes each document of a resource to `take`; returns their number.
    fn each(
        &mut self,
        resource: &Resource,
        take: &mut dyn FnMut(&Row) -> Result<(), ExportError>,
    ) -> Result<u64, ExportError> {
        let kind = self.catalog.kind(resource.id);
        let span = self.options.since.map_or(Span::Whole, Span::Since);
        let (mut written, mut last) = (0, None::<Row>);
        loop {
            if (self.is_stopped)() {
                return Err(ExportError::Interrupted);
            }
            let mut page = self.snapshot.documents(kind, span, last.as_ref())?;
            if page.is_empty() {
                return Ok(written);
            }
            page.iter().try_for_each(&mut *take)?;
            written += page.len() as u64;
            self.progress.documents += page.len() as u64;
            self.progress.seconds = self.begun.elapsed().as_secs_f64();
            (self.tell)(&self.progress);
            last = page.pop();
        }
    }
}
