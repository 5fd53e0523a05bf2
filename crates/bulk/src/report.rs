//! Reports a load: counts, rejects line by line, their causes, and copies of the rejected records.

mod recent;
mod results;

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use homeroom_model::{Model, Resource, ResourceId};
use homeroom_store::NaturalKey;
use serde::Serialize;

use self::recent::Recent;
pub use self::results::RESULTS;
use self::results::{Last, Results};

use crate::causes::{CauseId, Causes, Group, Reason};
use crate::checkpoint::{Checkpoint, Keeper, RejectedRecord, ReportState, each_rejected};
use crate::error::LoadError;
use crate::fault::{Absent, Fault, lacking};
use crate::place::{At, Malformed};
use crate::reject::{
    DUPLICATE, Duplicate, FileCounts, Reject, RejectedAt, Repeats, Summary, Tally, Warning,
};
use crate::reject_files::RejectFiles;
use crate::sources::Sources;
use crate::xml::ReadError;

/// Most kinds of warnings that are kept.
const WARNINGS_MAX: usize = 1_000;
/// What to do about a record that repeats another.
const DUPLICATE_HINT: &str = "Remove one of the two, or correct its identity. The last one counts.";
/// A record to be rejected.
pub(crate) struct Rejected<'r> {
    /// Its position.
    pub at: At,
    /// Its resource.
    pub resource: Option<&'r Resource>,
    /// Its key as JSON text.
    pub key: Option<String>,
    /// Hashes of its identity.
    pub hashes: Option<(NaturalKey, Option<NaturalKey>)>,
}

/// The report of a load.
pub(crate) struct Report {
    /// Counts so far; causes and warnings are added at the end.
    pub counts: Summary,
    /// What has become of the records of each file; not what an interrupted load had decided.
    pub files_counted: Vec<FileCounts>,
    names: Vec<String>,
    tallies: HashMap<Option<ResourceId>, Tally>,
    causes: Causes,
    warnings: BTreeMap<(ResourceId, String), (u64, At)>,
    results: Option<Results>,
    files: Option<RejectFiles>,
    keeper: Option<Keeper>,
    recent: Recent,
}

impl Report {
    /// Makes a report that writes results and rejected records where the options say; `names` are
    /// those of the files of the load.
    ///
    /// # Errors
    ///
    /// [`LoadError::Output`], [`LoadError::Refused`], and as [`RejectFiles::new`].
    pub(crate) fn new(
        names: Vec<String>,
        results: Option<&Path>,
        rejects: Option<&Path>,
    ) -> Result<Self, LoadError> {
        let results = results.map(Results::new);
        let files = rejects.map(RejectFiles::new);
        Ok(Self {
            counts: Summary::default(),
            files_counted: uncounted(&names),
            names,
            tallies: HashMap::new(),
            causes: Causes::default(),
            warnings: BTreeMap::new(),
            results: results.transpose()?,
            files: files.transpose()?,
            keeper: None,
            recent: Recent::default(),
        })
    }

    /// Refuses what [`Report::new`] refuses, and leaves nothing behind.
    ///
    /// # Errors
    ///
    /// As [`Report::new`].
    pub(crate) fn attempt(results: Option<&Path>, rejects: Option<&Path>) -> Result<(), LoadError> {
        results.map(Results::attempt).transpose()?;
        rejects.map(RejectFiles::attempt).transpose()?;
        Ok(())
    }

