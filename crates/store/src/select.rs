//! Lists and counts: chooses the index that finds the documents, and limits the size of a page.
//! Both databases share this logic and only supply the rows.

mod bounds;
mod condition;
mod driver;
mod numbers;
mod source;
mod statement;
pub(crate) mod through;

use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use self::bounds::run_size;
use self::driver::driver;
use self::numbers::{first, kind, one, sql};
use crate::error::StoreError;
use crate::id::{DocumentId, KindId};
use crate::list::{ListQuery, Page};
use crate::row::BLOCK_BITS;
use crate::store::ListRequest;

pub(crate) use source::{Bytes, Head, Source};
pub(crate) use statement::{Driver, Statement};

/// Returns the value of a future that is ready at once, such as one that reads a file.
pub(crate) fn at_once<T>(future: impl Future<Output = T>) -> T {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => value,
        Poll::Pending => unreachable!("a read of a file waits for nobody"),
    }
}

/// Returns whether a list is one statement, not several that must see the same state.
pub(crate) fn is_one_statement(query: &ListQuery) -> bool {
    !query.is_bounded()
        && (query.is_pointed()
            || (query.skip == 0 && query.changed.is_none() && query.targets.len() < 2))
}

/// Runs a list query.
pub(crate) async fn list<S: Source>(source: &S, query: &ListQuery) -> Result<Page, S::Error> {
    if query.limit == 0 || query.finds_nothing() {
        return Ok(Page::default());
    }
    if query.is_bounded() {
        return bounds::page(source, query).await;
    }
    let mut query = query.clone();
    if query.is_plain() && query.skip > 0 {
        match id_after_skipping(source, query.kind, query.after, query.skip).await? {
            Some(after) => (query.after, query.skip) = (after, 0),
            None => return Ok(Page::default()),
        }
    }
    let driver = driver(source, &query).await?;
    let page = page(source, &query, driver).await?;
    if driver == Driver::Walk
        && page.rows.len() < usize::try_from(query.limit).unwrap_or(usize::MAX)
    {
        return self::page(source, &query, Driver::Changes).await;
    }
    Ok(page)
}

async fn page<S: Source>(source: &S, query: &ListQuery, driver: Driver) -> Result<Page, S::Error> {
    let statement = Statement::page(S::DIALECT, query, driver);
    let mut rows = source.documents(&statement, &mut Bytes::default()).await?;
    // The order is already right, but it must not depend on how a join is executed.
    rows.sort_unstable_by_key(|row| row.id);
    Ok(Page { rows, is_cut: false })
}

/// A source of requests.
pub(crate) trait Asks: Send {
    /// Returns the next request; [`None`] after the last.
    fn next(&mut self) -> impl Future<Output = Option<ListRequest>> + Send;
}

/// Answers requests until there are no more. `small` maps an error after which the transaction can
/// still be used (an answer too large for a page); any other error ends it.
pub(crate) async fn serve<S: Source>(
    source: &S,
    small: impl Fn(S::Error) -> Result<StoreError, S::Error>,
    mut requests: impl Asks,
) -> Result<(), S::Error> {
    while let Some(request) = requests.next().await {
        // Nobody waits for an answer that cannot be given.
        match request {
            ListRequest::Page(query, reply) => {
                let page = list(source, &query).await;
                _ = reply
                    .send(page.map_or_else(|error| small(error).map(Err), |page| Ok(Ok(page)))?);
            }
            ListRequest::Count(query, reply) => {
                let count = count(source, &query).await;
                _ = reply
                    .send(count.map_or_else(|error| small(error).map(Err), |count| Ok(Ok(count)))?);
            }
        }
    }
    Ok(())
}

/// Returns an error after which reading can continue, a page that is too large, as [`Ok`]; returns
/// any other as [`Err`].
pub(crate) fn too_large(error: StoreError) -> Result<StoreError, StoreError> {
    if matches!(error, StoreError::TooLarge { .. }) { Ok(error) } else { Err(error) }
}

/// Counts what a list query would give without `skip` and `limit`.
pub(crate) async fn count<S: Source>(source: &S, query: &ListQuery) -> Result<u64, S::Error> {
    if query.finds_nothing() {
        return Ok(0);
    }
    if query.is_bounded() {
        return bounds::count(source, query).await;
    }
    if query.is_kept_count() {
        // In PostgreSQL the sum of whole numbers is of a type for fractions.
        let text = "SELECT CAST(coalesce(sum(n), 0) AS bigint) FROM tally WHERE kind = ?1";
        return one(source, text, vec![kind(query.kind)]).await;
    }
    let driver = match driver(source, query).await? {
        Driver::Walk | Driver::Creation if query.changed.is_some() => Driver::Changes,
        driver => driver,
    };
    Ok(first(source.numbers(&Statement::count(S::DIALECT, query, driver)).await?)?)
}

/// Divides a list query, without `skip` and `limit`, into at most `parts` runs of equal size, of which
/// only the last may be smaller than the others or than `smallest`. Returns the last id of each run
/// except the last, or [`None`] where the list is empty.
pub(crate) async fn cuts<S: Source>(
    source: &S,
    query: &ListQuery,
    parts: u64,
    smallest: u64,
) -> Result<Option<Vec<DocumentId>>, S::Error> {
    if query.finds_nothing() {
        return Ok(None);
    }
    if !query.is_kept_count() {
        return bounds::cuts(source, query, parts, smallest).await;
    }
    let total = count(source, query).await?;
    if total == 0 {
        return Ok(None);
    }
    let size = run_size(total, parts, smallest);
    let mut cuts = vec![];
    for run in 1..total.div_ceil(size) {
        cuts.extend(id_after_skipping(source, query.kind, DocumentId(0), run * size).await?);
    }
    Ok(Some(cuts))
}

/// Returns the id of the last of the first `skip` documents after `after`, or [`None`] if there are
/// fewer. Whole blocks are skipped by their stored counts; only the last block is scanned.
async fn id_after_skipping<S: Source>(
    source: &S,
    of: KindId,
    after: DocumentId,
    skip: u64,
) -> Result<Option<DocumentId>, S::Error> {
    let mut left = i64::try_from(skip).unwrap_or(i64::MAX);
    let mut from = after.0;
    if from == 0 {
        let blocks = "SELECT block, n FROM tally WHERE kind = ?1 ORDER BY block";
        for row in source.numbers(&sql(blocks, vec![kind(of)])).await? {
            let [block, n] = row[..] else { continue };
            if n >= left {
                from = (block << BLOCK_BITS) - 1;
                break;
            }
            left -= n;
            from = ((block + 1) << BLOCK_BITS) - 1;
        }
    }
    let text = format!(
        "SELECT id FROM doc{} WHERE kind = ?1 AND id > ?2 ORDER BY id LIMIT 1 OFFSET ?3",
        S::DIALECT.by_index("doc_kind_id")
    );
    let arguments = vec![kind(of), from.into(), (left - 1).into()];
    let found = source.numbers(&Statement { text, arguments }).await?;
    Ok(found.first().and_then(|row| row.first()).copied().map(DocumentId))
}
