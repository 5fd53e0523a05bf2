//! Runs a load: surveys the files, then writes to the store level by level.
#![expect(clippy::disallowed_methods, reason = "a load says how long it took")]

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use homeroom_document::Documents;
use serde::{Deserialize, Serialize};

use crate::error::LoadError;
use crate::intake::{Intake, given_record};
use crate::levels::{Levels, resource_named};
use crate::place::At;
use crate::reject::Summary;
use crate::report::Report;
use crate::source;
use crate::sources::Sources;
use crate::xml::{Lookups, ReadError, Shapes};

/// What to load, and what to write about the load.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct LoadOptions {
    /// Files and folders; `-` is the standard input.
    pub paths: Vec<PathBuf>,
    /// File for the results, as JSON lines; `-` is the standard output.
    pub results: Option<PathBuf>,
    /// Folder for the rejected records, in their original form.
    pub rejects: Option<PathBuf>,
    /// Whether to write nothing to the store.
    pub dry_run: bool,
    /// Whether to reject records with what is ignored or guessed otherwise: members and elements
    /// that the model does not have, and dates that could begin with the month or the day.
    pub strict: bool,
    /// Resources to load, by endpoint or name; empty for all.
    pub select: Vec<String>,
}

/// How far a load has come.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Progress {
    /// Its current phase.
    pub phase: Phase,
    /// Number of files.
    pub files: u64,
    /// Number of files surveyed.
    pub files_surveyed: u64,
    /// Number of documents found by the survey so far.
    pub documents_in_all: u64,
    /// Number of documents read.
    pub documents: u64,
    /// Number of rejects.
    pub rejected: u64,
    /// Number of records that wait for a document that they refer to.
    pub waiting: u64,
    /// Seconds since the load began.
    pub seconds: f64,
}

/// Phase of a load.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Phase {
    /// Surveying the files.
    Surveying,
    /// Writing records to the store.
    Loading,
}

/// Number of documents read between two reports of progress.
const PROGRESS_DOCUMENTS: u64 = 250;

/// Loads files into the store. All files are surveyed first; then their records are loaded in
/// dependency order, across files.
///
/// Each record succeeds or fails on its own: a record that cannot be loaded is rejected, and the
/// others are loaded. A record that is already stored with the same content is left alone, so a
/// load can be repeated. Memory does not grow with the files. `is_stopped` is asked between
/// records.
///
/// # Errors
///
/// [`LoadError`] when the load as a whole fails; documents loaded before the failure stay.
pub fn load(
    target: &Documents,
    options: &LoadOptions,
    progress: &mut dyn FnMut(&Progress),
    is_stopped: &dyn Fn() -> bool,
) -> Result<Summary, LoadError> {
    let began = Instant::now();
    let model = Arc::clone(&target.catalog.model);
    let levels = Levels::of_model(&model, &options.select)?;
    let shapes = Shapes::of(&model);
    let lookups = Lookups::new(target, &shapes);
    let files = source::find(&model, &options.paths)?;
    if let Some(results) = &options.results {
        source::refuse_as_output(&files, results)?;
    }
    let names = files.iter().map(|file| file.name.clone()).collect();
    let report = Report::new(names, options.results.as_deref(), options.rejects.as_deref())?;
    let mut sources = Sources::new(&model, &shapes, &lookups, &levels, files);
    let mut now = Progress {
        phase: Phase::Surveying,
        files: sources.files.len() as u64,
        files_surveyed: 0,
        documents_in_all: 0,
        documents: 0,
        rejected: 0,
        waiting: 0,
        seconds: 0.0,
    };

    let report = survey(&mut sources, report, is_stopped, |sources, at, report| {
        now.files_surveyed += 1;
        now.documents_in_all += sources.surveys[at].counts.values().sum::<u64>();
        now.rejected = report.counts.rejected;
        now.seconds = began.elapsed().as_secs_f64();
        progress(&now);
    })?;

    now.phase = Phase::Loading;
    let mut intake = Intake::new(target, Some(&sources), report, options.dry_run, is_stopped)?;
    intake.is_strict = options.strict;
    let mut tell = |intake: &Intake<'_>| {
        now.documents = intake.report.counts.documents;
        now.rejected = intake.report.counts.rejected;
        now.waiting = intake.waiting();
        now.seconds = began.elapsed().as_secs_f64();
        progress(&now);
    };
    for level in sources.levels() {
        lookups.forget();
        for file in (0u32..).take(sources.files.len()) {
            let read = sources.each(file, level, &mut |record| {
                intake.take(&record, None)?;
                if intake.report.counts.documents.is_multiple_of(PROGRESS_DOCUMENTS) {
                    tell(&intake);
                }
                Ok(())
            });
            match read {
                Ok(()) => {}
                Err(ReadError::Load(error)) => return Err(error),
                Err(ReadError::Malformed(malformed)) => {
                    intake.report.reject_file(file, &malformed)?;
                }
            }
        }
        intake.settle()?;
        tell(&intake);
    }
    intake.give_up()?;
    tell(&intake);
    let seconds = began.elapsed().as_secs_f64();
    intake.report.finish(seconds, |resource| model.resource(resource).name.clone())
}