    /// Makes the report of a load that continues another one. Results and rejected records are added after
    /// those of the other.
    ///
    /// # Errors
    ///
    /// As [`Report::new`], and [`LoadError::CannotResume`] when the results are not there.
    pub(crate) fn resumed(
        names: Vec<String>,
        results: Option<&Path>,
        rejects: Option<&Path>,
        state: &ReportState,
    ) -> Result<Self, LoadError> {
        let results = results.map(|path| Results::again(path, state.results_bytes));
        let files = rejects.map(|folder| RejectFiles::again(folder, state.copied.as_deref()));
        let tally = |(id, tally): &(Option<u16>, Tally)| (id.map(ResourceId), *tally);
        let warning = |(id, path, count, at): &(u16, String, u64, At)| {
            ((ResourceId(*id), path.clone()), (*count, *at))
        };
        Ok(Self {
            counts: state.counts.clone(),
            files_counted: uncounted(&names),
            names,
            tallies: state.tallies.iter().map(tally).collect(),
            causes: Causes::restore(state),
            warnings: state.warnings.iter().map(warning).collect(),
            results: results.transpose()?,
            files: files.transpose()?,
            keeper: None,
            recent: Recent::default(),
        })
    }

    /// Takes over the rejects before a checkpoint.
    ///
    /// # Errors
    ///
    /// [`LoadError::CannotResume`], [`LoadError::Output`].
    pub(crate) fn take_over(
        &mut self,
        sources: &Sources<'_>,
        path: &Path,
        from: &Checkpoint,
    ) -> Result<(), LoadError> {
        let is_copied = match &mut self.files {
            Some(files) => files.take_over(&sources.files, &sources.surveys)?,
            None => true,
        };
        if !is_copied {
            self.copy_unknown(sources)?;
        }
        each_rejected(path, from, &mut |record| {
            for key in record.keys() {
                self.causes.remember(key, CauseId::of_index(record.cause), record.at);
            }
            if is_copied { Ok(()) } else { self.copy(sources, record.at) }
        })
    }

    /// Begins to keep checkpoints.
    pub(crate) fn keep(&mut self, keeper: Keeper) {
        self.keeper = Some(keeper);
    }

    /// Whether checkpoints are kept.
    pub(crate) fn is_kept(&self) -> bool {
        self.keeper.is_some()
    }

    /// Returns the keeper of checkpoints.
    pub(crate) fn keeper(&self) -> Option<&Keeper> {
        self.keeper.as_ref()
    }

    /// Returns the keeper of checkpoints if another one is due.
    pub(crate) fn due(&self, waiting: u64) -> Option<&Keeper> {
        let keeper = self.keeper.as_ref()?;
        keeper.is_due(self.counts.documents, waiting).then_some(keeper)
    }

    /// Writes a checkpoint, after all results before it.
    ///
    /// # Errors
    ///
    /// [`LoadError::Output`].
    pub(crate) fn write_checkpoint(&mut self, now: Checkpoint) -> Result<(), LoadError> {
        self.flush()?;
        self.files.as_mut().map_or(Ok(()), RejectFiles::flush)?;
        let taken = self.counts.documents;
        self.keeper.as_mut().map_or(Ok(()), |keeper| keeper.write(now, taken))
    }

    /// Returns what a checkpoint keeps of the report.
    pub(crate) fn state(&self) -> ReportState {
        let mut state = ReportState {
            counts: self.counts.clone(),
            tallies: self.tallies.iter().map(|(id, tally)| (id.map(|id| id.0), *tally)).collect(),
            warnings: self
                .warnings
                .iter()
                .map(|((id, path), (count, at))| (id.0, path.clone(), *count, *at))
                .collect(),
            causes: vec![],
            groups: vec![],
            lacking: vec![],
            results_bytes: self.results.as_ref().map_or(0, Results::bytes),
            rejected_bytes: 0,
            copied: self.files.as_ref().and_then(RejectFiles::copied),
        };
        self.causes.keep(&mut state);
        state
    }

    /// Returns the counts of a resource, to be added to.
    pub(crate) fn tally(&mut self, resource: Option<ResourceId>) -> &mut Tally {
        self.tallies.entry(resource).or_default()
    }

    /// Fills in, for each missing document, the rejected record that should have provided it.
    pub(crate) fn explain(&self, absent: &mut [Absent]) {
        for absent in absent {
            absent.missing.rejected = self
                .causes
                .of_rejected(absent.hash)
                .map(|(_, at)| RejectedAt { file: self.name(at.file).to_owned(), line: at.line });
        }
    }

