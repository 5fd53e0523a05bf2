//! Lists: what is asked, what comes back.

use crate::id::{DocumentId, KindId};
use crate::row::Row;

/// A page of documents of one kind, in order of creation.
#[derive(Debug, Clone, PartialEq)]
pub struct ListQuery {
    /// Kind.
    pub kind: KindId,
    /// Only documents after this one.
    pub after: DocumentId,
    /// Only documents up to and with this one.
    pub upto: DocumentId,
    /// Only documents changed within these versions, inclusive.
    pub changed: Option<(i64, i64)>,
    /// Only documents that refer to all of these.
    pub targets: Vec<DocumentId>,
    /// Only documents that meet all of these.
    pub conditions: Vec<Condition>,
    /// How many to pass over first.
    pub skip: u64,
    /// How many to give at most.
    pub limit: u32,
}

impl ListQuery {
    /// All documents of a kind.
    pub fn all(kind: KindId) -> Self {
        Self {
            kind,
            after: DocumentId(0),
            upto: DocumentId(i64::MAX),
            changed: None,
            targets: vec![],
            conditions: vec![],
            skip: 0,
            limit: u32::MAX,
        }
    }

    /// Whether nothing but kind and range restricts it, so that counts are kept for it.
    pub fn is_plain(&self) -> bool {
        self.changed.is_none() && self.targets.is_empty() && self.conditions.is_empty()
    }
}

/// A test of a document's text. Several paths: any may meet it.
#[derive(Debug, Clone, PartialEq)]
pub enum Condition {
    /// The value at a path, `$.a.b`, is this text; `fold` ignores ASCII case.
    Text {
        /// JSON paths.
        paths: Vec<String>,
        /// The text.
        value: String,
        /// Whether case is ignored.
        fold: bool,
    },
    /// The value at a path is this number.
    Number {
        /// JSON paths.
        paths: Vec<String>,
        /// The number.
        value: f64,
    },
    /// The value at a path is this whole number.
    Integer {
        /// JSON paths.
        paths: Vec<String>,
        /// The number.
        value: i64,
    },
    /// The value at a path is true or false.
    Boolean {
        /// JSON paths.
        paths: Vec<String>,
        /// The value.
        value: bool,
    },
    /// The text at a path begins with one of these.
    StartsWith {
        /// JSON path.
        path: String,
        /// Beginnings.
        prefixes: Vec<String>,
    },
    /// The document's public id.
    Uuid(crate::id::Uuid),
    /// The document's identity.
    Key(crate::id::NaturalKey),
    /// Nothing meets it.
    Never,
}

/// What a list gives.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Page {
    /// Documents in order of creation.
    pub rows: Vec<Row>,
}
