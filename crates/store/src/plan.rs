//! Ask, decide, write: a request to the store, as a value.

use std::sync::Arc;

use crate::error::StoreError;
use crate::id::{DocumentId, KindId, NaturalKey, Uuid};
use crate::lane::{Lane, PartRows};
use crate::row::{References, Row};
use crate::sql::{Sql, Value};
use crate::through::{DocumentTest, Passed};
use crate::tie::{Reached, Start, Tie, Way};

/// A request to the store, which runs all of it or none.
#[derive(Debug, Clone)]
pub struct Plan<D: Decide> {
    /// Questions to answer first.
    pub ask: Vec<Ask>,
    /// A pure function from the answers to writes, further questions, or a refusal.
    pub decide: D,
}

/// A question.
#[derive(Debug, Clone, PartialEq)]
pub enum Ask {
    /// The document with this identity. Answer: [`Answer::Document`].
    Document(NaturalKey),
    /// The document with this public id. Answer: [`Answer::Document`].
    DocumentByUuid(Uuid),
    /// The document that has this identity, as its own or as an abstract base's. Answer:
    /// [`Answer::Target`].
    Target(NaturalKey),
    /// Up to 20 kinds of document that refer to this one, not counting itself. Answer:
    /// [`Answer::Referrers`].
    Referrers(DocumentId),
    /// What can be reached over ties. Answer: [`Answer::Reached`].
    Reach(Start, Way),
    /// Whether a document passes a test. Answer: [`Answer::Passed`].
    Test(Start, Arc<DocumentTest>),
    /// The version of clients and their rights, which every change of them increments. A caller's
    /// grant belongs to one version. Answer: [`Answer::AccessVersion`].
    AccessVersion,
    /// Rows of a part's own tables, such as jobs: neither documents nor ties nor rights. Answer:
    /// [`Answer::Rows`].
    Part(Sql),
    /// Rows of one lane, by which other plans of its group need not wait. Answer:
    /// [`Answer::Rows`].
    Rows(PartRows, Sql),
    /// Anything else. Answer: [`Answer::Rows`].
    Sql(Sql),
}

impl Ask {
    /// Returns whether a plan of a lane may ask this: about rows of the lane, or of a later one.
    pub(crate) fn keeps_to(&self, lane: Lane) -> bool {
        matches!(self, Self::Rows(rows, _) if rows.lane() >= lane)
    }
}

/// The statement of [`Ask::AccessVersion`].
pub(crate) const ACCESS_VERSION: &str = "SELECT version FROM access_version WHERE id = 1";

/// A document that a reference can name: its number, public id and kind.
pub(crate) type Target = (DocumentId, Uuid, KindId);

/// The answer to an [`Ask`]. Answers come in the order of the questions.
#[derive(Debug, Clone, PartialEq)]
pub enum Answer {
    /// The document, if there is one.
    Document(Option<Row>),
    /// The target of a reference, if there is one: number, public id, kind.
    Target(Option<Target>),
    /// Kinds that refer to a document.
    Referrers(Vec<KindId>),
    /// What was reached over ties.
    Reached(Reached),
    /// Whether a document passed a test.
    Passed(Passed),
    /// The version of clients and their rights.
    AccessVersion(i64),
    /// Rows of a statement.
    Rows(Vec<Vec<Value>>),
}

/// The pure middle of a plan.
///
/// It can be cloned, so that an engine may restart a plan from its beginning: after another plan's
/// error, after a lost connection, or when it reads what an earlier plan has written.
pub trait Decide: Clone + Send + 'static {
    /// The caller's result when the plan is done.
    type Done: Send + 'static;
    /// The caller's reason for refusing; the store knows no domain.
    type Refusal: Send + 'static;

    /// Decides on the answers, one per question and in order.
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

/// The outcome of a decision.
#[derive(Debug, Clone, PartialEq)]
pub enum Decision<T, E> {
    /// Write this, all of it or none. An empty list writes nothing.
    Write(Vec<Write>, T),
    /// Ask these questions; the number of rounds is bounded.
    Ask(Vec<Ask>),
    /// Refuse; nothing is written.
    Refuse(E),
}

/// Most rounds of questions that one plan may take.
pub const ROUNDS_MAX: usize = 8;

/// A document to be created, or to replace another.
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
    /// Its references and its marks.
    pub references: References,
    /// The ties that it makes, without duplicates.
    pub ties: Vec<Tie>,
    /// Time of the change, in microseconds since 1970.
    pub modified: i64,
}

/// The record of a deleted document.
#[derive(Debug, Clone, PartialEq)]
pub struct Tombstone {
    /// Key values as JSON.
    pub key_values: String,
    /// Time of the deletion, in microseconds since 1970.
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
        /// The ties that it makes now.
        old_ties: Vec<Tie>,
        /// The new document; `uuid`, `kind`, `key` and `alias` stay as stored.
        new: NewDocument,
    },
    /// Removes a document, with its identity under its abstract base, if it has one.
    Delete {
        /// The document as it was found.
        row: Box<Row>,
        /// The ties that it makes.
        ties: Vec<Tie>,
        /// The record to keep of it.
        tombstone: Tombstone,
    },
    /// A change of a part's own tables, such as jobs: neither documents nor ties nor rights. What is
    /// remembered about those stays remembered.
    Part(Sql),
    /// A change of rows of one lane. The statement changes no other rows.
    Rows(PartRows, Sql),
    /// Anything else.
    Sql(Sql),
}

impl Write {
    /// Returns whether a plan of a lane may write this: rows of the lane, or of a later one.
    pub(crate) fn keeps_to(&self, lane: Lane) -> bool {
        matches!(self, Self::Rows(rows, _) if rows.lane() >= lane)
    }
}

/// A plan that was executed and is durable.
#[derive(Debug, Clone, PartialEq)]
pub struct Ran<T> {
    /// Result of the decision.
    pub value: T,
    /// Change version of the written documents; 0 where none was written.
    pub change_version: i64,
}

/// A plan that was not executed; nothing was written.
#[derive(Debug, Clone)]
pub enum Refused<E> {
    /// The decision refused.
    Decision(E),
    /// The store failed.
    Store(StoreError),
}

impl<E> From<StoreError> for Refused<E> {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}
