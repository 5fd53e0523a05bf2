//! Takes checked records in their order: they are written, wait, or are rejected.

use std::collections::{HashMap, VecDeque};

use homeroom_document::json::Json;
use homeroom_document::plan::Effect;
use homeroom_document::{Code, Refusal};
use homeroom_model::{ResourceId, Target};
use homeroom_store::{Refused, Rehearsal};

use crate::checked::{CheckResult, Checked, Known, Unfit, Why, check, known};
use crate::checkpoint::{Checkpoint, Position};
use crate::error::LoadError;
use crate::existing::Existing;
use crate::fault::{Absent, Fault};
use crate::json_file::not_json;
use crate::place::{At, Spot};
use crate::record::Record;
use crate::report::{Rejected, Report};
use crate::rights;
use crate::sources::Sources;
use crate::target::Target as WriteTarget;
use crate::waiting::{Waiter, Waiting};
use crate::writing::{Before, Done, Entry, Writing};
use crate::xml::{Lookups, Question, ReadError};

/// How often a refused record is retried when none of its references is missing.
const ATTEMPTS_MAX: u8 = 3;

/// The files of a load, and the answers to lookups in them.
#[derive(Clone, Copy)]
pub(crate) struct Origin<'a> {
    /// The files.
    pub sources: &'a Sources<'a>,
    /// The answers to lookups.
    pub lookups: &'a Lookups<'a>,
    /// Whether to reject what is ignored or guessed otherwise.
    pub is_strict: bool,
}

/// Takes records and tracks those that wait.
pub(crate) struct Intake<'a> {
    target: WriteTarget<'a>,
    /// Where records are read again; [`None`] if documents are given as text.
    origin: Option<Origin<'a>>,
    /// Counts, results and rejects so far.
    pub report: Report,
    writing: Writing<'a>,
    waiting: Waiting,
    ready: VecDeque<(At, u8, ResourceId)>,
    /// The last record that was taken.
    last: Option<Position>,
    /// Records that were lately rejected, or began to wait; only if checkpoints are kept.
    decided_lately: VecDeque<Position>,
    /// Number of records per resource that are not yet stored, rejected or waiting.
    undecided: HashMap<ResourceId, u64>,
    existing: Existing<'a>,
    is_stopped: &'a dyn Fn() -> bool,
}

impl<'a> Intake<'a> {
    /// Makes an intake for records of files; without `origin`, for documents that are given as
    /// text.
    ///
    /// # Errors
    ///
    /// Returns an error of the store.
    pub(crate) fn new(
        target: WriteTarget<'a>,
        origin: Option<Origin<'a>>,
        mut report: Report,
        is_dry_run: bool,
        is_stopped: &'a dyn Fn() -> bool,
    ) -> Result<Self, LoadError> {
        report.counts.dry_run = is_dry_run;
        let rehearsal = is_dry_run.then(Rehearsal::default);
        let totals = origin.map(|origin| origin.sources.counts()).unwrap_or_default();
        Ok(Self {
            target,
            origin,
            report,
            waiting: Waiting::default(),
            ready: VecDeque::new(),
            last: None,
            decided_lately: VecDeque::new(),
            existing: Existing::new(target, totals.keys().copied().collect(), rehearsal.clone()),
            writing: Writing::new(target, rehearsal)?,
            undecided: totals,
            is_stopped,
        })
    }

    /// Takes a record of the input. `given` is its text, if there is no file to read it from again.
    ///
    /// # Errors
    ///
    /// [`LoadError`] when the load cannot go on; a record that cannot be loaded is not an error.
    pub(crate) fn take(&mut self, record: Checked, given: Option<String>) -> Result<(), LoadError> {
        self.go_on()?;
        self.report.counts.documents += 1;
        self.report.counts.rows += record.records;
        self.last = Some(self.position(record.at, record.resource));
        self.offer(record, given, 0)?;
        self.take_ready()
    }

    /// Writes the current batch, and the records that were waiting for its documents.
    ///
    /// # Errors
    ///
    /// As [`Intake::take`].
    pub(crate) fn settle(&mut self) -> Result<(), LoadError> {
        while self.writing.is_busy() || !self.ready.is_empty() {
            self.flush(0)?;
            self.take_ready()?;
        }
        Ok(())
    }

    /// Rejects the records that still wait at the end of the input.
    ///
    /// # Errors
    ///
    /// As [`Intake::take`].
    pub(crate) fn give_up(&mut self) -> Result<(), LoadError> {
        loop {
            self.settle()?;
            let waiters = self.waiting.give_up();
            if waiters.is_empty() {
                return Ok(());
            }
            for Waiter { at, resource, .. } in waiters {
                self.go_on()?;
                self.reopen(resource);
                self.read_again(at, |intake, record, is_strict| {
                    let absent = intake.existing.absent(&record)?;
                    if absent.is_empty() {
                        let checked = check(intake.target.catalog, record, is_strict);
                        return intake.offer(checked, None, 1);
                    }
                    intake.reject_absent(&record, absent)
                })?;
            }
        }
    }

