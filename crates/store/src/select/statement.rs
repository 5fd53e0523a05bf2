//! The index that drives a list, and the resulting statement.

use crate::dialect::{Bind, Dialect};
use crate::id::DocumentId;
use crate::list::{Among, ListQuery};
use crate::row::{COLUMNS, References};
use crate::select::condition::condition_sql;
use crate::sql::Value;

/// Most documents that a bounded walk examines.
pub(super) const WALK_MAX: i64 = 10_000;

/// The index that finds the candidates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Driver {
    /// A key or public id: one document at most.
    Identity,
    /// The documents to which the list is restricted.
    Among,
    /// The edges of a target, in order of creation.
    Referrers(DocumentId),
    /// The changes of a window; their ids are sorted afterwards.
    Changes,
    /// The first [`WALK_MAX`] documents in order of creation: fast where a window is dense,
    /// incomplete where it is not.
    Walk,
    /// All documents in order of creation.
    Creation,
}

/// A statement and its arguments.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Statement {
    pub(crate) text: String,
    pub(crate) arguments: Vec<Value>,
}

impl Statement {
    /// Returns the statement for the rows of a page. Ids are found and sorted first, so that only
    /// the page's own bodies are read, unless a condition needs others.
    pub(crate) fn page(dialect: Dialect, query: &ListQuery, driver: Driver) -> Self {
        let mut arguments = vec![];
        let candidates = Candidates::of(dialect, query, driver, &mut arguments);
        arguments.push(i64::from(query.limit).into());
        let limit = arguments.len();
        arguments.push(i64::try_from(query.skip).unwrap_or(i64::MAX).into());
        let columns: Vec<_> = COLUMNS.split(", ").map(|column| format!("d.{column}")).collect();
        let text = format!(
            "SELECT {} FROM (SELECT {id} AS id FROM {} WHERE {} ORDER BY {}{id} LIMIT ?{limit} OFFSET ?{}) p {}",
            columns.join(", "),
            candidates.from,
            candidates.filter,
            if driver == Driver::Changes { "+" } else { "" },
            arguments.len(),
            dialect.each("doc", "d", "d.id = p.id"),
            id = candidates.id,
        );
        Self { text, arguments }
    }

    /// Returns the statement for the numbers and the first `marks` marks of up to `limit`
    /// candidates after the query's `after`.
    pub(crate) fn heads(
        dialect: Dialect,
        query: &ListQuery,
        driver: Driver,
        marks: usize,
        limit: usize,
    ) -> Self {
        let mut arguments = vec![];
        let candidates = Candidates::of(dialect, query, driver, &mut arguments);
        arguments.push(i64::try_from(limit).unwrap_or(i64::MAX).into());
        let limit = arguments.len();
        arguments.push(i64::try_from(References::head_bytes(marks)).unwrap_or(i64::MAX).into());
        let text = format!(
            "SELECT h.id, substr(h.refs, 1, {}) FROM (SELECT {id} AS id FROM {} WHERE {} ORDER BY {}{id} LIMIT ?{limit}) p {}",
            dialect.whole(&format!("?{}", arguments.len())),
            candidates.from,
            candidates.filter,
            if driver == Driver::Changes { "+" } else { "" },
            dialect.each("doc", "h", "h.id = p.id"),
            id = candidates.id,
        );
        Self { text, arguments }
    }

    /// Returns the statement that counts all candidates.
    pub(crate) fn count(dialect: Dialect, query: &ListQuery, driver: Driver) -> Self {
        let mut arguments = vec![];
        let candidates = Candidates::of(dialect, query, driver, &mut arguments);
        let text = format!("SELECT count(*) FROM {} WHERE {}", candidates.from, candidates.filter);
        Self { text, arguments }
    }
}