    /// Rejects a record.
    ///
    /// # Errors
    ///
    /// [`LoadError::Output`].
    pub(crate) fn reject(
        &mut self,
        sources: Option<&Sources<'_>>,
        rejected: Rejected<'_>,
        fault: &Fault<'_>,
    ) -> Result<(), LoadError> {
        let Rejected { at, resource, key, hashes } = rejected;
        let words = fault.words(resource.map_or("A record", |resource| &resource.name));
        let file = self.name(at.file).to_owned();
        let (followed, missing) = match fault {
            Fault::Absent(all) => {
                let all_follow = all.iter().all(|absent| absent.missing.rejected.is_some());
                let first = all.first().filter(|_| all_follow);
                (
                    first.and_then(|absent| self.causes.of_rejected(absent.hash)),
                    all.iter().map(|absent| absent.missing.clone()).collect(),
                )
            }
            _ => (None, vec![]),
        };
        let (line, column) = fault.place().map_or((at.line, None), |(l, c)| (l, Some(c)));
        let cause = self.causes.of(Reason {
            group: words.group,
            resource: resource.map(resource_path),
            what: &words.what,
            hint: &words.hint,
            place: (&file, line),
            root: followed.map(|(root, _)| root),
        });
        self.causes.count(cause, 1);
        if let (None, Fault::Absent(all)) = (followed, fault)
            && let Some(example) = lacking(all).find(|absent| !absent.is_descriptor)
        {
            self.causes.example(cause, &example.missing.key);
        }
        if let (None, Fault::Absent(all)) = (followed, fault) {
            self.causes.lack(cause, lacking(all).map(|absent| &absent.missing));
        }
        if let Some((own, under_base)) = hashes {
            self.causes.remember(own, cause, at);
            if let Some(under_base) = under_base {
                self.causes.remember(under_base, cause, at);
            }
        }
        if let Some(keeper) = &mut self.keeper {
            keeper.rejected(&RejectedRecord::new(at, cause.number(), hashes))?;
        }
        self.count_rejects(at.file, 1);
        self.tally(resource.map(|resource| resource.id)).rejected += 1;
        let is_xml = sources.is_some_and(|sources| sources.is_xml(at.file));
        self.write(Reject {
            file,
            line,
            column,
            element: resource.filter(|_| is_xml).map(|resource| resource.element.clone()),
            resource: resource.map(resource_path),
            key,
            r#type: fault.code().urn().to_owned(),
            message: words.message,
            hint: words.hint,
            missing,
            count: 1,
            status_code: fault.status(),
            method: fault.method(),
            line_numbers: [line],
        })?;
        match sources {
            Some(sources) => self.copy(sources, at),
            None => Ok(()),
        }
    }

    /// Counts a record that is stored. Returns the place of one with the same identity that was stored
    /// lately.
    pub(crate) fn count_stored(&mut self, key: NaturalKey, at: At) -> Option<At> {
        if let Some(counts) = self.counts_of(at.file) {
            counts.stored += 1;
        }
        self.recent.put(key, at)
    }

    fn count_rejects(&mut self, file: u32, count: u64) {
        self.counts.rejected += count;
        if let Some(counts) = self.counts_of(file) {
            counts.rejected += count;
        }
    }

    fn counts_of(&mut self, file: u32) -> Option<&mut FileCounts> {
        self.files_counted.get_mut(usize::try_from(file).unwrap_or(usize::MAX))
    }

    /// Rejects a file that cannot be read.
    ///
    /// # Errors
    ///
    /// [`LoadError::Output`].
    pub(crate) fn reject_file(&mut self, file: u32, fault: &Malformed) -> Result<(), LoadError> {
        self.reject_part(file, &Fault::File(fault), fault)
    }

    /// Rejects a part of a file that is no record; the records of the file are loaded.
    ///
    /// # Errors
    ///
    /// [`LoadError::Output`].
    pub(crate) fn reject_stray(&mut self, file: u32, fault: &Malformed) -> Result<(), LoadError> {
        self.reject_part(file, &Fault::Stray(fault), fault)
    }

