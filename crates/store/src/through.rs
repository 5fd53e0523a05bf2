//! Tests of a document by its text and by the documents that refer to it, and of what leads to such
//! a document.

use std::fmt;
use std::sync::Arc;

use crate::id::{KindId, NaturalKey};
use crate::list::Condition;
use crate::row::Row;

/// A test of a stored document.
#[derive(Debug, Clone, PartialEq)]
pub enum DocumentTest {
    /// All of these hold.
    All(Vec<Self>),
    /// One of these holds.
    Any(Vec<Self>),
    /// The text meets a condition.
    Says(Condition),
    /// Whether there is a value at a path, `$.a.b`.
    Has {
        /// JSON path.
        path: String,
        /// Whether there must be one; else there must be none.
        is_there: bool,
    },
    /// An item of a list passes; to the test, the item is the document.
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
        /// Values that must be the same in both texts, for kinds that may refer to a document from
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
    /// JSON path in the text of the document that is referred to, by its kind; where there is
    /// more than one, documents of other kinds share nothing.
    pub own: Vec<(KindId, String)>,
    /// Whether ASCII case is ignored.
    pub fold: bool,
}

impl DocumentTest {
    /// Whether it looks at the documents that refer to the tested one.
    pub(crate) fn has_referrers(&self) -> bool {
        match self {
            Self::All(tests) | Self::Any(tests) => tests.iter().any(Self::has_referrers),
            Self::Referrer { .. } => true,
            Self::Says(_) | Self::Has { .. } | Self::Item { .. } => false,
        }
    }
}

/// How a document stands to a test.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Passed {
    /// Whether it is there and passes.
    pub is_passed: bool,
    /// Its number, if it is there.
    pub(crate) document: Option<i64>,
    /// Whether the documents that refer to it were looked at.
    pub(crate) by_referrers: bool,
}

/// A restriction of a list: what a document leads to must pass a test.
#[derive(Debug, Clone, PartialEq)]
pub struct Through {
    /// What it leads to; a document that leads to nothing does not pass.
    pub to: LeadsTo,
    /// The test.
    pub test: Arc<DocumentTest>,
}

/// What a document leads to.
#[derive(Debug, Clone, PartialEq)]
pub enum LeadsTo {
    /// The document itself.
    Itself,
    /// The document whose number is the mark at this place.
    Mark(usize),
    /// The document of an identity that its text gives.
    Key(KeyOf),
}

/// How a document's text gives the identity of another.
#[derive(Clone)]
pub struct KeyOf(Arc<Names>);

type Names = dyn Fn(&Row) -> Option<NaturalKey> + Send + Sync;

impl KeyOf {
    /// By a pure function of the document.
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