/// Returns the tests that need the document `d` itself.
pub(super) fn tests(dialect: Dialect, query: &ListQuery, bind: &mut Bind<'_>) -> Vec<String> {
    let changed = query
        .changed
        .map(|(min, max)| format!("d.cv BETWEEN {} AND {}", bind(min.into()), bind(max.into())));
    let mut tests: Vec<String> = changed.into_iter().collect();
    tests.extend(query.conditions.iter().map(|test| condition_sql(dialect, test, bind)));
    tests
}

/// The candidates: tables, tests, and the column with their ids.
struct Candidates {
    from: String,
    filter: String,
    id: &'static str,
}

impl Candidates {
    fn of(dialect: Dialect, query: &ListQuery, driver: Driver, arguments: &mut Vec<Value>) -> Self {
        let mut bind = |value: Value| {
            arguments.push(value);
            format!("?{}", arguments.len())
        };
        let kind = bind(i64::from(query.kind.0).into());
        let mut range = |column: &str| {
            let bounds = [
                (query.after.0 > 0).then_some((">", query.after.0)),
                (query.upto.0 < i64::MAX).then_some(("<=", query.upto.0)),
            ];
            let test = |(is, id): (_, i64)| format!(" AND {column} {is} {}", bind(id.into()));
            bounds.into_iter().flatten().map(test).collect::<String>()
        };
        let (from, id, mut filter) = match driver {
            Driver::Identity => {
                ("doc d".into(), "d.id", vec![format!("d.kind = {kind}{}", range("+d.id"))])
            }
            Driver::Among => {
                let tests = format!("d.kind = {kind}{}", range("+d.id"));
                let numbers = |some: &[DocumentId]| dialect.list(some.iter().map(|id| id.0));
                let named = match query.among.as_ref() {
                    None => dialect.numbers(&bind(dialect.list([]))),
                    Some(Among::Documents(these)) => dialect.numbers(&bind(numbers(these))),
                    Some(Among::Referrers(targets)) => format!(
                        "(SELECT DISTINCT r.source AS x FROM {} t {})",
                        dialect.numbers(&bind(numbers(targets))),
                        dialect.each("ref", "r", &format!("r.target = t.x AND r.kind = {kind}"))
                    ),
                };
                let from = format!("{named} n {}", dialect.each("doc", "d", "d.id = n.x"));
                (from, "d.id", vec![tests])
            }
            Driver::Referrers(target) => {
                let tests = format!("r.kind = {kind}{}", range("r.source"));
                let needs_document = query.changed.is_some() || !query.conditions.is_empty();
                let from = if needs_document {
                    format!("ref r {} doc d ON d.id = r.source", dialect.join())
                } else {
                    "ref r".into()
                };
                let tests = format!("r.target = {} AND {tests}", bind(target.0.into()));
                (from, "r.source", vec![tests])
            }
            Driver::Changes => {
                let tests = format!("d.kind = {kind}{}", range("+d.id"));
                (format!("doc d{}", dialect.by_index("doc_kind_cv")), "d.id", vec![tests])
            }
            Driver::Walk => {
                let from = format!(
                    "(SELECT id, cv FROM doc{} WHERE kind = {kind}{} ORDER BY id LIMIT {WALK_MAX}) d",
                    dialect.by_index("doc_kind_id"),
                    range("id")
                );
                (from, "d.id", vec![])
            }
            Driver::Creation => {
                let tests = format!("d.kind = {kind}{}", range("d.id"));
                (format!("doc d{}", dialect.by_index("doc_kind_id")), "d.id", vec![tests])
            }
        };
        let others = query.targets.iter().filter(|other| driver != Driver::Referrers(**other));
        filter.extend(others.map(|other| {
            let other = bind(other.0.into());
            format!(
                "EXISTS (SELECT 1 FROM ref o WHERE o.target = {other} AND o.kind = {kind} AND o.source = {id})"
            )
        }));
        filter.extend(tests(dialect, query, &mut bind));
        // A bounded walk with nothing else to test.
        if filter.is_empty() {
            filter.push("TRUE".into());
        }
        Self { from, filter: filter.join(" AND "), id }
    }
}