    fn reject_part(
        &mut self,
        file: u32,
        about: &Fault<'_>,
        fault: &Malformed,
    ) -> Result<(), LoadError> {
        let name = self.name(file).to_owned();
        let words = about.words(&name);
        let cause = self.causes.of(words.reason((&name, fault.line)));
        self.causes.count(cause, 1);
        self.count_rejects(file, 1);
        self.tally(None).rejected += 1;
        self.write(Reject {
            file: name,
            line: fault.line,
            column: Some(fault.column),
            element: None,
            resource: None,
            key: None,
            r#type: about.code().urn().to_owned(),
            message: words.message,
            hint: words.hint,
            missing: vec![],
            count: 1,
            status_code: about.status(),
            method: about.method(),
            line_numbers: [fault.line],
        })
    }

    /// Rejects all elements with a name that the model does not have.
    ///
    /// # Errors
    ///
    /// [`LoadError::Output`].
    pub(crate) fn reject_unknown(
        &mut self,
        element: &str,
        count: u64,
        first: At,
    ) -> Result<(), LoadError> {
        let fault = Fault::Unknown(element);
        let words = fault.words(element);
        let file = self.name(first.file).to_owned();
        let cause = self.causes.of(words.reason((&file, first.line)));
        self.causes.count(cause, count);
        self.count_rejects(first.file, count);
        self.tally(None).rejected += count;
        self.counts.documents += count;
        self.counts.rows += count;
        self.write(Reject {
            file,
            line: first.line,
            column: None,
            element: Some(element.to_owned()),
            resource: None,
            key: None,
            r#type: fault.code().urn().to_owned(),
            message: words.message,
            hint: words.hint,
            missing: vec![],
            count,
            status_code: fault.status(),
            method: fault.method(),
            line_numbers: [first.line],
        })
    }

    /// Copies a rejected record to the folder of rejects.
    ///
    /// # Errors
    ///
    /// [`LoadError::Output`].
    pub(crate) fn copy(&mut self, sources: &Sources<'_>, at: At) -> Result<(), LoadError> {
        let index = usize::try_from(at.file).unwrap_or(usize::MAX);
        match &mut self.files {
            Some(files) => files.add(&sources.files[index], &sources.surveys[index], at),
            None => Ok(()),
        }
    }

    /// Copies the elements that the model does not have to the folder of rejects.
    ///
    /// # Errors
    ///
    /// [`LoadError::Output`].
    pub(crate) fn copy_unknown(&mut self, sources: &Sources<'_>) -> Result<(), LoadError> {
        if self.files.is_none() {
            return Ok(());
        }
        for (index, survey) in (0u32..).zip(&sources.surveys) {
            if survey.unknown.is_empty() {
                continue;
            }
            match sources.each_unknown(index, &mut |at| self.copy(sources, at)) {
                Ok(()) => {}
                Err(ReadError::Load(error)) => return Err(error),
                Err(ReadError::Malformed(malformed)) => self.reject_file(index, &malformed)?,
            }
        }
        Ok(())
    }

    /// Records elements and members that were skipped.
    pub(crate) fn warn(&mut self, resource: ResourceId, strays: Vec<String>, at: At) {
        for path in strays {
            let key = (resource, path);
            if let Some((count, _)) = self.warnings.get_mut(&key) {
                *count += 1;
            } else if self.warnings.len() < WARNINGS_MAX {
                self.warnings.insert(key, (1, at));
            }
        }
    }