    /// Number of waiting records.
    pub(crate) fn waiting(&self) -> u64 {
        self.waiting.len() as u64
    }

    /// Continues at a checkpoint.
    ///
    /// # Errors
    ///
    /// Returns an error of the store.
    pub(crate) fn resume(&mut self, from: &Checkpoint) -> Result<(), LoadError> {
        self.undecided =
            from.undecided.iter().map(|(id, count)| (ResourceId(*id), *count)).collect();
        for (at, resource) in &from.waiting {
            self.reopen(ResourceId(*resource));
            self.ready.push_back((*at, 1, ResourceId(*resource)));
        }
        let resources = self.origin.map(|origin| origin.sources.counts()).unwrap_or_default();
        self.writing.resume(from, resources.into_keys())?;
        self.decided_lately.extend(&from.decided);
        self.last = Some(from.position);
        Ok(())
    }

    /// Writes a checkpoint before the first record, so that a load which is interrupted before the
    /// next one knows what it has stored.
    ///
    /// # Errors
    ///
    /// As [`Intake::take`].
    pub(crate) fn keep_beginning(&mut self, seconds: f64) -> Result<(), LoadError> {
        let Some(keeper) = self.report.keeper() else { return Ok(()) };
        let mut now = keeper.blank(Position::START, self.report.state());
        now.undecided = self.undecided.iter().map(|(id, count)| (id.0, *count)).collect();
        now.seconds = seconds;
        self.writing.keep(&mut now);
        self.report.write_checkpoint(now)
    }

    /// Writes a checkpoint if one is due; `seconds` is how long the load has taken.
    ///
    /// # Errors
    ///
    /// As [`Intake::take`].
    pub(crate) fn keep(&mut self, seconds: f64) -> Result<(), LoadError> {
        let Some(keeper) = self.report.due(self.waiting.len() as u64) else { return Ok(()) };
        let (mut first, mut count, mut records) = (None, 0, 0);
        let mut waiting: Vec<(At, ResourceId)> = vec![];
        for entry in self.writing.on_the_way() {
            if entry.attempt == 0 {
                count += 1;
                records += entry.records;
                first = first.or(Some(self.position(entry.at, Some(entry.resource))));
            } else {
                waiting.push((entry.at, entry.resource));
            }
        }
        waiting.extend(self.ready.iter().map(|(at, _, resource)| (*at, *resource)));
        let mut undecided = self.undecided.clone();
        for (_, resource) in &waiting {
            if let Some(count) = undecided.get_mut(resource) {
                *count = count.saturating_sub(1);
            }
        }
        waiting.extend(self.waiting.all().map(|waiter| (waiter.at, waiter.resource)));
        let after = self.last.map(|last| Position { offset: last.offset + 1, ..last });
        let Some(position) = first.or(after) else { return Ok(()) };
        let mut now = keeper.blank(position, self.report.state());
        now.report.counts.documents -= count;
        now.report.counts.rows = now.report.counts.rows.saturating_sub(records);
        self.decided_lately.retain(|decided| *decided >= position);
        let places = waiting.iter().map(|(at, resource)| self.position(*at, Some(*resource)));
        now.decided = places.filter(|place| *place >= position).collect();
        now.decided.extend(&self.decided_lately);
        now.waiting = waiting.into_iter().map(|(at, resource)| (at, resource.0)).collect();
        now.undecided =
            undecided.into_iter().map(|(resource, count)| (resource.0, count)).collect();
        self.writing.keep(&mut now);
        now.seconds = seconds;
        self.report.write_checkpoint(now)
    }

    /// Returns where a record stands in the order of the load.
    pub(crate) fn position(&self, at: At, resource: Option<ResourceId>) -> Position {
        let level = self.origin.map_or(0, |origin| origin.sources.level(resource));
        Position { level, file: at.file, offset: at.offset }
    }

    fn note_decided(&mut self, at: At, resource: Option<ResourceId>) {
        if self.report.is_kept() {
            self.decided_lately.push_back(self.position(at, resource));
        }
    }

    fn take_ready(&mut self) -> Result<(), LoadError> {
        while let Some((at, attempt, _)) = self.ready.pop_front() {
            self.offer_again(at, attempt)?;
        }
        Ok(())
    }

    /// Reads a record again and adds it to the batch.
    fn offer_again(&mut self, at: At, attempt: u8) -> Result<(), LoadError> {
        self.read_again(at, |intake, record, is_strict| {
            let checked = check(intake.target.catalog, record, is_strict);
            intake.offer(checked, None, attempt)
        })
    }

