//! Documents on their way to the store, in batches: while one is written, the next is made.
#![expect(clippy::disallowed_methods, reason = "a batch is written at the moment when it is full")]

use std::collections::VecDeque;

use homeroom_access::UpsertGrant;
use homeroom_document::Refusal;
use homeroom_document::plan::{self, Precondition, Save, Written};
use homeroom_document::validate::Document;
use homeroom_model::ResourceId;
use homeroom_store::{
    ChangedAt, NaturalKey, Plan, Ran, Refused, Rehearsal, Rehearsed, StoreError, Submitted,
};

use crate::error::LoadError;
use crate::place::At;
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

/// The result of a plan, and whether the input had the same document before.
pub(crate) type Outcome = Result<(Written, bool), Refused<Refusal>>;

/// Documents with their results.
pub(crate) type Done = Vec<(Entry, Outcome)>;

/// Batches of documents in their order.
pub(crate) struct Writing<'a> {
    target: Target<'a>,
    /// In a dry run: what would have been written so far.
    rehearsal: Option<Rehearsal>,
    /// The store's newest version when the load began.
    version_before: i64,
    batch: Vec<(Entry, Document)>,
    bytes: usize,
    submitted: VecDeque<(Vec<Entry>, Batch)>,
}

/// A batch that was submitted.
enum Batch {
    Written(Submitted<Save>),
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
        let (batch, submitted) = (vec![], VecDeque::new());
        Ok(Self { target, rehearsal, version_before, batch, bytes: 0, submitted })
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
    /// [`LoadError::TooLargeForDryRun`].
    pub(crate) fn submit(&mut self) -> Result<(), LoadError> {
        if self.batch.is_empty() {
            return Ok(());
        }
        let now = ChangedAt::now();
        self.bytes = 0;
        let batch = std::mem::take(&mut self.batch);
        let (entries, plans): (Vec<Entry>, Vec<Plan<Save>>) =
            batch.into_iter().map(|(entry, document)| (entry, self.plan(document, now))).unzip();
        let target = self.target;
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
        let before = self.version_before;
        let repeated = |ran: Ran<Written>| (ran.value, ran.value.version_before > before);
        match batch {
            Batch::Written(batch) => {
                batch.wait().into_iter().map(|outcome| outcome.map(repeated)).collect()
            }
            Batch::Rehearsed(batch) => {
                batch.wait().into_iter().map(|outcome| outcome.map(|ran| ran.value)).collect()
            }
            Batch::Ended(outcomes) => outcomes,
        }
    }
}
