//! Lists: queries and their pages.

use std::sync::Arc;

use crate::condition::Condition;
use crate::id::{DocumentId, KindId};
use crate::row::Row;
use crate::through::Through;
use crate::tie::Way;

/// Most bytes of documents on one page.
pub(crate) const PAGE_BYTES_MAX: usize = 64 << 20;
/// Most documents that a short list skips where kept counts do not help.
const SKIP_SHORT: u64 = 10_000;
/// Widest window of a short list, in change versions.
const WINDOW_SHORT: i64 = 20_000;

/// A page of documents of one kind, in order of creation.
#[derive(Debug, Clone, PartialEq)]
pub struct ListQuery {
    /// The kind of the documents.
    pub kind: KindId,
    /// Only documents after this one.
    pub after: DocumentId,
    /// Only documents up to this one, inclusive.
    pub upto: DocumentId,
    /// Only documents changed within these versions, inclusive.
    pub changed: Option<(i64, i64)>,
    /// Only documents that refer to all of these.
    pub targets: Vec<DocumentId>,
    /// Only documents that are among these, or refer to one of them.
    pub among: Option<Among>,
    /// Only documents that meet all of these.
    pub conditions: Vec<Condition>,
    /// Only documents whose marks satisfy these bounds.
    pub bounds: Bounds,
    /// Only documents that lead to a document that passes, for each of these.
    pub through: Vec<Through>,
    /// How many documents to skip first.
    pub skip: u64,
    /// Most documents to return.
    pub limit: u32,
}

impl ListQuery {
    /// Returns a query for all documents of a kind.
    pub fn all(kind: KindId) -> Self {
        Self {
            kind,
            after: DocumentId(0),
            upto: DocumentId(i64::MAX),
            changed: None,
            targets: vec![],
            among: None,
            conditions: vec![],
            bounds: Bounds::default(),
            through: vec![],
            skip: 0,
            limit: u32::MAX,
        }
    }

    /// Returns whether only kind and range restrict it, so that kept counts apply.
    pub fn is_plain(&self) -> bool {
        self.changed.is_none()
            && self.targets.is_empty()
            && self.among.is_none()
            && self.conditions.is_empty()
            && !self.is_bounded()
    }

    /// Returns whether documents must be examined to know whether they belong to it.
    pub(crate) fn is_bounded(&self) -> bool {
        !self.bounds.is_none() || !self.through.is_empty()
    }

    /// Returns whether documents themselves must be read to know whether they match, besides what
    /// they refer to.
    pub(crate) fn needs_document(&self) -> bool {
        self.changed.is_some() || !self.conditions.is_empty()
    }

    /// Returns whether its count is kept.
    pub(crate) fn is_kept_count(&self) -> bool {
        self.is_plain() && self.after.0 == 0 && self.upto.0 == i64::MAX
    }

    /// Returns whether documents have to be read to know whether they match: by their text, or
    /// by what leads to them.
    pub fn is_restricted(&self) -> bool {
        !self.conditions.is_empty() || !self.through.is_empty()
    }

    /// Returns whether it selects at most one document.
    pub(crate) fn is_pointed(&self) -> bool {
        self.conditions.iter().any(|c| matches!(c, Condition::Key(_) | Condition::Uuid(_)))
    }

    /// Returns whether no document can match it.
    pub(crate) fn finds_nothing(&self) -> bool {
        self.conditions.contains(&Condition::Never)
    }

    /// Returns whether a page of it may have to examine very many documents; `newest` is the newest
    /// change version.
    pub(crate) fn is_long_list(&self, newest: i64) -> bool {
        if self.is_pointed() || self.finds_nothing() {
            return false;
        }
        let (is_kept, is_deep) = (self.is_plain() && self.after.0 == 0, self.skip > SKIP_SHORT);
        let is_wide = self
            .changed
            .is_some_and(|(min, max)| max.min(newest).saturating_sub(min.max(0)) >= WINDOW_SHORT);
        self.is_restricted() || (is_deep && !is_kept) || is_wide
    }

