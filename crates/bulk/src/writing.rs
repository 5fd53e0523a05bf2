//! Documents on their way to the store, in batches: while one is written, the next is made.
#![expect(clippy::disallowed_methods, reason = "a batch is written at the moment when it is full")]

use std::collections::{HashSet, VecDeque};

use homeroom_access::{AsOf, UpsertGrant};
use homeroom_document::Refusal;
use homeroom_document::plan::{self, Precondition, Save, Written};
use homeroom_document::validate::Document;
use homeroom_model::ResourceId;
use homeroom_store::{
    ChangedAt, NaturalKey, Plan, Ran, Refused, Rehearsal, Rehearsed, StoreError, Submitted,
};

use crate::checkpoint::Checkpoint;
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
    /// Number of rows that it is in a normalised schema.
    pub records: u64,
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
    /// Newest version that a document of this load got whose result was taken.
    version: i64,
    /// For a load that continues another one: the documents that the other had written after its
    /// checkpoint, as far as their records have not been read again.
    unknown: HashSet<NaturalKey>,
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

/// A result, and in a dry run whether the input had the same document before.
type Came = (Written, Option<bool>);

/// A batch that was submitted.
enum Batch {
    Written(Submitted<Save>),
    /// With the rights of a client.
    WrittenAs(Submitted<AsOf<Save>>, ChangedAt),
    Rehearsed(Submitted<Rehearsed<Save>>),
    /// The results of the group have come.
    Ended(Vec<Result<Ran<Came>, Refused<Refusal>>>),
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
            version: version_before,
            unknown: HashSet::new(),
            batch: vec![],
            bytes: 0,
            submitted: VecDeque::new(),
        })
    }

    /// Continues a load at a checkpoint. What was written after it, of `resources`, is looked up.
    ///
    /// # Errors
    ///
    /// Returns an error of the store.
    pub(crate) fn resume(
        &mut self,
        from: &Checkpoint,
        resources: impl Iterator<Item = ResourceId>,
    ) -> Result<(), StoreError> {
        self.unknown = from.unknown().collect();
        for resource in resources {
            let kind = self.target.catalog.kind(resource);
            self.unknown.extend(self.target.written_after(kind, from.version)?);
        }
        self.version_before = from.version_before;
        self.version = self.version.max(from.version);
        Ok(())
    }

    /// Puts what is known of versions into a checkpoint.
    pub(crate) fn keep(&self, now: &mut Checkpoint) {
        (now.version_before, now.version) = (self.version_before, self.version);
        now.keep_unknown(self.unknown.iter().copied());
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
        let came = self.wait(batch);
        let done = entries.into_iter().zip(came).map(|(entry, outcome)| {
            let outcome = outcome.map(|ran| {
                self.version = self.version.max(ran.change_version);
                let (written, is_repeated) = ran.value;
                (written, self.before(&entry, written, is_repeated))
            });
            (entry, outcome)
        });
        Some(done.collect())
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

    /// Tells who stored the document that an entry has found.
    fn before(&mut self, entry: &Entry, written: Written, is_repeated: Option<bool>) -> Before {
        match is_repeated {
            Some(false) => Before::Load,
            None if written.version_before <= self.version_before => Before::Load,
            None if self.unknown.remove(&entry.keys.0) => Before::Interruption,
            Some(true) | None => Before::Input,
        }
    }

    /// Waits for the results of a batch.
    fn wait(&self, batch: Batch) -> Vec<Result<Ran<Came>, Refused<Refusal>>> {
        let known = |ran: Ran<Written>| Ran {
            value: (ran.value, None),
            change_version: ran.change_version,
        };
        match batch {
            Batch::Written(batch) => {
                batch.wait().into_iter().map(|outcome| outcome.map(known)).collect()
            }
            Batch::WrittenAs(batch, now) => {
                let Some(rights) = self.target.rights() else { return vec![] };
                let outcomes = rights::outcomes(rights, batch, now).into_iter();
                outcomes.map(|outcome| outcome.map(known)).collect()
            }
            Batch::Rehearsed(batch) => {
                let told = |ran: Ran<(Written, bool)>| {
                    let (written, is_repeated) = ran.value;
                    let value = (written, Some(is_repeated));
                    Ran { value, change_version: ran.change_version }
                };
                batch.wait().into_iter().map(|outcome| outcome.map(told)).collect()
            }
            Batch::Ended(came) => came,
        }
    }
}
