//! From a list query to SQL: which index drives, what filters.

use rusqlite::{Connection, OptionalExtension, params};

use crate::error::StoreError;
use crate::id::{DocumentId, KindId};
use crate::list::{Condition, ListQuery, Page};
use crate::sql::Value;
use crate::sqlite::BLOCK_BITS;
use crate::sqlite::probe::{COLUMNS, document};

/// Change windows up to this many documents are sorted by creation; larger ones are walked in
/// order of creation and filtered.
const WINDOW_SORTED_MAX: i64 = 20_000;

/// Runs a list query.
pub(crate) fn list(connection: &Connection, query: &ListQuery) -> Result<Page, StoreError> {
    if query.limit == 0 || query.conditions.contains(&Condition::Never) {
        return Ok(Page::default());
    }
    let mut query = query.clone();
    if query.is_plain() && query.skip > 0 {
        match id_after_skipping(connection, query.kind, query.after, query.skip)? {
            Some(after) => (query.after, query.skip) = (after, 0),
            None => return Ok(Page::default()),
        }
    }
    let Some(built) = Built::of(connection, &query)? else { return Ok(Page::default()) };
    let text = format!(
        "SELECT {} FROM {} WHERE {} ORDER BY {} LIMIT {} OFFSET {}",
        COLUMNS.split(", ").map(|c| format!("d.{c}")).collect::<Vec<_>>().join(", "),
        built.from,
        built.filter,
        built.order,
        query.limit,
        query.skip.min(i64::MAX.unsigned_abs()),
    );
    let mut statement = connection.prepare_cached(&text)?;
    let rows = statement
        .query_map(rusqlite::params_from_iter(&built.arguments), document)?
        .collect::<Result<_, _>>()?;
    Ok(Page { rows })
}

