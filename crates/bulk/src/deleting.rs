//! Takes back what files brought: deletes the documents that they identify, in the reverse of the
//! order in which they are loaded.
#![expect(clippy::disallowed_methods, reason = "a batch is deleted at the moment when it is full")]

use homeroom_access::Grant;
use homeroom_document::Refusal;
use homeroom_document::plan::{self, Delete, Precondition};
use homeroom_model::ResourceId;
use homeroom_store::{ChangedAt, NaturalKey, Plan, Refused};

use crate::checked::{CheckResult, Checked, Unfit, Why, check, known};
use crate::error::LoadError;
use crate::fault::Fault;
use crate::place::At;
use crate::report::{Rejected, Report};
use crate::sources::Sources;
use crate::target::Target;
use crate::xml::{Lookups, ReadError};

/// Most documents that are deleted in one transaction.
const BATCH_DOCUMENTS: usize = 500;
/// Most documents that wait until what refers to them is deleted.
const WAITING_MAX: usize = 1_000_000;

/// A document to be deleted.
#[derive(Debug, Clone, Copy)]
struct Entry {
    at: At,
    resource: ResourceId,
    key: NaturalKey,
}

/// Deletes documents, and tracks those that others still refer to.
pub(crate) struct Deleting<'a> {
    target: Target<'a>,
    sources: &'a Sources<'a>,
    lookups: &'a Lookups<'a>,
    /// Counts, results and rejects so far.
    pub report: Report,
    batch: Vec<Entry>,
    /// Documents that something referred to when they were tried.
    waiting: Vec<Entry>,
    is_stopped: &'a dyn Fn() -> bool,
}

impl<'a> Deleting<'a> {
    /// Begins to delete.
    pub(crate) fn new(
        target: Target<'a>,
        sources: &'a Sources<'a>,
        lookups: &'a Lookups<'a>,
        report: Report,
        is_stopped: &'a dyn Fn() -> bool,
    ) -> Self {
        Self { target, sources, lookups, report, batch: vec![], waiting: vec![], is_stopped }
    }

    /// Takes a record of the input.
    ///
    /// # Errors
    ///
    /// [`LoadError`] when the load cannot go on.
    pub(crate) fn take(&mut self, record: Checked) -> Result<(), LoadError> {
        if (self.is_stopped)() {
            return Err(LoadError::Stopped);
        }
        self.report.counts.documents += 1;
        self.report.counts.rows += record.records;
        let Checked { at, resource, result, .. } = record;
        let key = match result {
            CheckResult::Document(document) => Ok(Some(document.key)),
            CheckResult::Unfit(unfit) => match unfit.hashes {
                Some((own, _)) => Ok(Some(own)),
                None => Err(unfit),
            },
            CheckResult::Lookups(_) => self.looked_up(at)?,
        };
        match (key, resource) {
            (Ok(Some(key)), Some(resource)) => {
                self.batch.push(Entry { at, resource, key });
                if self.batch.len() >= BATCH_DOCUMENTS { self.flush() } else { Ok(()) }
            }
            (Err(unfit), resource) => self.reject_unfit(at, resource, &unfit),
            // A file that has changed was rejected as a whole.
            (Ok(_), _) => Ok(()),
        }
    }

    /// Ends a level: tries what waited until nothing more can be deleted.
    ///
    /// # Errors
    ///
    /// As [`Deleting::take`].
    pub(crate) fn settle(&mut self) -> Result<(), LoadError> {
        loop {
            self.flush()?;
            let before = self.report.counts.deleted;
            self.batch = std::mem::take(&mut self.waiting);
            // What came last refers to what came before it.
            self.batch.reverse();
            self.flush()?;
            if self.waiting.is_empty() || self.report.counts.deleted == before {
                self.waiting.reverse();
                return Ok(());
            }
        }
    }

