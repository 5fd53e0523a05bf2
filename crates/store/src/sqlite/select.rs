//! Lists and counts in the file.

use rusqlite::{Connection, params_from_iter};

use crate::dialect::Dialect;
use crate::error::StoreError;
use crate::id::DocumentId;
use crate::list::{ListQuery, Page};
use crate::row::{References, Row};
use crate::select::{self, Asks, Statement, at_once};
use crate::select::{Bytes, Head, Source};
use crate::sqlite::probe::document;
use crate::store::{ListRequest, ListRequests};
use crate::through::{DocumentTest, Passed};
use crate::tie::Start;

/// Runs a list query.
pub(crate) fn list(connection: &Connection, query: &ListQuery) -> Result<Page, StoreError> {
    // The query may take several statements, which must see one state of the store.
    let transaction = connection.unchecked_transaction()?;
    at_once(select::list(&File(&transaction), query))
}

/// Counts the documents of a list query, ignoring `skip` and `limit`.
pub(crate) fn count(connection: &Connection, query: &ListQuery) -> Result<u64, StoreError> {
    let transaction = connection.unchecked_transaction()?;
    at_once(select::count(&File(&transaction), query))
}

/// Requests that a thread waits for.
struct BlockingRequests<'r>(&'r mut ListRequests);

impl Asks for BlockingRequests<'_> {
    fn next(&mut self) -> impl Future<Output = Option<ListRequest>> + Send {
        std::future::ready(self.0.blocking_recv())
    }
}

/// Answers requests on one state of the store, until there are no more.
pub(crate) fn serve(
    connection: &Connection,
    requests: &mut ListRequests,
) -> Result<(), StoreError> {
    let transaction = connection.unchecked_transaction()?;
    at_once(select::serve(&File(&transaction), select::too_large, BlockingRequests(requests)))
}

/// Cuts a kind's documents into runs; gives the last id of each run but the last.
pub(crate) fn cuts(
    connection: &Connection,
    query: &ListQuery,
    parts: u64,
    smallest: u64,
) -> Result<Option<Vec<DocumentId>>, StoreError> {
    at_once(select::cuts(&File(connection), query, parts, smallest))
}

/// Tests documents; the results are in the order of `starts`.
pub(crate) fn pass(
    connection: &Connection,
    starts: &[Start],
    test: &DocumentTest,
) -> Result<Vec<Passed>, StoreError> {
    at_once(select::through::look(&File(connection), starts, test))
}

/// Tests one document.
pub(crate) fn passed(
    connection: &Connection,
    start: Start,
    test: &DocumentTest,
) -> Result<Passed, StoreError> {
    Ok(pass(connection, &[start], test)?.pop().unwrap_or_default())
}

struct File<'a>(&'a Connection);

impl Source for File<'_> {
    type Error = StoreError;

    const DIALECT: Dialect = Dialect::Sqlite;

    const ENDS_EARLY: bool = true;

    async fn documents(&self, sql: &Statement, bytes: &mut Bytes) -> Result<Vec<Row>, StoreError> {
        let mut statement = self.0.prepare_cached(&sql.text)?;
        let mut rows = vec![];
        for row in statement.query_map(params_from_iter(&sql.arguments), document)? {
            let row = row?;
            if !bytes.add(&row)? {
                break;
            }
            rows.push(row);
        }
        Ok(rows)
    }

    async fn heads(&self, sql: &Statement) -> Result<Vec<Head>, StoreError> {
        let mut statement = self.0.prepare_cached(&sql.text)?;
        let mut rows = statement.query(params_from_iter(&sql.arguments))?;
        let mut heads = vec![];
        while let Some(row) = rows.next()? {
            let packed = row.get_ref(1)?.as_blob().map_err(rusqlite::Error::from)?;
            heads.push((row.get(0)?, References::marks(packed).collect()));
        }
        heads.sort_unstable_by_key(|(id, _)| *id);
        Ok(heads)
    }

    async fn numbers(&self, sql: &Statement) -> Result<Vec<Vec<i64>>, StoreError> {
        let mut statement = self.0.prepare_cached(&sql.text)?;
        let columns = statement.column_count();
        let rows = statement.query_map(params_from_iter(&sql.arguments), |row| {
            (0..columns).map(|at| row.get(at)).collect()
        })?;
        Ok(rows.collect::<Result<_, _>>()?)
    }
}

#[cfg(test)]
mod tests;
