//! Tests of a document by its text and by the documents that refer to it, and tests of what a
//! document leads to.

use std::fmt;
use std::sync::Arc;

use crate::condition::Condition;
use crate::id::{KindId, NaturalKey};
use crate::row::Row;

/// A test of a stored document.
#[derive(Debug, Clone, PartialEq)]
pub enum DocumentTest {
    /// All of these pass.
    All(Vec<Self>),
    /// One of these passes.
    Any(Vec<Self>),
    /// The text satisfies a condition.
    Says(Condition),
    /// A value at a path, `$.a.b`, is present or absent.
    Has {
        /// JSON path.
        path: String,
        /// Whether the value must be present; otherwise it must be absent.
        is_there: bool,
    },
    /// An item of a list passes; the test treats the item as the document.
    Item {
        /// JSON path of the list.
        path: String,
        /// The test of the item.
        test: Box<Self>,
    },
    /// A document of a kind refers to this one and passes.
    Referrer {
        /// The kind.
        kind: KindId,
        /// Values that must be equal in both texts, for kinds that may refer to a document from
        /// several places.
        same: Vec<SameValue>,
        /// The test of the referrer.
        test: Box<Self>,
    },
}

/// A value that two texts share.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SameValue {
    /// JSON path in the text of the referrer.
    pub theirs: String,
    /// JSON path in the text of the referenced document, by its kind. Where there is more than one,
    /// documents of other kinds share nothing.
    pub own: Vec<(KindId, String)>,
    /// Whether ASCII case is ignored.
    pub fold: bool,
}

impl DocumentTest {
    /// Returns whether it examines the documents that refer to the tested one.
    pub(crate) fn has_referrers(&self) -> bool {
        match self {
            Self::All(tests) | Self::Any(tests) => tests.iter().any(Self::has_referrers),
            Self::Referrer { .. } => true,
            Self::Says(_) | Self::Has { .. } | Self::Item { .. } => false,
        }
    }
}

/// The result of a test.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Passed {
    /// Whether the document exists and passes.
    pub is_passed: bool,
    /// The document's number, if it exists.
    pub(crate) document: Option<i64>,
    /// Whether the documents that refer to it were examined.
    pub(crate) by_referrers: bool,
}

/// A restriction of a list: the document that each one leads to must pass a test.
#[derive(Debug, Clone, PartialEq)]
pub struct Through {
    /// Which document it leads to; one that leads to none does not pass.
    pub to: LeadsTo,
    /// The test.
    pub test: Arc<DocumentTest>,
}

/// How a document leads to another.
#[derive(Debug, Clone, PartialEq)]
pub enum LeadsTo {
    /// To the document itself.
    Itself,
    /// To the document whose number is the mark at this position.
    Mark(usize),
    /// To the document of an identity that its text contains.
    Key(KeyOf),
}

/// Computes the identity of another document from a document's text.
#[derive(Clone)]
pub struct KeyOf(Arc<Names>);

type Names = dyn Fn(&Row) -> Option<NaturalKey> + Send + Sync;

impl KeyOf {
    /// Wraps a pure function of the document.
    pub fn new(key: impl Fn(&Row) -> Option<NaturalKey> + Send + Sync + 'static) -> Self {
        Self(Arc::new(key))
    }

    pub(crate) fn of(&self, row: &Row) -> Option<NaturalKey> {
        (self.0)(row)
    }
}

impl PartialEq for KeyOf {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl fmt::Debug for KeyOf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("KeyOf")
    }
}
