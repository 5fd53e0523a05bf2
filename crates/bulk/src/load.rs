//! Runs a load: surveys the files, then writes to the store level by level.
#![expect(clippy::disallowed_methods, reason = "a load says how long it took")]

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use homeroom_document::{Catalog, Documents};
use homeroom_model::{Model, ResourceId};
use homeroom_store::{DIRECT_DOCUMENTS_MAX, DirectLoad, KindId, Options, StoreError};
use serde::{Deserialize, Serialize};

use crate::checked::check;
use crate::checkpoint::{Checkpoint, Keeper, Terms};
use crate::deleting::Deleting;
use crate::error::LoadError;
use crate::find::find;
use crate::intake::{Intake, Origin, given_record};
use crate::kept_survey;
use crate::levels::{Levels, resource_named};
use crate::place::At;
use crate::reading::{Direction, Read, read_all, survey_all};
use crate::refused_paths::{refuse_as_output, refuse_open_store};
use crate::reject::{FileCounts, Summary};
use crate::report::Report;
use crate::rights::Rights;
use crate::source::SourceFile;
use crate::sources::Sources;
use crate::survey::Survey;
use crate::target::Target;
use crate::xml::{Lookups, Shapes};

/// What to load, and what to write about the load.
#[expect(
    clippy::struct_excessive_bools,
    reason = "switches that have nothing to do with each other"
)]
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct LoadOptions {
    /// Files and folders; `-` is the standard input.
    pub paths: Vec<PathBuf>,
    /// File that says what the columns of CSV files are, as `[[map]]` tables.
    pub map: Option<PathBuf>,
    /// File for the results, as JSON lines; `-` is the standard output.
    pub results: Option<PathBuf>,
    /// Folder for the rejected records, in their original form.
    pub rejects: Option<PathBuf>,
    /// Whether to write nothing to the store.
    pub dry_run: bool,
    /// Where checkpoints are kept, from which an interrupted load can be continued.
    pub checkpoint: Option<PathBuf>,
    /// Whether to continue the load that was interrupted, if there is a checkpoint of it.
    pub resume: bool,
    /// Whether to delete the documents that the files identify, instead of loading them.
    pub delete: bool,
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
    /// All records are read; what is left is done to the store.
    Completing,
}

/// Number of documents read between two reports of progress.
const PROGRESS_DOCUMENTS: u64 = 250;
/// Number of commits of a direct load.
const COMMITS: u64 = 200;
/// Fewest documents between two commits of a direct load.
const COMMIT_DOCUMENTS_MIN: u64 = 2_000;

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
    prepare(&target.catalog.model, options)?.load(target, progress, is_stopped)
}

/// Does the same as [`load`] with the rights of a client, and also returns what has become of each
/// file. A record that the client may not write is rejected with the reason that a request would
/// get.
///
/// # Errors
///
/// As [`load`]; [`LoadError::NotAuthorized`] when the client may not call any more.
pub fn load_as(
    rights: &dyn Rights,
    target: &Documents,
    options: &LoadOptions,
    progress: &mut dyn FnMut(&Progress),
    is_stopped: &dyn Fn() -> bool,
) -> Result<(Summary, Vec<FileCounts>), LoadError> {
    let mut begin = |_| Ok(Target::store_as(target, rights));
    let mut ending = Ending { begin: &mut begin, finish: &|| Ok(()) };
    let prepared = prepare(&target.catalog.model, options)?;
    run(&target.catalog, &mut ending, prepared, progress, is_stopped)
}

/// A load that is not refused, as far as that can be known without a store.
pub struct Prepared<'o> {
    options: &'o LoadOptions,
    levels: Levels,
    files: Vec<SourceFile>,
    terms: Terms,
    /// Where the load that this one continues was interrupted.
    from: Option<Checkpoint>,
}

/// Finds the files of a load, before there is a store. It makes nothing that stays.
///
/// # Errors
///
/// [`LoadError`] when a path, a resource or a mapping is not there or cannot be used, when the results or
/// the rejects cannot be written, and when the checkpoint is of another load.
pub fn prepare<'o>(model: &Model, options: &'o LoadOptions) -> Result<Prepared<'o>, LoadError> {
    let levels = Levels::of_model(model, &options.select)?;
    let files = find(model, &options.paths, options.map.as_deref())?;
    let (results, rejects) = (options.results.as_deref(), options.rejects.as_deref());
    if let Some(results) = results {
        refuse_as_output(&files, results)?;
    }
    let terms = Terms::of(
        model,
        &files,
        (&options.select, options.strict),
        (results, rejects, options.map.as_deref()),
    );
    let from = match options.checkpoint.as_deref().filter(|_| options.resume) {
        Some(path) => Checkpoint::read(path, &terms)?,
        None => None,
    };
    if from.is_none() {
        Report::attempt(results, rejects)?;
    }
    Ok(Prepared { options, levels, files, terms, from })
}

