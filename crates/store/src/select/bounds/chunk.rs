//! The chunks in which a list with bounds is examined.

use std::collections::HashMap;

use crate::error::StoreError;
use crate::id::DocumentId;
use crate::list::ListQuery;
use crate::row::{Row, columns};
use crate::select::Statement;
use crate::select::source::{Bytes, Source};

/// Most documents that are examined at once.
pub(super) const CHUNK_MAX: usize = 16_384;

/// Fewest documents that are examined at once.
pub(super) const CHUNK_MIN: usize = 256;

/// How many more documents a walk has to find.
pub(super) struct More {
    /// Those that are only passed over or counted, which come first.
    pub(super) before: usize,
    /// Those of the page.
    pub(super) page: usize,
}

impl More {
    /// As many as there are.
    pub(super) const ALL: Self = Self { before: CHUNK_MAX, page: 0 };

    /// Returns whether there is nothing left to find.
    pub(super) fn is_none(&self) -> bool {
        self.before == 0 && self.page == 0
    }
}

/// Returns documents by their numbers, in order; it is an error if they do not all fit into `bytes`.
pub(super) async fn rows<S: Source>(
    source: &S,
    ids: &[i64],
    bytes: &mut Bytes,
) -> Result<Vec<Row>, S::Error> {
    if ids.is_empty() {
        return Ok(vec![]);
    }
    let text = format!(
        "SELECT {} FROM {} i {}",
        columns("d"),
        S::DIALECT.numbers("?1"),
        S::DIALECT.each("doc", "d", "d.id = i.x")
    );
    let arguments = vec![S::DIALECT.list(ids.iter().copied())];
    let statement = Statement { text, arguments };
    let mut rows = source.documents(&statement, bytes).await?;
    rows.sort_unstable_by_key(|row| row.id);
    Ok(rows)
}

/// Returns numbers, grouped by the number to which they belong.
pub(super) async fn pairs<S: Source>(
    source: &S,
    statement: &Statement,
) -> Result<HashMap<i64, Vec<i64>>, S::Error> {
    let mut pairs: HashMap<i64, Vec<i64>> = HashMap::new();
    for row in source.numbers(statement).await? {
        let [one, other] = row[..] else {
            return Err(StoreError::Failed("a statement gave other columns".into()).into());
        };
        pairs.entry(one).or_default().push(other);
    }
    Ok(pairs)
}

/// Returns the query for the rest of a scan, after a document.
pub(super) fn after(query: &ListQuery, id: i64) -> ListQuery {
    ListQuery { after: DocumentId(id.max(query.after.0)), ..query.clone() }
}
