//! Writes records to the store in batches; a refused record waits or is rejected.
#![expect(clippy::disallowed_methods, reason = "a batch is written at the moment when it is full")]

use std::collections::{HashMap, VecDeque};

use homeroom_access::UpsertGrant;
use homeroom_document::json::Json;
use homeroom_document::plan::{self, Effect, Precondition, Save, Written};
use homeroom_document::validate::{Document, doubtful, validate};
use homeroom_document::{Code, Documents, Refusal, Violations};
use homeroom_model::{Resource, ResourceId, Target};
use homeroom_store::{ChangedAt, NaturalKey, Plan, Ran, Refused, Rehearsal};

use crate::error::LoadError;
use crate::existing::Existing;
use crate::fault::{Absent, Fault};
use crate::identity;
use crate::json_file::not_json;
use crate::place::{At, Spot};
use crate::record::Record;
use crate::report::{Rejected, Report};
use crate::sources::Sources;
use crate::waiting::{Waiter, Waiting};
use crate::xml::ReadError;

/// Most documents per transaction.
const BATCH_DOCUMENTS: usize = 500;
/// Most bytes of document text per transaction.
const BATCH_BYTES: usize = 8 << 20;
/// Most identities that a dry run remembers.
const REHEARSED_MAX: usize = 20_000_000;
/// How often a refused record is retried when none of its references is missing.
const ATTEMPTS_MAX: u8 = 3;

/// Writes records in batches and tracks those that wait.
pub(crate) struct Intake<'a> {
    api: &'a Documents,
    sources: Option<&'a Sources<'a>>,
    /// Counts, results and rejects so far.
    pub report: Report,
    /// Whether to reject what is ignored or guessed otherwise.
    pub is_strict: bool,
    batch: Vec<(Entry, Document)>,
    batch_bytes: usize,
    waiting: Waiting,
    ready: VecDeque<(At, u8)>,
    /// Number of records per resource that are not yet stored, rejected or waiting.
    undecided: HashMap<ResourceId, u64>,
    existing: Existing<'a>,
    /// In a dry run: what would have been written so far.
    rehearsal: Option<Rehearsal>,
    /// The store's newest version when the load began.
    version_before: i64,
    is_stopped: &'a dyn Fn() -> bool,
}

/// The result of a plan, and whether the input had the same document before.
type Outcome = Result<(Written, bool), Refused<Refusal>>;

/// A document of a batch.
#[derive(Debug)]
struct Entry {
    at: At,
    resource: ResourceId,
    keys: (NaturalKey, Option<NaturalKey>),
    /// Its text, if there is no file to read it from again.
    given: Option<String>,
    attempt: u8,
}

impl<'a> Intake<'a> {
    /// Makes an intake for records of `sources`; [`None`] if documents are given as text.
    ///
    /// # Errors
    ///
    /// Returns an error of the store.
    pub(crate) fn new(
        api: &'a Documents,
        sources: Option<&'a Sources<'a>>,
        mut report: Report,
        is_dry_run: bool,
        is_stopped: &'a dyn Fn() -> bool,
    ) -> Result<Self, LoadError> {
        report.counts.dry_run = is_dry_run;
        let rehearsal = is_dry_run.then(Rehearsal::default);
        let totals = sources.map(Sources::counts).unwrap_or_default();
        Ok(Self {
            api,
            sources,
            report,
            is_strict: false,
            batch: Vec::with_capacity(BATCH_DOCUMENTS),
            batch_bytes: 0,
            waiting: Waiting::default(),
            ready: VecDeque::new(),
            existing: Existing::new(api, totals.keys().copied().collect(), rehearsal.clone()),
            rehearsal,
            undecided: totals,
            version_before: api.store.newest_change_version_blocking()?,
            is_stopped,
        })
    }

    /// Adds a record of the input to the batch.
    ///
    /// # Errors
    ///
    /// [`LoadError`] when the load cannot go on; a record that cannot be loaded is not an error.
    pub(crate) fn take(
        &mut self,
        record: &Record<'_>,
        given: Option<String>,
    ) -> Result<(), LoadError> {
        self.go_on()?;
        self.report.counts.documents += 1;
        if let Some(id) = record.resource {
            // What is rejected is not ignored.
            let strays = if self.is_strict { vec![] } else { record.strays.clone() };
            self.report.warn(id, strays, record.at);
        }
        self.offer(record, given, 0)?;
        self.take_ready()
    }

