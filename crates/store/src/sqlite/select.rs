//! Lists and counts: which index finds them, how far a page may go.

mod condition;
mod statement;

use rusqlite::{Connection, OptionalExtension, params, params_from_iter};

use crate::error::StoreError;
use crate::id::{DocumentId, KindId};
use crate::list::{ListQuery, PAGE_BYTES_MAX, Page};
use crate::sqlite::BLOCK_BITS;
use crate::sqlite::probe::document;
use crate::sqlite::select::statement::{Driver, Statement, WALK_MAX};

/// Change windows up to this many documents are sorted at once.
const WINDOW_SMALL: i64 = 20_000;

/// Runs a list query.
pub(crate) fn list(connection: &Connection, query: &ListQuery) -> Result<Page, StoreError> {
    if query.limit == 0 || query.finds_nothing() {
        return Ok(Page::default());
    }
    // Several statements, one state of the store.
    let connection = &*connection.unchecked_transaction()?;
    let mut query = query.clone();
    if query.is_plain() && query.skip > 0 {
        match id_after_skipping(connection, query.kind, query.after, query.skip)? {
            Some(after) => (query.after, query.skip) = (after, 0),
            None => return Ok(Page::default()),
        }
    }
    let driver = driver(connection, &query)?;
    let page = page(connection, &query, driver)?;
    if driver == Driver::Walk
        && page.rows.len() < usize::try_from(query.limit).unwrap_or(usize::MAX)
    {
        return self::page(connection, &query, Driver::Changes);
    }
    Ok(page)
}

fn page(connection: &Connection, query: &ListQuery, driver: Driver) -> Result<Page, StoreError> {
    let Statement { text, arguments } = Statement::page(query, driver);
    let mut statement = connection.prepare_cached(&text)?;
    let mut page = Page::default();
    let mut bytes = 0;
    for row in statement.query_map(params_from_iter(&arguments), document)? {
        let row = row?;
        bytes += row.body.len() + row.references.len();
        if bytes > PAGE_BYTES_MAX {
            return Err(StoreError::TooLarge { bytes_max: PAGE_BYTES_MAX });
        }
        page.rows.push(row);
    }
    // They come so; a list's order must not hang on the way a join is run.
    page.rows.sort_unstable_by_key(|row| row.id);
    Ok(page)
}

/// Counts what a list query would give without `skip` and `limit`.
pub(crate) fn count(connection: &Connection, query: &ListQuery) -> Result<u64, StoreError> {
    if query.finds_nothing() {
        return Ok(0);
    }
    if query.is_kept_count() {
        let n: i64 = connection
            .prepare_cached("SELECT coalesce(sum(n), 0) FROM tally WHERE kind = ?1")?
            .query_row([query.kind.0], |row| row.get(0))?;
        return Ok(n.unsigned_abs());
    }
    let driver = match driver(connection, query)? {
        Driver::Walk | Driver::Creation if query.changed.is_some() => Driver::Changes,
        driver => driver,
    };
    let Statement { text, arguments } = Statement::count(query, driver);
    let n: i64 = connection
        .prepare_cached(&text)?
        .query_row(params_from_iter(&arguments), |row| row.get(0))?;
    Ok(n.unsigned_abs())
}

/// Cuts a kind's documents into at most `parts` runs of about equal size, none smaller than
/// `smallest`; gives the last id of each run but the last.
pub(crate) fn cuts(
    connection: &Connection,
    kind: KindId,
    parts: u64,
    smallest: u64,
) -> Result<Vec<DocumentId>, StoreError> {
    let total = count(connection, &ListQuery::all(kind))?;
    let runs = (total / smallest.max(1)).min(parts).max(1);
    let mut cuts = vec![];
    for run in 1..runs {
        let upto = u128::from(total) * u128::from(run) / u128::from(runs);
        let upto = u64::try_from(upto).unwrap_or(total);
        cuts.extend(id_after_skipping(connection, kind, DocumentId(0), upto)?);
    }
    Ok(cuts)
}

/// The id of the last of the first `skip` documents after `after`: whole blocks are passed over by
/// their counts, only the last is walked. [`None`] where fewer are left.
fn id_after_skipping(
    connection: &Connection,
    kind: KindId,
    after: DocumentId,
    skip: u64,
) -> Result<Option<DocumentId>, StoreError> {
    let mut left = i64::try_from(skip).unwrap_or(i64::MAX);
    let mut from = after.0;
    if from == 0 {
        let mut blocks = connection
            .prepare_cached("SELECT block, n FROM tally WHERE kind = ?1 ORDER BY block")?;
        let mut rows = blocks.query([kind.0])?;
        while let Some(row) = rows.next()? {
            let (block, n): (i64, i64) = (row.get(0)?, row.get(1)?);
            if n >= left {
                from = (block << BLOCK_BITS) - 1;
                break;
            }
            left -= n;
            from = ((block + 1) << BLOCK_BITS) - 1;
        }
    }
    let id = connection
        .prepare_cached(
            "SELECT id FROM doc INDEXED BY doc_kind_id
             WHERE kind = ?1 AND id > ?2 ORDER BY id LIMIT 1 OFFSET ?3",
        )?
        .query_row(params![kind.0, from, left - 1], |row| row.get(0))
        .optional()?;
    Ok(id.map(DocumentId))
}

/// Which index finds the documents of a page with the least work.
fn driver(connection: &Connection, query: &ListQuery) -> Result<Driver, StoreError> {
    if query.is_pointed() {
        return Ok(Driver::Identity);
    }
    if let Some(target) = narrowest(connection, query)? {
        return Ok(Driver::Referrers(target));
    }
    let Some(window) = query.changed else { return Ok(Driver::Creation) };
    let wanted = query.skip.saturating_add(query.limit.into());
    Ok(if window_is_small(connection, query.kind, window)? {
        Driver::Changes
    } else if !query.conditions.is_empty() {
        Driver::Creation
    } else if wanted <= WALK_MAX.unsigned_abs() {
        Driver::Walk
    } else {
        Driver::Changes
    })
}

/// The target with the fewest referrers of the kind, looked at up to 1,000 of each.
fn narrowest(connection: &Connection, query: &ListQuery) -> Result<Option<DocumentId>, StoreError> {
    if query.targets.len() < 2 {
        return Ok(query.targets.first().copied());
    }
    let mut count = connection.prepare_cached(
        "SELECT count(*) FROM (SELECT 1 FROM ref WHERE target = ?1 AND kind = ?2 LIMIT 1000)",
    )?;
    let mut best = None;
    for target in &query.targets {
        let n: i64 = count.query_row(params![target.0, query.kind.0], |row| row.get(0))?;
        if best.is_none_or(|(least, _)| n < least) {
            best = Some((n, *target));
        }
    }
    Ok(best.map(|(_, target)| target))
}

fn window_is_small(
    connection: &Connection,
    kind: KindId,
    (min, max): (i64, i64),
) -> Result<bool, StoreError> {
    let n: i64 = connection
        .prepare_cached(
            "SELECT count(*) FROM (SELECT 1 FROM doc INDEXED BY doc_kind_cv
             WHERE kind = ?1 AND cv BETWEEN ?2 AND ?3 LIMIT ?4)",
        )?
        .query_row(params![kind.0, min, max, WINDOW_SMALL + 1], |row| row.get(0))?;
    Ok(n <= WINDOW_SMALL)
}

#[cfg(test)]
mod tests;