    /// Returns whether counting it may have to examine very many documents.
    pub(crate) fn is_long_count(&self) -> bool {
        !(self.is_kept_count() || self.is_pointed() || self.finds_nothing())
    }
}

/// Which documents a list is confined to.
#[derive(Debug, Clone, PartialEq)]
pub enum Among {
    /// The list is confined to these documents.
    Documents(Arc<[DocumentId]>),
    /// The list is confined to documents that refer to at least one of these.
    Referrers(Arc<[DocumentId]>),
}

/// Bounds of a list by its documents' marks. In every group one alternative must hold, with all of
/// its tests. Without groups there are no bounds.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Bounds(pub Vec<Vec<Vec<MarkTest>>>);

impl Bounds {
    /// Returns whether every document satisfies them.
    pub fn is_none(&self) -> bool {
        self.0.is_empty()
    }
}

/// A test of one of a document's marks. An absent mark fails.
#[derive(Debug, Clone, PartialEq)]
pub enum MarkTest {
    /// The mark is one of these numbers.
    OneOf {
        /// Position of the mark.
        mark: usize,
        /// The numbers.
        numbers: Arc<[i64]>,
    },
    /// One of these numbers is reached from the mark. Where the way has no steps, the mark may also
    /// be one of them.
    Reaches {
        /// Position of the mark.
        mark: usize,
        /// The way to follow.
        way: Way,
        /// The numbers.
        numbers: Arc<[i64]>,
        /// The document to look at for the mark.
        leads: Leads,
    },
    /// The mark is reached from one of these numbers over a label, or is one of them.
    ReachedFrom {
        /// Position of the mark.
        mark: usize,
        /// The label.
        label: KindId,
        /// The numbers.
        numbers: Arc<[i64]>,
        /// The document to look at for the mark.
        leads: Leads,
    },
}

impl MarkTest {
    /// Returns the position of the mark.
    pub(crate) fn mark(&self) -> usize {
        match self {
            Self::OneOf { mark, .. }
            | Self::Reaches { mark, .. }
            | Self::ReachedFrom { mark, .. } => *mark,
        }
    }
}

/// How a mark leads to the document that is tested: the one with that number if the test's way has
/// steps, otherwise the one that ties the number to itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Leads {
    /// The document that has the mark.
    Itself,
    /// A document that the one with the mark refers to.
    Reference,
}

/// One page of a list.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Page {
    /// Documents in order of creation.
    pub rows: Vec<Row>,
    /// Whether the page was cut for its size: more documents follow the last one.
    pub is_cut: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_that_may_scan_very_many_documents_count_as_long() {
        let all = || ListQuery::all(KindId(1));
        let text = Condition::Text { paths: vec![], value: String::new(), fold: false };
        let key = Condition::Key(crate::NaturalKey([1; 16]));
        let targets = || vec![DocumentId(1)];
        for (what, query, is_long) in [
            ("plain", all(), false),
            ("deep, by kept counts", ListQuery { skip: 1_000_000, ..all() }, false),
            ("deep in a run", ListQuery { skip: 10_001, after: DocumentId(1), ..all() }, true),
            ("by a target", ListQuery { targets: targets(), ..all() }, false),
            ("by a target, deep", ListQuery { targets: targets(), skip: 10_001, ..all() }, true),
            ("a narrow window", ListQuery { changed: Some((5, 20_004)), ..all() }, false),
            ("a wide window", ListQuery { changed: Some((5, 20_005)), ..all() }, true),
            ("the newest changes", ListQuery { changed: Some((90_000, i64::MAX)), ..all() }, false),
            (
                "a narrow window, deep",
                ListQuery { changed: Some((5, 6)), skip: 10_001, ..all() },
                true,
            ),
            ("a text", ListQuery { conditions: vec![text.clone()], ..all() }, true),
            ("a key", ListQuery { conditions: vec![text, key], skip: 10_001, ..all() }, false),
            ("nothing", ListQuery { conditions: vec![Condition::Never], ..all() }, false),
        ] {
            assert_eq!(query.is_long_list(100_000), is_long, "{what}");
        }
    }
}