/// Counts what a list query would give without `skip` and `limit`.
pub(crate) fn count(connection: &Connection, query: &ListQuery) -> Result<u64, StoreError> {
    if query.conditions.contains(&Condition::Never) {
        return Ok(0);
    }
    if query.is_plain() && query.after.0 == 0 && query.upto.0 == i64::MAX {
        let n: i64 = connection
            .prepare_cached("SELECT coalesce(sum(n), 0) FROM tally WHERE kind = ?1")?
            .query_row([query.kind.0], |row| row.get(0))?;
        return Ok(n.unsigned_abs());
    }
    let Some(built) = Built::of(connection, query)? else { return Ok(0) };
    let text = format!("SELECT count(*) FROM {} WHERE {}", built.from, built.filter);
    let n: i64 = connection
        .prepare_cached(&text)?
        .query_row(rusqlite::params_from_iter(&built.arguments), |row| row.get(0))?;
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

struct Built {
    from: String,
    filter: String,
    order: &'static str,
    arguments: Vec<Value>,
}

impl Built {
    /// [`None`]: nothing can be found.
    fn of(connection: &Connection, query: &ListQuery) -> Result<Option<Self>, StoreError> {
        let mut arguments: Vec<Value> = vec![];
        let mut bind = |value: Value| {
            arguments.push(value);
            format!("?{}", arguments.len())
        };
        let kind = bind(i64::from(query.kind.0).into());
        let after = bind(query.after.0.into());
        let upto = bind(query.upto.0.into());
        let mut filter = vec![];
        let keyed =
            query.conditions.iter().any(|c| matches!(c, Condition::Key(_) | Condition::Uuid(_)));
        let (from, order) = if keyed {
            filter.push(format!("d.kind = {kind} AND +d.id > {after} AND +d.id <= {upto}"));
            ("doc d".to_owned(), "d.id")
        } else if let Some(driver) = narrowest(connection, query)? {
            let target = bind(driver.0.into());
            filter.push(format!(
                "r.target = {target} AND r.kind = {kind} AND r.source > {after} AND r.source <= {upto}"
            ));
            for other in query.targets.iter().filter(|target| **target != driver) {
                let other = bind(other.0.into());
                filter.push(format!(
                    "EXISTS (SELECT 1 FROM ref o WHERE o.target = {other} AND o.kind = {kind} AND o.source = r.source)"
                ));
            }
            ("ref r CROSS JOIN doc d ON d.id = r.source".to_owned(), "r.source")
        } else if query.changed.is_some() && window_is_small(connection, query)? {
            filter.push(format!("d.kind = {kind} AND +d.id > {after} AND +d.id <= {upto}"));
            ("doc d INDEXED BY doc_kind_cv".to_owned(), "d.id")
        } else {
            filter.push(format!("d.kind = {kind} AND d.id > {after} AND d.id <= {upto}"));
            ("doc d INDEXED BY doc_kind_id".to_owned(), "d.id")
        };
        if let Some((min, max)) = query.changed {
            filter.push(format!("d.cv BETWEEN {} AND {}", bind(min.into()), bind(max.into())));
        }
        for condition in &query.conditions {
            filter.push(condition_sql(condition, &mut bind));
        }
        Ok(Some(Self { from, filter: filter.join(" AND "), order, arguments }))
    }
}

fn condition_sql(condition: &Condition, bind: &mut impl FnMut(Value) -> String) -> String {
    let any = |paths: &[String],
               bind: &mut dyn FnMut(Value) -> String,
               test: &dyn Fn(String) -> String| {
        let tests: Vec<String> = paths
            .iter()
            .map(|path| test(format!("json_extract(d.body, {})", bind(path.as_str().into()))))
            .collect();
        format!("({})", tests.join(" OR "))
    };
    match condition {
        Condition::Text { paths, value, fold } => {
            let value = bind(value.as_str().into());
            any(paths, bind, &|found| {
                if *fold {
                    format!("lower({found}) = lower({value})")
                } else {
                    format!("{found} = {value}")
                }
            })
        }
        Condition::Number { paths, value } => {
            let value = bind(value.to_string().into());
            any(paths, bind, &|found| format!("{found} = CAST({value} AS REAL)"))
        }
        Condition::Integer { paths, value } => {
            let value = bind((*value).into());
            any(paths, bind, &|found| format!("{found} = {value}"))
        }
        Condition::Boolean { paths, value } => {
            let value = bind(i64::from(*value).into());
            any(paths, bind, &|found| format!("{found} = {value}"))
        }
        Condition::StartsWith { path, prefixes } => {
            let path = bind(path.as_str().into());
            let tests: Vec<String> = prefixes
                .iter()
                .map(|prefix| {
                    let length = i64::try_from(prefix.chars().count()).unwrap_or(i64::MAX);
                    let prefix = bind(prefix.as_str().into());
                    let length = bind(length.into());
                    format!("substr(json_extract(d.body, {path}), 1, {length}) = {prefix}")
                })
                .collect();
            if tests.is_empty() { "0".into() } else { format!("({})", tests.join(" OR ")) }
        }
        Condition::Uuid(uuid) => format!("d.uuid = {}", bind(uuid.0.to_vec().into())),
        Condition::Key(key) => format!("d.key = {}", bind(key.0.to_vec().into())),
        Condition::Never => "0".into(),
    }
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

fn window_is_small(connection: &Connection, query: &ListQuery) -> Result<bool, StoreError> {
    let Some((min, max)) = query.changed else { return Ok(false) };
    let n: i64 = connection
        .prepare_cached(
            "SELECT count(*) FROM (SELECT 1 FROM doc INDEXED BY doc_kind_cv
             WHERE kind = ?1 AND cv BETWEEN ?2 AND ?3 LIMIT ?4)",
        )?
        .query_row(params![query.kind.0, min, max, WINDOW_SORTED_MAX + 1], |row| row.get(0))?;
    Ok(n <= WINDOW_SORTED_MAX)
}