impl Prepared<'_> {
    /// Does what [`load`] does.
    ///
    /// # Errors
    ///
    /// As [`load`].
    pub fn load(
        self,
        target: &Documents,
        progress: &mut dyn FnMut(&Progress),
        is_stopped: &dyn Fn() -> bool,
    ) -> Result<Summary, LoadError> {
        let mut ending = Ending { begin: &mut |_| Ok(Target::store(target)), finish: &|| Ok(()) };
        Ok(run(&target.catalog, &mut ending, self, progress, is_stopped)?.0)
    }

    /// Loads into an empty store in a file that no process has open, on the fastest path. The result is the
    /// same as that of [`load`], and is on disk when this returns.
    ///
    /// The store must have been opened once with the catalog's model, and closed. Documents of the
    /// resources `seeded` do not count, because a new store has them.
    ///
    /// # Errors
    ///
    /// [`LoadError::NotDirect`] when the store or the load is not suited; otherwise as [`load`].
    pub fn load_directly(
        self,
        catalog: &Arc<Catalog>,
        (store, seeded): (&Options, &[ResourceId]),
        progress: &mut dyn FnMut(&Progress),
        is_stopped: &dyn Fn() -> bool,
    ) -> Result<Summary, LoadError> {
        let seeded: Vec<KindId> = seeded.iter().map(|id| catalog.kind(*id)).collect();
        let direct = DirectLoad::begin(store, &seeded).map_err(|error| match error {
            StoreError::Unusable(_) | StoreError::InUse(_) => {
                LoadError::NotDirect(error.to_string())
            }
            error => error.into(),
        })?;
        let mut begin = |documents: u64| {
            if documents > DIRECT_DOCUMENTS_MAX {
                return Err(LoadError::NotDirect(format!(
                    "a direct load takes at most {DIRECT_DOCUMENTS_MAX} documents, and these are \
                     {documents}; load a part of the files directly, then the others without \
                     --direct"
                )));
            }
            direct.commit_after((documents / COMMITS).max(COMMIT_DOCUMENTS_MIN));
            Ok(Target::direct(catalog, &direct))
        };
        let mut ending = Ending { begin: &mut begin, finish: &|| Ok(direct.finish()?) };
        let loaded = run(catalog, &mut ending, self, progress, is_stopped);
        // What was loaded is completed, whether or not the load went to its end.
        let finished = direct.finish();
        let (summary, _) = loaded?;
        finished?;
        Ok(summary)
    }
}

/// How writing begins, once the number of documents is known, and how it ends.
struct Ending<'t> {
    begin: &'t mut dyn FnMut(u64) -> Result<Target<'t>, LoadError>,
    finish: &'t dyn Fn() -> Result<(), LoadError>,
}

fn run<'t>(
    catalog: &'t Arc<Catalog>,
    ending: &mut Ending<'t>,
    prepared: Prepared<'_>,
    progress: &mut dyn FnMut(&Progress),
    is_stopped: &dyn Fn() -> bool,
) -> Result<(Summary, Vec<FileCounts>), LoadError> {
    let began = Instant::now();
    let Prepared { options, levels, files, terms, from } = prepared;
    let model = Arc::clone(&catalog.model);
    let shapes = Shapes::of(&model);
    // The store may have been opened since they were found.
    files.iter().try_for_each(|file| refuse_open_store(&file.path))?;
    let names = files.iter().map(|file| file.name.clone()).collect();
    let (results, rejects) = (options.results.as_deref(), options.rejects.as_deref());
    let checkpoint = options.checkpoint.as_deref();
    let report = match &from {
        Some(from) => Report::resumed(names, results, rejects, &from.report)?,
        None => Report::new(names, results, rejects)?,
    };
    let mut sources = Sources::new(&model, &shapes, &levels, files);
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

    let mut surveyed = |survey: &Survey, report: &Report| {
        now.files_surveyed += 1;
        now.documents_in_all += survey.counts.values().sum::<u64>();
        now.rejected = report.counts.rejected;
        now.seconds = began.elapsed().as_secs_f64();
        progress(&now);
    };
    let kept = checkpoint.filter(|_| from.is_some());
    let kept = kept.and_then(|path| kept_survey::kept(path, &terms, sources.files.len()));
    let mut report = match kept {
        Some(surveys) => {
            for survey in &surveys {
                surveyed(survey, &report);
            }
            sources.surveys = surveys;
            report
        }
        None => {
            let report = survey(&mut sources, report, from.is_none(), is_stopped, surveyed)?;
            if let Some(path) = checkpoint {
                kept_survey::keep(path, &terms, &sources.surveys)?;
            }
            report
        }
    };

    now.phase = Phase::Loading;
    let target = (ending.begin)(now.documents_in_all)?;
    let lookups = Lookups::new(target, &shapes);
    if options.delete {
        let mut tell = |report: &Report| {
            now.documents = report.counts.documents;
            now.rejected = report.counts.rejected;
            now.seconds = began.elapsed().as_secs_f64();
            progress(&now);
        };
        let report = take_back(&sources, (target, &lookups), report, is_stopped, &mut tell)?;
        let summary = report.finish(began.elapsed().as_secs_f64(), &model)?;
        return Ok((summary, vec![]));
    }
    let origin = Origin { sources: &sources, lookups: &lookups, is_strict: options.strict };
    if let Some(path) = checkpoint {
        if let Some(from) = &from {
            report.take_over(&sources, path, from)?;
        }
        report.keep(Keeper::new(path, terms, from.as_ref(), now.documents_in_all)?);
    }
    let mut intake = Intake::new(target, Some(origin), report, options.dry_run, is_stopped)?;
    let mut decided = from.as_ref().map(Checkpoint::decided).unwrap_or_default();
    let before = from.as_ref().map_or(0.0, |from| from.seconds);
    match &from {
        Some(from) => intake.resume(from)?,
        None => intake.keep_beginning(began.elapsed().as_secs_f64())?,
    }
    let position = from.map(|from| from.position);
    let mut tell = |intake: &Intake<'_>, phase| {
        now.phase = phase;
        now.documents = intake.report.counts.documents;
        now.rejected = intake.report.counts.rejected;
        now.waiting = intake.waiting();
        now.seconds = began.elapsed().as_secs_f64();
        progress(&now);
    };
    read_all(&sources, catalog, options.strict, Direction::Forward(position), &mut |read| {
        match read {
            Read::Records(records) => {
                for record in records {
                    if let Some(position) = position {
                        let place = intake.position(record.at, record.resource);
                        if place < position || decided.remove(&place) {
                            continue;
                        }
                    }
                    intake.take(record, None)?;
                    intake.keep(before + began.elapsed().as_secs_f64())?;
                    if intake.report.counts.documents.is_multiple_of(PROGRESS_DOCUMENTS) {
                        tell(&intake, Phase::Loading);
                    }
                }
            }
            Read::Changed(file, malformed) => intake.report.reject_file(file, &malformed)?,
            Read::EndOfLevel => {
                intake.settle()?;
                lookups.forget();
                tell(&intake, Phase::Loading);
            }
        }
        Ok(())
    })?;
    intake.give_up()?;
    tell(&intake, Phase::Completing);
    (ending.finish)()?;
    let seconds = before + began.elapsed().as_secs_f64();
    let files = std::mem::take(&mut intake.report.files_counted);
    let summary = intake.report.finish(seconds, &model)?;
    if let Some(path) = checkpoint {
        kept_survey::remove(path);
    }
    Ok((summary, files))
}