    /// Writes the current batch, and the records that were waiting for its documents.
    ///
    /// # Errors
    ///
    /// As [`Intake::take`].
    pub(crate) fn settle(&mut self) -> Result<(), LoadError> {
        while !self.batch.is_empty() || !self.ready.is_empty() {
            self.flush()?;
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
                let Some(sources) = self.sources else { continue };
                self.go_on()?;
                self.reopen(resource);
                let again = sources.again(at, |record| {
                    let absent = self.existing.absent(&record)?;
                    if absent.is_empty() {
                        return self.offer(&record, None, 1);
                    }
                    self.reject_absent(&record, absent)
                });
                self.reread(at, again)?;
            }
        }
    }

    /// Number of waiting records.
    pub(crate) fn waiting(&self) -> u64 {
        self.waiting.len() as u64
    }

    fn take_ready(&mut self) -> Result<(), LoadError> {
        while let (Some(sources), Some((at, attempt))) = (self.sources, self.ready.pop_front()) {
            let again = sources.again(at, |record| self.offer(&record, None, attempt));
            self.reread(at, again)?;
        }
        Ok(())
    }

    /// Handles the result of reading a record again; rejects the file if it has changed.
    fn reread(
        &mut self,
        at: At,
        read: Result<Result<(), LoadError>, ReadError>,
    ) -> Result<(), LoadError> {
        match read {
            Ok(done) => done,
            Err(ReadError::Load(error)) => Err(error),
            Err(ReadError::Malformed(malformed)) => self.report.reject_file(at.file, &malformed),
        }
    }

    fn offer(
        &mut self,
        record: &Record<'_>,
        given: Option<String>,
        attempt: u8,
    ) -> Result<(), LoadError> {
        let api = self.api;
        let Some(id) = record.resource.filter(|_| record.flaws.is_empty()) else {
            return self.reject(record, &Fault::Flawed(&record.flaws));
        };
        let resource = api.catalog.model.resource(id);
        let mut doubts = self.doubts(resource, record);
        match validate(&api.catalog, resource, &record.json) {
            Err(mut violations) if !doubts.is_empty() => {
                violations.append(&mut doubts);
                self.reject(record, &Fault::Invalid(&violations))
            }
            Ok(_) if !doubts.is_empty() => self.reject(record, &Fault::Invalid(&doubts)),
            Err(violations) => self.reject(record, &Fault::Invalid(&violations)),
            Ok(document) => {
                let keys = (document.key, document.alias);
                self.batch_bytes += document.body.len();
                self.batch
                    .push((Entry { at: record.at, resource: id, keys, given, attempt }, document));
                if self.batch.len() >= BATCH_DOCUMENTS || self.batch_bytes >= BATCH_BYTES {
                    self.flush()?;
                }
                Ok(())
            }
        }
    }

    /// Returns what is doubtful about a record, if records are read strictly.
    fn doubts(&self, resource: &Resource, record: &Record<'_>) -> Violations {
        if !self.is_strict {
            return Violations::new();
        }
        let mut doubts = doubtful(&self.api.catalog.model, resource, &record.json);
        // Those of a JSON file are found again with their indices.
        for stray in record.strays.iter().filter(|stray| !stray.starts_with('$')) {
            doubts.insert(stray.clone(), vec!["The model has no such element.".to_owned()]);
        }
        doubts
    }

    fn go_on(&self) -> Result<(), LoadError> {
        if (self.is_stopped)() { Err(LoadError::Stopped) } else { Ok(()) }
    }

    fn flush(&mut self) -> Result<(), LoadError> {
        self.go_on()?;
        let batch = std::mem::replace(&mut self.batch, Vec::with_capacity(BATCH_DOCUMENTS));
        self.batch_bytes = 0;
        let now = ChangedAt::now();
        let mut entries = Vec::with_capacity(batch.len());
        let mut plans = Vec::with_capacity(batch.len());
        for (entry, document) in batch {
            let grant = UpsertGrant::everything();
            plans.push(plan::upsert(
                &self.api.catalog,
                document,
                grant,
                Precondition::default(),
                now,
            ));
            entries.push(entry);
        }
        for (entry, outcome) in entries.into_iter().zip(self.run(plans)?) {
            match outcome {
                Ok((written, is_repeated)) => {
                    self.report.counts.repeated += u64::from(is_repeated);
                    self.stored(&entry, written.effect);
                }
                Err(Refused::Decision(refusal)) => self.refused(&entry, &refusal)?,
                Err(Refused::Store(error)) => return Err(error.into()),
            }
        }
        Ok(())
    }

    /// Runs a batch's plans, or rehearses them in a dry run. Each result says whether the input had
    /// the same document before.
    fn run(&self, plans: Vec<Plan<Save>>) -> Result<Vec<Outcome>, LoadError> {
        let store = &self.api.store;
        let Some(rehearsal) = &self.rehearsal else {
            let before = self.version_before;
            let outcomes = store.run_all_blocking(plans).into_iter();
            let repeated = |ran: Ran<Written>| (ran.value, ran.value.version_before > before);
            return Ok(outcomes.map(|outcome| outcome.map(repeated)).collect());
        };
        if rehearsal.identities() >= REHEARSED_MAX {
            return Err(LoadError::TooLargeForDryRun(REHEARSED_MAX));
        }
        let plans = plans.into_iter().map(|plan| rehearsal.plan(plan)).collect();
        let outcomes = store.run_all_blocking(plans).into_iter();
        Ok(outcomes.map(|outcome| outcome.map(|ran| ran.value)).collect())
    }

    fn stored(&mut self, entry: &Entry, effect: Effect) {
        match effect {
            Effect::Created | Effect::Updated => self.report.counts.loaded += 1,
            Effect::Unchanged => self.report.counts.unchanged += 1,
        }
        self.decided(entry.resource);
        for key in std::iter::once(entry.keys.0).chain(entry.keys.1) {
            for waiter in self.waiting.take(key) {
                self.reopen(waiter.resource);
                self.ready.push_back((waiter.at, 1));
            }
        }
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

    fn refused(&mut self, entry: &Entry, refusal: &Refusal) -> Result<(), LoadError> {
        if let Some(text) = &entry.given {
            let record = given_record(entry.at, entry.resource, text);
            return self.refused_record(&record, entry, refusal);
        }
        let Some(sources) = self.sources else { return Ok(()) };
        let again = sources.again(entry.at, |record| self.refused_record(&record, entry, refusal));
        self.reread(entry.at, again)
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
            // Nothing is missing any more: the target came later in the same batch.
            if entry.attempt >= ATTEMPTS_MAX {
                return self.reject(record, &Fault::Refused(refusal));
            }
            if entry.given.is_some() {
                return self.offer(record, entry.given.clone(), entry.attempt + 1);
            }
            self.ready.push_back((entry.at, entry.attempt + 1));
            return Ok(());
        };
        let waiter = Waiter { at: entry.at, resource: entry.resource, keys: entry.keys };
        if absent.iter().all(|absent| self.may_come(absent, entry.resource))
            && self.waiting.wait(waiter, first.hash)
        {
            self.decided(entry.resource);
            return Ok(());
        }
        self.reject_absent(record, absent)
    }

    /// Whether a later record of this load may still provide what a record of `asking` lacks.
    fn may_come(&self, absent: &Absent, asking: ResourceId) -> bool {
        let model = &self.api.catalog.model;
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
        self.reject(record, &Fault::Absent(&absent))
    }

    fn reject(&mut self, record: &Record<'_>, fault: &Fault<'_>) -> Result<(), LoadError> {
        let catalog = &self.api.catalog;
        let resource: Option<&Resource> = record.resource.map(|id| catalog.model.resource(id));
        if let Some(id) = record.resource {
            self.decided(id);
        }
        let rejected = Rejected {
            at: record.at,
            resource,
            key: resource.and_then(|resource| identity::key_text(resource, &record.json)),
            hashes: resource.and_then(|resource| identity::hashes(catalog, resource, &record.json)),
        };
        self.report.reject(self.sources, rejected, fault)
    }
}

/// Makes a record of a document that is given as text.
pub(crate) fn given_record(at: At, resource: ResourceId, text: &str) -> Record<'_> {
    let (json, flaws) = match Json::read(text.as_bytes()) {
        Ok(json) => (json, vec![]),
        Err(error) => (Json::Null, vec![not_json(&error, Spot::on_line(0, at.line))]),
    };
    Record { at, resource: Some(resource), json, flaws, strays: vec![] }
}
