//! The index that drives a list, and the resulting statement.

use crate::dialect::{Bind, Dialect};
use crate::id::DocumentId;
use crate::list::{Among, ListQuery};
use crate::row::{References, columns};
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
        let most = query.skip.saturating_add(query.limit.into());
        let candidates = Candidates::of(dialect, query, driver, Some(most), &mut arguments);
        arguments.push(i64::from(query.limit).into());
        let limit = arguments.len();
        arguments.push(i64::try_from(query.skip).unwrap_or(i64::MAX).into());
        let text = format!(
            "SELECT {} FROM ({} LIMIT ?{limit} OFFSET ?{}) p {}",
            columns("d"),
            candidates.in_order(driver),
            arguments.len(),
            dialect.each("doc", "d", "d.id = p.id"),
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
        let most = Some(limit as u64);
        let candidates = Candidates::of(dialect, query, driver, most, &mut arguments);
        arguments.push(i64::try_from(limit).unwrap_or(i64::MAX).into());
        let limit = arguments.len();
        arguments.push(i64::try_from(References::head_bytes(marks)).unwrap_or(i64::MAX).into());
        let text = format!(
            "SELECT h.id, substr(h.refs, 1, {}) FROM ({} LIMIT ?{limit}) p {}",
            dialect.whole(&format!("?{}", arguments.len())),
            candidates.in_order(driver),
            dialect.each("doc", "h", "h.id = p.id"),
        );
        Self { text, arguments }
    }

    /// Returns the statement that counts all candidates.
    pub(crate) fn count(dialect: Dialect, query: &ListQuery, driver: Driver) -> Self {
        let mut arguments = vec![];
        let candidates = Candidates::of(dialect, query, driver, None, &mut arguments);
        Self { text: candidates.count(), arguments }
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

/// Returns a table `r`, with the documents that a column names as `d` where tests need them.
fn joined(dialect: Dialect, query: &ListQuery, table: &str, column: &str) -> String {
    if query.needs_document() {
        format!("{table} r {} doc d ON d.id = {column}", dialect.join())
    } else {
        format!("{table} r")
    }
}

/// The candidates, in one part or several that have none in common.
struct Candidates(Vec<Part>);

/// A part of the candidates: tables, tests, and the column with their ids.
struct Part {
    from: String,
    filter: String,
    id: &'static str,
}

impl Candidates {
    /// Returns the candidates, of which no more than the first `most` are wanted.
    fn of(
        dialect: Dialect,
        query: &ListQuery,
        driver: Driver,
        most: Option<u64>,
        arguments: &mut Vec<Value>,
    ) -> Self {
        let mut bind = |value: Value| {
            arguments.push(value);
            format!("?{}", arguments.len())
        };
        let kind = bind(i64::from(query.kind.0).into());
        let mut parts = vec![Part::of(dialect, query, driver, &kind, &mut bind)];
        if let Driver::Referrers(target) = driver {
            // With other tests, any number may be needed for the first few that pass.
            let is_plain = query.targets.len() < 2 && !query.needs_document();
            let most = most.filter(|_| is_plain);
            let range = (query.after, query.upto);
            let recent = dialect.recent_sources(target, &kind, range, most, &mut bind);
            parts.extend(recent.map(|recent| {
                let from = joined(dialect, query, &recent, "r.value");
                let part = (from, "r.value", vec![]);
                Part::with_tests(dialect, query, driver, &kind, part, &mut bind)
            }));
        }
        Self(parts)
    }

    /// Returns the query for the ids, in order, which takes a `LIMIT`.
    fn in_order(&self, driver: Driver) -> String {
        let select = |Part { from, filter, id }: &Part| {
            format!("SELECT {id} AS id FROM {from} WHERE {filter}")
        };
        let all: Vec<String> = self.0.iter().map(select).collect();
        let by = match &self.0[..] {
            [only] => only.id,
            _ => "id",
        };
        let sorted = if driver == Driver::Changes { "+" } else { "" };
        format!("{} ORDER BY {sorted}{by}", all.join(" UNION ALL "))
    }

    /// Returns the query for their number.
    fn count(&self) -> String {
        let count = |Part { from, filter, .. }: &Part| {
            format!("SELECT count(*) FROM {from} WHERE {filter}")
        };
        match &self.0[..] {
            [only] => count(only),
            all => {
                let all: Vec<String> =
                    all.iter().map(|part| format!("({})", count(part))).collect();
                format!("SELECT {}", all.join(" + "))
            }
        }
    }
}

impl Part {
    fn of(
        dialect: Dialect,
        query: &ListQuery,
        driver: Driver,
        kind: &str,
        bind: &mut Bind<'_>,
    ) -> Self {
        let mut range = |column: &str| {
            let bounds = [
                (query.after.0 > 0).then_some((">", query.after.0)),
                (query.upto.0 < i64::MAX).then_some(("<=", query.upto.0)),
            ];
            let test = |(is, id): (_, i64)| format!(" AND {column} {is} {}", bind(id.into()));
            bounds.into_iter().flatten().map(test).collect::<String>()
        };
        let (from, id, filter) = match driver {
            Driver::Identity => {
                ("doc d".into(), "d.id", vec![format!("d.kind = {kind}{}", range("+d.id"))])
            }
            Driver::Among => {
                let tests = format!("d.kind = {kind}{}", range("+d.id"));
                let numbers = |some: &[DocumentId]| dialect.list(some.iter().map(|id| id.0));
                let named = match query.among.as_ref() {
                    None => dialect.numbers(&bind(dialect.list([]))),
                    Some(Among::Documents(these)) => dialect.numbers(&bind(numbers(these))),
                    Some(Among::Referrers(targets)) => {
                        dialect.sources(&bind(numbers(targets)), kind)
                    }
                };
                let from = format!("{named} n {}", dialect.each("doc", "d", "d.id = n.x"));
                (from, "d.id", vec![tests])
            }
            Driver::Referrers(target) => {
                let tests = format!("r.kind = {kind}{}", range("r.source"));
                let from = joined(dialect, query, "ref", "r.source");
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
        Self::with_tests(dialect, query, driver, kind, (from, id, filter), bind)
    }

    /// Returns a part whose documents pass the query's other tests too.
    fn with_tests(
        dialect: Dialect,
        query: &ListQuery,
        driver: Driver,
        kind: &str,
        (from, id, mut filter): (String, &'static str, Vec<String>),
        bind: &mut Bind<'_>,
    ) -> Self {
        let others = query.targets.iter().filter(|other| driver != Driver::Referrers(**other));
        filter.extend(others.map(|other| {
            let other = bind(other.0.into());
            dialect.has_edge(&other, kind, id)
        }));
        filter.extend(tests(dialect, query, bind));
        // A bounded walk with nothing else to test.
        if filter.is_empty() {
            filter.push("TRUE".into());
        }
        Self { from, filter: filter.join(" AND "), id }
    }
}
