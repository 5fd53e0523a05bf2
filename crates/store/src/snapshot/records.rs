//! What a snapshot gives besides documents.

use crate::id::{DocumentId, KindId, NaturalKey, Uuid};

/// Which documents are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Span {
    /// All documents, in order of creation.
    Whole,
    /// Documents changed after this change version, in order of their change.
    Since(i64),
}

/// One deletion.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Deleted {
    /// Change version of the deletion.
    pub change_version: i64,
    /// The kind of the deleted document.
    pub kind: KindId,
    /// Public id of the deleted document.
    pub uuid: Uuid,
    /// Hash of its identity.
    pub key: NaturalKey,
    /// Key values as JSON.
    pub key_values: String,
    /// Time of the deletion, in microseconds since 1970.
    pub modified: i64,
}

/// The identifiers of a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Identity {
    /// The document's number in the store.
    pub id: DocumentId,
    /// Its public id.
    pub uuid: Uuid,
    /// Its kind.
    pub kind: KindId,
    /// Hash of its identity.
    pub key: NaturalKey,
    /// Hash of its identity under its abstract base, if it has one.
    pub alias: Option<NaturalKey>,
}

/// One edge: a document refers to another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Edge {
    /// The document referred to.
    pub target: DocumentId,
    /// Kind of the referring document.
    pub kind: KindId,
    /// The referring document.
    pub source: DocumentId,
}