/// Loads documents, each given as resource (endpoint or name) and JSON text, which must come after
/// the documents that they refer to.
///
/// # Errors
///
/// [`LoadError::UnknownResource`], [`LoadError::Store`]; a document that cannot be loaded is
/// counted in the summary instead.
pub fn load_documents<N: AsRef<str>>(
    target: &Documents,
    documents: impl IntoIterator<Item = (N, String)>,
) -> Result<Summary, LoadError> {
    let began = Instant::now();
    let model = Arc::clone(&target.catalog.model);
    let report = Report::new(vec!["documents".into()], None, None)?;
    let mut intake = Intake::new(target, None, report, false, &|| false)?;
    let mut known: Option<(String, homeroom_model::ResourceId)> = None;
    for (at, (name, text)) in documents.into_iter().enumerate() {
        let name = name.as_ref();
        let resource = match &known {
            Some((known, resource)) if known == name => *resource,
            _ => {
                let resource = resource_named(&model, name)
                    .ok_or_else(|| LoadError::UnknownResource(name.to_owned()))?;
                known = Some((name.to_owned(), resource));
                resource
            }
        };
        let at = At { file: 0, offset: at as u64, bytes: text.len() as u64, line: at as u64 + 1 };
        // The text is kept in case of a refusal; the record borrows a separate copy.
        let kept = text.clone();
        intake.take(&given_record(at, resource, &text), Some(kept))?;
    }
    intake.give_up()?;
    let seconds = began.elapsed().as_secs_f64();
    intake.report.finish(seconds, |resource| model.resource(resource).name.clone())
}

fn survey(
    sources: &mut Sources<'_>,
    mut report: Report,
    is_stopped: &dyn Fn() -> bool,
    mut surveyed: impl FnMut(&Sources<'_>, usize, &Report),
) -> Result<Report, LoadError> {
    report.counts.files = sources.files.len() as u64;
    for index in (0u32..).take(sources.files.len()) {
        if is_stopped() {
            return Err(LoadError::Stopped);
        }
        let at = usize::try_from(index).unwrap_or(usize::MAX);
        if let Err(malformed) = sources.survey(index) {
            report.reject_file(index, &malformed)?;
        }
        let survey = &sources.surveys[at];
        report.counts.passed_over += survey.passed_over;
        for (element, unknown) in &survey.unknown {
            report.reject_unknown(element, unknown.count, unknown.first)?;
        }
        if report.copies() && !survey.unknown.is_empty() {
            let copied = sources.each_unknown(index, &mut |at| report.copy(sources, at));
            match copied {
                Ok(()) => {}
                Err(ReadError::Load(error)) => return Err(error),
                Err(ReadError::Malformed(malformed)) => report.reject_file(index, &malformed)?,
            }
        }
        surveyed(sources, at, &report);
    }
    Ok(report)
}
