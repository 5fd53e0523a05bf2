//! Documents on their way to the store, in batches: while one is written, the next is made.
#![expect(clippy::disallowed_methods, reason = "a batch is written at the moment when it is full")]

use std::cell::Cell;
use std::collections::VecDeque;

use homeroom_access::{AsOf, UpsertGrant};
use homeroom_document::Refusal;
use homeroom_document::plan::{self, Precondition, Save, Written};
use homeroom_document::validate::Document;
use homeroom_model::ResourceId;
use homeroom_store::{
    ChangedAt, NaturalKey, Plan, Ran, Refused, Rehearsal, Rehearsed, StoreError, Submitted,
};

use crate::error::LoadError;
use crate::place::At;
use crate::rights;
use crate::target::Target;

/// Most documents per transaction. Other writes wait no longer than a transaction takes.
const BATCH_DOCUMENTS: usize = 1_000;
/// Most bytes of document text per transaction.
const BATCH_BYTES: usize = 8 << 20;
/// Most identities that a dry run remembers.
const REHEARSED_MAX: usize = 20_000_000;

/// A document of a batch.
#[derive(Debug)]
pub(crate) struct Entry {
    /// Its position.
    pub at: At,
    /// Its resource.
    pub resource: ResourceId,
    /// Its identity, and the one under its base.
    pub keys: (NaturalKey, Option<NaturalKey>),
    /// Its text, if there is no file to read it from again.
    pub given: Option<String>,
    /// How often it has been tried before.
    pub attempt: u8,
}

/// Where the version of a document that was found came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Before {
    /// It was there before the load, or there was none.
    Load,
    /// The input had the same document before.
    Input,
    /// The load had written it when it was interrupted, and it was not known to be written.
    Interruption,
}

/// The result of a plan, and where the document that it found came from.
pub(crate) type Outcome = Result<(Written, Before), Refused<Refusal>>;

/// Documents with their results.
pub(crate) type Done = Vec<(Entry, Outcome)>;

/// Batches of documents in their order.
pub(crate) struct Writing<'a> {
    target: Target<'a>,
    /// In a dry run: what would have been written so far.
    rehearsal: Option<Rehearsal>,
    /// The store's newest version when the load began.
    version_before: i64,
    /// Newest version that a document of this load got, as far as is known.
    version: Cell<i64>,
    /// For a load that continues another one: versions after the first and up to the second were
    /// given by the other and are not known to it.
    unknown: (i64, i64),
    batch: Vec<(Entry, Document)>,
    bytes: usize,
    submitted: VecDeque<(Vec<Entry>, Batch)>,
}

impl Drop for Writing<'_> {
    /// Waits for what is on its way, so that a load that continues this one finds all of it.
    fn drop(&mut self) {
        self.wait_for_all();
    }
}

/// A batch that was submitted.
enum Batch {
    Written(Submitted<Save>),
    /// With the rights of a client.
    WrittenAs(Submitted<AsOf<Save>>, ChangedAt),
    Rehearsed(Submitted<Rehearsed<Save>>),
    /// Its outcomes have come.
    Ended(Vec<Outcome>),
}

impl<'a> Writing<'a> {
    /// Begins to write; with a rehearsal, only tells what would be written.
    ///
    /// # Errors
    ///
    /// Returns an error of the store.
    pub(crate) fn new(
        target: Target<'a>,
        rehearsal: Option<Rehearsal>,
    ) -> Result<Self, StoreError> {
        let version_before = target.version()?;
        Ok(Self {
            target,
            rehearsal,
            version_before,
            version: Cell::new(version_before),
            unknown: (version_before, version_before),
            batch: vec![],
            bytes: 0,
            submitted: VecDeque::new(),
        })
    }

    /// Continues a load that began at a version and knew of another.
    pub(crate) fn resume(&mut self, (before, known): (i64, i64)) {
        self.unknown = (known, self.version_before);
        self.version_before = before;
    }

    /// Returns the store's version before the load, and the newest that is known of it.
    pub(crate) fn versions(&self) -> (i64, i64) {
        (self.version_before, self.version.get())
    }

    /// Yields the documents that are in the batch or on their way, in their order.
    pub(crate) fn on_the_way(&self) -> impl Iterator<Item = &Entry> {
        let submitted = self.submitted.iter().flat_map(|(entries, _)| entries);
        submitted.chain(self.batch.iter().map(|(entry, _)| entry))
    }