/// Deletes the documents that the files identify.
fn take_back(
    sources: &Sources<'_>,
    (target, lookups): (Target<'_>, &Lookups<'_>),
    report: Report,
    is_stopped: &dyn Fn() -> bool,
    tell: &mut dyn FnMut(&Report),
) -> Result<Report, LoadError> {
    let mut deleting = Deleting::new(target, sources, lookups, report, is_stopped);
    read_all(sources, target.catalog, false, Direction::Backward, &mut |read| {
        match read {
            Read::Records(records) => {
                for record in records.into_iter().rev() {
                    deleting.take(record)?;
                }
                tell(&deleting.report);
            }
            Read::Changed(file, malformed) => deleting.report.reject_file(file, &malformed)?,
            Read::EndOfLevel => deleting.settle()?,
        }
        Ok(())
    })?;
    deleting.give_up()?;
    Ok(deleting.report)
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
    let mut intake = Intake::new(Target::store(target), None, report, false, &|| false)?;
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
        let record = check(&target.catalog, given_record(at, resource, &text), false);
        intake.take(record, Some(text))?;
    }
    intake.give_up()?;
    let seconds = began.elapsed().as_secs_f64();
    intake.report.finish(seconds, &model)
}

/// Surveys all files, several at the same time, and reports what is found in their order, unless
/// that was reported before.
fn survey(
    sources: &mut Sources<'_>,
    mut report: Report,
    is_new: bool,
    is_stopped: &dyn Fn() -> bool,
    mut surveyed: impl FnMut(&Survey, &Report),
) -> Result<Report, LoadError> {
    report.counts.files = sources.files.len() as u64;
    let mut surveys = Vec::with_capacity(sources.files.len());
    survey_all(sources, &mut |index, survey| {
        if is_stopped() {
            return Err(LoadError::Stopped);
        }
        let survey = match survey {
            Ok(survey) => survey,
            Err(malformed) => {
                if is_new {
                    report.reject_file(index, &malformed)?;
                }
                Survey::default()
            }
        };
        if !is_new {
            surveyed(&survey, &report);
            surveys.push(survey);
            return Ok(());
        }
        report.counts.passed_over += survey.passed_over;
        for stray in &survey.strays {
            report.reject_stray(index, stray)?;
        }
        let at = usize::try_from(index).unwrap_or(usize::MAX);
        if let Some(damage) = sources.files.get(at).and_then(|file| file.damage.as_ref()) {
            report.reject_stray(index, damage)?;
        }
        for (element, unknown) in &survey.unknown {
            report.reject_unknown(element, unknown.count, unknown.first)?;
        }
        surveyed(&survey, &report);
        surveys.push(survey);
        Ok(())
    })?;
    sources.surveys = surveys;
    if is_new {
        report.copy_unknown(sources)?;
    }
    Ok(report)
}
