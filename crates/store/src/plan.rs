//! Ask, decide, write: what one request does to the store, as a value.

use std::sync::Arc;

use crate::error::StoreError;
use crate::id::{DocumentId, KindId, NaturalKey, Uuid};
use crate::row::{References, Row};
use crate::sql::{Sql, Value};
use crate::through::{DocumentTest, Passed};
use crate::tie::{Reached, Start, Tie, Way};

/// What one request asks of the store. The store runs all of it or none.
#[derive(Debug, Clone)]
pub struct Plan<D: Decide> {
    /// What must be known first.
    pub ask: Vec<Ask>,
    /// Pure: from what was found to the writes, to further questions, or to a refusal.
    pub decide: D,
}

/// A question.
#[derive(Debug, Clone, PartialEq)]
pub enum Ask {
    /// The document with this identity. Answer: [`Answer::Document`].
    Document(NaturalKey),
    /// The document with this public id. Answer: [`Answer::Document`].
    DocumentByUuid(Uuid),
    /// What carries this identity, as its own or as an abstract base's. Answer: [`Answer::Target`].
    Target(NaturalKey),
    /// Up to 20 kinds of document that refer to this one, itself left out.
    /// Answer: [`Answer::Referrers`].
    Referrers(DocumentId),
    /// What can be reached over ties. Answer: [`Answer::Reached`].
    Reach(Start, Way),
    /// How a document stands to a test. Answer: [`Answer::Passed`].
    Test(Start, Arc<DocumentTest>),
    /// The version of who may call and what, which every change of that counts up: what a caller was
    /// granted is of one version. Answer: [`Answer::AccessVersion`].
    AccessVersion,
    /// Anything else. Answer: [`Answer::Rows`].
    Sql(Sql),
}

/// The statement of [`Ask::AccessVersion`].
pub(crate) const ACCESS_VERSION: &str = "SELECT version FROM access_version WHERE id = 1";

/// What was found, in the order of the questions.
#[derive(Debug, Clone, PartialEq)]
pub enum Answer {
    /// The document, if there is one.
    Document(Option<Row>),
    /// The target of a reference, if there is one: number, public id, kind.
    Target(Option<(DocumentId, Uuid, KindId)>),
    /// Kinds that refer to a document.
    Referrers(Vec<KindId>),
    /// What was reached over ties.
    Reached(Reached),
    /// How a document stands to a test.
    Passed(Passed),
    /// The version of who may call and what.
    AccessVersion(i64),
    /// Rows of a statement.
    Rows(Vec<Vec<Value>>),
}

/// The pure middle of a plan.
///
/// It can be cloned, so that an engine may take a plan up again from its beginning: after a
/// neighbour's fault, a lost connection, or where it asks what a plan before it has written.
pub trait Decide: Clone + Send + 'static {
    /// What the caller gets when it is done.
    type Done: Send + 'static;
    /// Why it is refused; the store knows no domain.
    type Refusal: Send + 'static;

    /// Decides on what was found: one answer a question, in order.
    fn decide(&mut self, found: Vec<Answer>) -> Decision<Self::Done, Self::Refusal>;
}

impl<F, T, E> Decide for F
where
    F: FnMut(Vec<Answer>) -> Decision<T, E> + Clone + Send + 'static,
    T: Send + 'static,
    E: Send + 'static,
{
    type Done = T;
    type Refusal = E;

    fn decide(&mut self, found: Vec<Answer>) -> Decision<T, E> {
        self(found)
    }
}

/// What a decision is.
#[derive(Debug, Clone, PartialEq)]
pub enum Decision<T, E> {
    /// Write this, all of it or none. An empty list writes nothing.
    Write(Vec<Write>, T),
    /// More must be known; rounds are bounded.
    Ask(Vec<Ask>),
    /// It cannot be done; nothing is written.
    Refuse(E),
}

/// Most rounds of questions that one plan may take.
pub const ROUNDS_MAX: usize = 8;

/// A document to be stored.
#[derive(Debug, Clone, PartialEq)]
pub struct NewDocument {
    /// Public id.
    pub uuid: Uuid,
    /// The kind of the document.
    pub kind: KindId,
    /// Hash of its identity.
    pub key: NaturalKey,
    /// Hash of its identity under its abstract base, if it has one.
    pub alias: Option<NaturalKey>,
    /// Canonical JSON text.
    pub body: String,
    /// What it refers to, and its marks.
    pub references: References,
    /// The ties that it makes, each once.
    pub ties: Vec<Tie>,
    /// Moment of the change, microseconds since 1970.
    pub modified: i64,
}

/// What is remembered of a deleted document.
#[derive(Debug, Clone, PartialEq)]
pub struct Tombstone {
    /// Key values as JSON.
    pub key_values: String,
    /// Moment of the deletion, microseconds since 1970.
    pub modified: i64,
}

/// A write.
#[derive(Debug, Clone, PartialEq)]
pub enum Write {
    /// A new document.
    Create(NewDocument),
    /// A new text for a stored document of the same identity.
    Replace {
        /// The document as it was found.
        old: DocumentId,
        /// Its packed references as they were found.
        old_references: Vec<u8>,
        /// The ties that it has made so far.
        old_ties: Vec<Tie>,
        /// The document as it shall be; its `uuid`, `kind`, `key` and `alias` stay as stored.
        new: NewDocument,
    },
    /// Removes a document, with its identity under its abstract base, if it has one.
    Delete {
        /// The document as it was found.
        row: Box<Row>,
        /// The ties that it has made.
        ties: Vec<Tie>,
        /// What is remembered of it.
        tombstone: Tombstone,
    },
    /// Anything else.
    Sql(Sql),
}

/// A plan that was done and is durable.
#[derive(Debug, Clone, PartialEq)]
pub struct Ran<T> {
    /// What the decision gave.
    pub value: T,
    /// Change version of the documents that were written; 0 where none was.
    pub change_version: i64,
}

/// A plan that was not done; nothing was written.
#[derive(Debug, Clone)]
pub enum Refused<E> {
    /// The decision said no.
    Decision(E),
    /// The store could not.
    Store(StoreError),
}

impl<E> From<StoreError> for Refused<E> {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}