    /// Tells that a record has the identity of an earlier one, in whose place it was stored.
    ///
    /// # Errors
    ///
    /// [`LoadError::Output`].
    pub(crate) fn repeated(
        &mut self,
        sources: Option<&Sources<'_>>,
        resource: &Resource,
        at: At,
        earlier: Option<At>,
    ) -> Result<(), LoadError> {
        self.counts.repeated += 1;
        let name = &resource.name;
        let what = format!(
            "{name}: an earlier record of the input has the same identity; the last one counts."
        );
        let file = self.name(at.file).to_owned();
        let cause = self.causes.of(Reason {
            group: Group { r#type: DUPLICATE.into(), by: name.clone() },
            resource: Some(resource_path(resource)),
            what: &what,
            hint: DUPLICATE_HINT,
            place: (&file, at.line),
            root: None,
        });
        self.causes.count(cause, 1);
        let repeats = earlier.map_or_else(Repeats::default, |earlier| Repeats {
            file: Some(self.name(earlier.file).to_owned()),
            line: Some(earlier.line),
        });
        let message = match (&repeats.file, repeats.line) {
            (Some(file), Some(line)) => format!(
                "The record has the same identity as the one in {file}, line {line}, and was stored \
                 in its place."
            ),
            _ => {
                "An earlier record of the input has the same identity; this one was stored in its \
                  place."
                    .to_owned()
            }
        };
        let is_xml = sources.is_some_and(|sources| sources.is_xml(at.file));
        self.write(Duplicate {
            file,
            line: at.line,
            element: is_xml.then(|| resource.element.clone()),
            resource: resource_path(resource),
            r#type: DUPLICATE,
            message,
            hint: DUPLICATE_HINT,
            repeats,
            count: 1,
            status_code: 200,
            method: "uniqueness",
            line_numbers: [at.line],
        })
    }

    /// Ends the report and writes its summary.
    ///
    /// # Errors
    ///
    /// [`LoadError::Output`].
    pub(crate) fn finish(mut self, seconds: f64, model: &Model) -> Result<Summary, LoadError> {
        let name_of = |resource: ResourceId| model.resource(resource).name.clone();
        if let Some(files) = self.files.take() {
            files.finish()?;
        }
        let warnings = self.warnings.iter().map(|((resource, path), (count, at))| Warning {
            what: match path.strip_suffix("/text()") {
                Some(path) => format!(
                    "{} {path}: there is text where none is expected; it was ignored.",
                    name_of(*resource)
                ),
                None => {
                    let thing = if path.starts_with('$') { "member" } else { "element" };
                    let name = name_of(*resource);
                    format!("{name} {path}: the model has no such {thing}; it was ignored.")
                }
            },
            count: *count,
            file: self.name(at.file).to_owned(),
            line: at.line,
        });
        let path = |id: Option<ResourceId>| {
            id.map_or_else(|| "unknown".to_owned(), |id| resource_path(model.resource(id)))
        };
        let tallies = self.tallies.iter().map(|(id, tally)| (path(*id), tally.complete()));
        let summary = Summary {
            resources: tallies.collect(),
            seconds: (seconds * 1_000.0).round() / 1_000.0,
            causes: self.causes.sorted(),
            warnings: warnings.collect(),
            ..self.counts.clone()
        };
        self.write(Last { summary: &summary })?;
        self.flush()?;
        if let Some(keeper) = self.keeper.take() {
            keeper.end();
        }
        Ok(summary)
    }

    fn flush(&mut self) -> Result<(), LoadError> {
        self.results.as_mut().map_or(Ok(()), Results::flush)
    }

    fn name(&self, file: u32) -> &str {
        self.names.get(usize::try_from(file).unwrap_or(usize::MAX)).map_or("", String::as_str)
    }

    fn write(&mut self, line: impl Serialize) -> Result<(), LoadError> {
        self.results.as_mut().map_or(Ok(()), |results| results.write(&line))
    }
}

fn uncounted(names: &[String]) -> Vec<FileCounts> {
    let counts = |file: &String| FileCounts { file: file.clone(), ..FileCounts::default() };
    names.iter().map(counts).collect()
}

/// Returns a resource as requests name it, `ed-fi/students`.
fn resource_path(resource: &Resource) -> String {
    format!("{}/{}", resource.schema, resource.endpoint)
}