    /// Adds a document to the batch. Returns whether the batch is full.
    pub(crate) fn add(&mut self, entry: Entry, document: Document) -> bool {
        self.bytes += document.body.len();
        self.batch.push((entry, document));
        self.batch.len() >= BATCH_DOCUMENTS || self.bytes >= BATCH_BYTES
    }

    /// Whether documents are in the batch or on their way.
    pub(crate) fn is_busy(&self) -> bool {
        !self.batch.is_empty() || !self.submitted.is_empty()
    }

    /// Submits the batch.
    ///
    /// # Errors
    ///
    /// [`LoadError::TooLargeForDryRun`], [`LoadError::NotAuthorized`].
    pub(crate) fn submit(&mut self) -> Result<(), LoadError> {
        if self.batch.is_empty() {
            return Ok(());
        }
        let now = ChangedAt::now();
        self.bytes = 0;
        let batch = std::mem::take(&mut self.batch);
        let target = self.target;
        if let (Some(rights), None) = (target.rights(), &self.rehearsal) {
            let (entries, documents) = batch.into_iter().unzip();
            let submitted = rights::submit(rights, documents, now)?;
            self.submitted.push_back((entries, Batch::WrittenAs(submitted, now)));
            return Ok(());
        }
        let (entries, plans): (Vec<Entry>, Vec<Plan<Save>>) =
            batch.into_iter().map(|(entry, document)| (entry, self.plan(document, now))).unzip();
        let submitted = match &self.rehearsal {
            None => Batch::Written(target.submit(plans)),
            Some(rehearsal) if rehearsal.identities() >= REHEARSED_MAX => {
                return Err(LoadError::TooLargeForDryRun(REHEARSED_MAX));
            }
            Some(rehearsal) => {
                let plans = plans.into_iter().map(|plan| rehearsal.plan(plan));
                Batch::Rehearsed(target.submit(plans.collect()))
            }
        };
        self.submitted.push_back((entries, submitted));
        Ok(())
    }

    /// Returns the results of the oldest batch if more than `ahead` batches are on their way.
    pub(crate) fn next(&mut self, ahead: usize) -> Option<Done> {
        if self.submitted.len() <= ahead {
            return None;
        }
        let (entries, batch) = self.submitted.pop_front()?;
        let outcomes = self.wait(batch);
        Some(entries.into_iter().zip(outcomes).collect())
    }

    /// Waits until all batches that were submitted are written.
    pub(crate) fn wait_for_all(&mut self) {
        for (entries, batch) in std::mem::take(&mut self.submitted) {
            let ended = Batch::Ended(self.wait(batch));
            self.submitted.push_back((entries, ended));
        }
    }

    fn plan(&self, document: Document, now: ChangedAt) -> Plan<Save> {
        let (grant, catalog) = (UpsertGrant::everything(), self.target.catalog);
        plan::upsert(catalog, document, grant, Precondition::default(), now)
    }

    /// Waits for a batch. Each result says whether the input had the same document before.
    fn wait(&self, batch: Batch) -> Vec<Outcome> {
        let before = |written: Written| match written.version_before {
            version if version <= self.version_before => Before::Load,
            version if version > self.unknown.0 && version <= self.unknown.1 => {
                Before::Interruption
            }
            _ => Before::Input,
        };
        let repeated = |ran: Ran<Written>| {
            self.version.set(self.version.get().max(ran.change_version));
            (ran.value, before(ran.value))
        };
        match batch {
            Batch::Written(batch) => {
                batch.wait().into_iter().map(|outcome| outcome.map(repeated)).collect()
            }
            Batch::WrittenAs(batch, now) => {
                let Some(rights) = self.target.rights() else { return vec![] };
                let outcomes = rights::outcomes(rights, batch, now).into_iter();
                outcomes.map(|outcome| outcome.map(repeated)).collect()
            }
            Batch::Rehearsed(batch) => {
                let before = |ran: Ran<(Written, bool)>| {
                    let (written, is_repeated) = ran.value;
                    (written, if is_repeated { Before::Input } else { Before::Load })
                };
                batch.wait().into_iter().map(|outcome| outcome.map(before)).collect()
            }
            Batch::Ended(outcomes) => outcomes,
        }
    }
}