    /// Rejects what others still refer to at the end of the input.
    ///
    /// # Errors
    ///
    /// As [`Deleting::take`].
    pub(crate) fn give_up(&mut self) -> Result<(), LoadError> {
        self.settle()?;
        self.batch = std::mem::take(&mut self.waiting);
        for (entry, outcome) in self.submit() {
            self.last(entry, outcome)?;
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<(), LoadError> {
        for (entry, outcome) in self.submit() {
            match outcome {
                Err(Refused::Decision(Refusal::Referred { .. }))
                    if self.waiting.len() < WAITING_MAX =>
                {
                    self.waiting.push(entry);
                }
                outcome => self.last(entry, outcome)?,
            }
        }
        Ok(())
    }

    /// Deletes the batch, a part of it in each transaction.
    fn submit(&mut self) -> Vec<(Entry, Result<(), Refused<Refusal>>)> {
        let batch = std::mem::take(&mut self.batch);
        let mut done = Vec::with_capacity(batch.len());
        for part in batch.chunks(BATCH_DOCUMENTS) {
            let now = ChangedAt::now();
            let plans = part.iter().map(|entry| self.plan(*entry, now)).collect();
            let outcomes = self.target.submit(plans).wait();
            let outcomes = outcomes.into_iter().map(|outcome| outcome.map(|ran| ran.value));
            done.extend(part.iter().copied().zip(outcomes));
        }
        done
    }

    fn plan(&self, entry: Entry, now: ChangedAt) -> Plan<Delete> {
        let catalog = self.target.catalog;
        let resource = catalog.model.resource(entry.resource);
        let precondition = Precondition::default();
        plan::delete_identified(catalog, resource, entry.key, Grant::default(), precondition, now)
    }

    fn last(
        &mut self,
        entry: Entry,
        outcome: Result<(), Refused<Refusal>>,
    ) -> Result<(), LoadError> {
        let tally = self.report.tally(Some(entry.resource));
        match outcome {
            Ok(()) => {
                tally.deleted += 1;
                self.report.counts.deleted += 1;
                Ok(())
            }
            Err(Refused::Decision(Refusal::NotFound)) => {
                tally.unchanged += 1;
                self.report.counts.unchanged += 1;
                Ok(())
            }
            Err(Refused::Store(error)) => Err(error.into()),
            Err(Refused::Decision(refusal)) => self.refuse(entry, &refusal),
        }
    }

    fn refuse(&mut self, entry: Entry, refusal: &Refusal) -> Result<(), LoadError> {
        let (catalog, sources) = (self.target.catalog, self.sources);
        let resource = catalog.model.resource(entry.resource);
        let report = &mut self.report;
        let read = sources.again(entry.at, self.lookups, |record| {
            let (key, hashes) = known(catalog, Some(resource), &record.json);
            let rejected = Rejected { at: entry.at, resource: Some(resource), key, hashes };
            report.reject(Some(sources), rejected, &Fault::Refused(refusal))
        });
        match read {
            Ok(rejected) => rejected,
            Err(ReadError::Load(error)) => Err(error),
            Err(ReadError::Malformed(fault)) => self.report.reject_file(entry.at.file, &fault),
        }
    }

    fn reject_unfit(
        &mut self,
        at: At,
        resource: Option<ResourceId>,
        unfit: &Unfit,
    ) -> Result<(), LoadError> {
        let resource = resource.map(|id| self.target.catalog.model.resource(id));
        let fault = match &unfit.why {
            Why::Flawed(flaws) => Fault::Flawed(flaws),
            Why::Invalid(violations) => Fault::Invalid(violations),
        };
        let rejected = Rejected { at, resource, key: unfit.key.clone(), hashes: unfit.hashes };
        self.report.reject(Some(self.sources), rejected, &fault)
    }

    /// Returns the identity of a record with lookups.
    fn looked_up(&mut self, at: At) -> Result<Result<Option<NaturalKey>, Unfit>, LoadError> {
        self.flush()?;
        let catalog = self.target.catalog;
        let read =
            self.sources.again(at, self.lookups, |record| check(catalog, record, false).result);
        match read {
            Ok(CheckResult::Document(document)) => Ok(Ok(Some(document.key))),
            Ok(CheckResult::Unfit(unfit)) => match unfit.hashes {
                Some((own, _)) => Ok(Ok(Some(own))),
                None => Ok(Err(unfit)),
            },
            Ok(CheckResult::Lookups(_)) => Ok(Ok(None)),
            Err(ReadError::Load(error)) => Err(error),
            Err(ReadError::Malformed(fault)) => {
                self.report.reject_file(at.file, &fault)?;
                Ok(Ok(None))
            }
        }
    }
}