    /// Reads a record again and passes it to `take`; rejects the file if it has changed.
    fn read_again(
        &mut self,
        at: At,
        take: impl FnOnce(&mut Self, Record<'_>, bool) -> Result<(), LoadError>,
    ) -> Result<(), LoadError> {
        let Some(Origin { sources, lookups, is_strict }) = self.origin else { return Ok(()) };
        match sources.again(at, lookups, |record| take(self, record, is_strict)) {
            Ok(done) => done,
            Err(ReadError::Load(error)) => Err(error),
            Err(ReadError::Malformed(malformed)) => self.report.reject_file(at.file, &malformed),
        }
    }

    fn offer(
        &mut self,
        record: Checked,
        given: Option<String>,
        attempt: u8,
    ) -> Result<(), LoadError> {
        let Checked { at, resource, strays, records, result } = record;
        if let Some(resource) = resource
            && attempt == 0
        {
            self.report.warn(resource, strays, at);
        }
        match (result, resource) {
            (CheckResult::Document(document), Some(resource)) => {
                let keys = (document.key, document.alias);
                let entry = Entry { at, resource, keys, given, records, attempt };
                if self.writing.add(entry, *document) {
                    self.flush(1)?;
                }
                Ok(())
            }
            (CheckResult::Lookups(questions), _) => self.look_up(at, &questions),
            (CheckResult::Unfit(unfit), resource) => self.reject_unfit(at, resource, unfit),
            (CheckResult::Document(_), None) => Ok(()),
        }
    }

    /// Reads a record with lookups again. They see all documents that come before it.
    fn look_up(&mut self, at: At, questions: &[Question]) -> Result<(), LoadError> {
        if self.origin.is_some_and(|origin| !origin.lookups.knows(questions)) {
            self.settle()?;
        }
        self.offer_again(at, 1)
    }

    fn go_on(&self) -> Result<(), LoadError> {
        if (self.is_stopped)() { Err(LoadError::Stopped) } else { Ok(()) }
    }

    /// Submits the batch and takes the results of earlier ones, until at most `ahead` batches are
    /// on their way.
    fn flush(&mut self, ahead: usize) -> Result<(), LoadError> {
        self.go_on()?;
        self.writing.submit()?;
        while let Some(done) = self.writing.next(ahead) {
            self.done(done)?;
        }
        Ok(())
    }

    fn done(&mut self, done: Done) -> Result<(), LoadError> {
        if done.iter().any(|(_, outcome)| outcome.is_err()) {
            // What is missing must not depend on how far the next batch has come.
            self.writing.wait_for_all();
        }
        for (entry, outcome) in done {
            match outcome {
                Ok((written, before)) => {
                    let effect = match (written.effect, before) {
                        (Effect::Unchanged, Before::Interruption) => Effect::Updated,
                        (effect, _) => effect,
                    };
                    self.stored(&entry, effect, before)?;
                }
                Err(Refused::Decision(refusal)) => self.refused(entry, &refusal)?,
                Err(Refused::Store(error)) => return Err(error.into()),
            }
        }
        Ok(())
    }

    fn stored(&mut self, entry: &Entry, effect: Effect, before: Before) -> Result<(), LoadError> {
        let tally = self.report.tally(Some(entry.resource));
        match effect {
            Effect::Created | Effect::Updated => {
                tally.loaded += 1;
                self.report.counts.loaded += 1;
            }
            Effect::Unchanged => {
                tally.unchanged += 1;
                self.report.counts.unchanged += 1;
                self.report.counts.repeated_unchanged += u64::from(before == Before::Input);
            }
        }
        let earlier = self.report.count_stored(entry.keys.0, entry.at);
        if before == Before::Input {
            let resource = self.target.catalog.model.resource(entry.resource);
            let sources = self.origin.map(|origin| origin.sources);
            self.report.repeated(sources, resource, entry.at, earlier)?;
        }
        self.decided(entry.resource);
        for key in std::iter::once(entry.keys.0).chain(entry.keys.1) {
            for waiter in self.waiting.take(key) {
                self.reopen(waiter.resource);
                self.ready.push_back((waiter.at, 1, waiter.resource));
            }
        }
        Ok(())
    }

    /// Marks one record of a resource as stored, rejected or waiting.
    fn decided(&mut self, resource: ResourceId) {
        if let Some(count) = self.undecided.get_mut(&resource) {
            *count = count.saturating_sub(1);
        }
    }

    /// Marks one waiting record of a resource as undecided again.
    fn reopen(&mut self, resource: ResourceId) {
        if let Some(count) = self.undecided.get_mut(&resource) {
            *count += 1;
        }
    }

    fn refused(&mut self, entry: Entry, refusal: &Refusal) -> Result<(), LoadError> {
        if let Some(text) = &entry.given {
            let record = given_record(entry.at, entry.resource, text);
            return self.refused_record(&record, &entry, refusal);
        }
        self.read_again(entry.at, |intake, record, _| {
            intake.refused_record(&record, &entry, refusal)
        })
    }

    fn refused_record(
        &mut self,
        record: &Record<'_>,
        entry: &Entry,
        refusal: &Refusal,
    ) -> Result<(), LoadError> {
        if !matches!(refusal.code(), Code::Unresolved | Code::Invalid) {
            return self.reject(record, &Fault::Refused(refusal));
        }
        let absent = self.existing.absent(record)?;
        let Some(first) = absent.first() else {
            // Nothing is missing any more: the target came later.
            if entry.attempt >= ATTEMPTS_MAX {
                return self.reject(record, &Fault::Refused(refusal));
            }
            let attempt = entry.attempt + 1;
            let Some(text) = &entry.given else {
                self.ready.push_back((entry.at, attempt, entry.resource));
                return Ok(());
            };
            let record = given_record(entry.at, entry.resource, text);
            let checked = check(self.target.catalog, record, false);
            return self.offer(checked, entry.given.clone(), attempt);
        };
        let waiter = Waiter { at: entry.at, resource: entry.resource, keys: entry.keys };
        if absent.iter().all(|absent| self.may_come(absent, entry.resource))
            && self.waiting.wait(waiter, first.hash)
        {
            self.decided(entry.resource);
            self.note_decided(entry.at, Some(entry.resource));
            return Ok(());
        }
        self.reject_absent(record, absent)
    }

    /// Whether a later record of this load may still provide what a record of `asking` lacks.
    fn may_come(&self, absent: &Absent, asking: ResourceId) -> bool {
        let model = &self.target.catalog.model;
        // The asking record is itself counted as undecided.
        let is_left = |id: &ResourceId| {
            self.undecided.get(id).is_some_and(|left| *left > u64::from(*id == asking))
        };
        if self.waiting.has(absent.hash) {
            return true;
        }
        match absent.target {
            Target::Resource(id) => is_left(&id),
            Target::Abstract(id) => model.base(id).subclasses.iter().any(is_left),
        }
    }

    fn reject_absent(
        &mut self,
        record: &Record<'_>,
        mut absent: Vec<Absent>,
    ) -> Result<(), LoadError> {
        self.report.explain(&mut absent);
        self.existing.name_nearest(&mut absent)?;
        self.reject(record, &Fault::Absent(&absent))
    }

    fn reject(&mut self, record: &Record<'_>, fault: &Fault<'_>) -> Result<(), LoadError> {
        let catalog = self.target.catalog;
        let resource = record.resource.map(|id| catalog.model.resource(id));
        let (key, hashes) = known(catalog, resource, &record.json);
        self.reject_known(record.at, record.resource, (key, hashes), fault)
    }

    fn reject_unfit(
        &mut self,
        at: At,
        resource: Option<ResourceId>,
        unfit: Unfit,
    ) -> Result<(), LoadError> {
        let Unfit { key, hashes, why } = unfit;
        // A client that may not write this resource gets that refusal before any about the document, as a
        // POST does.
        let denied = match (self.target.rights(), resource) {
            (Some((rights, catalog, _)), Some(id)) => {
                rights::denied(rights, catalog.model.resource(id))?.map(Refusal::Denied)
            }
            _ => None,
        };
        if let Some(denied) = &denied {
            return self.reject_known(at, resource, (key, hashes), &Fault::Refused(denied));
        }
        let fault = match &why {
            Why::Flawed(flaws) => Fault::Flawed(flaws),
            Why::Invalid(violations) => Fault::Invalid(violations),
        };
        self.reject_known(at, resource, (key, hashes), &fault)
    }

    fn reject_known(
        &mut self,
        at: At,
        resource: Option<ResourceId>,
        (key, hashes): Known,
        fault: &Fault<'_>,
    ) -> Result<(), LoadError> {
        if let Some(id) = resource {
            self.decided(id);
        }
        self.note_decided(at, resource);
        let resource = resource.map(|id| self.target.catalog.model.resource(id));
        let sources = self.origin.map(|origin| origin.sources);
        self.report.reject(sources, Rejected { at, resource, key, hashes }, fault)
    }
}

/// Makes a record of a document that is given as text.
pub(crate) fn given_record(at: At, resource: ResourceId, text: &str) -> Record<'_> {
    match Json::read(text.as_bytes()) {
        Ok(json) => Record::new(at, Some(resource), json, vec![], vec![]),
        Err(error) => {
            let flaw = not_json(&error, Spot::on_line(0, at.line));
            Record::flawed(at, Some(resource), flaw)
        }
    }
}
