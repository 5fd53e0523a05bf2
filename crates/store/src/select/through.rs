//! Turns tests of documents into SQL.

use super::source::Source;
use crate::dialect::{Bind, Dialect};
use crate::error::StoreError;
use crate::id::KindId;
use crate::select::Statement;
use crate::select::condition::condition_sql;
use crate::sql::Value;
use crate::through::{DocumentTest, Passed};
use crate::tie::Start;

/// Tests documents; the results are in the order of `starts`.
pub(crate) async fn look<S: Source>(
    source: &S,
    starts: &[Start],
    test: &DocumentTest,
) -> Result<Vec<Passed>, S::Error> {
    let by_referrers = test.has_referrers();
    let mut all = vec![Passed { by_referrers, ..Passed::default() }; starts.len()];
    for statement in statements(S::DIALECT, starts, test) {
        for row in source.numbers(&statement).await? {
            take(&row, &mut all)?;
        }
    }
    Ok(all)
}

/// Returns the statements that test documents; each returns rows for [`take`].
pub(crate) fn statements(
    dialect: Dialect,
    starts: &[Start],
    test: &DocumentTest,
) -> Vec<Statement> {
    let (mut numbers, mut keys) = (vec![], vec![]);
    for (at, start) in starts.iter().enumerate() {
        match start {
            Start::Number(number) => numbers.push(format!("[{at},{number}]")),
            Start::Document(key) => keys.push(format!("[{at},\"{}\"]", hex(&key.0))),
        }
    }
    let mut statements = vec![];
    for (starts, from) in [(numbers, Dialect::by_numbers as fn(_) -> _), (keys, Dialect::by_keys)] {
        if !starts.is_empty() {
            let mut arguments: Vec<Value> = vec![format!("[{}]", starts.join(",")).into()];
            let mut bind = |value: Value| {
                arguments.push(value);
                format!("?{}", arguments.len())
            };
            let select = format!(
                "SELECT s.n, s.id, CASE WHEN {} THEN CAST(1 AS bigint) ELSE CAST(0 AS bigint) END \
                 FROM {} s {} doc d ON d.id = s.id",
                test_sql(dialect, test, &mut bind),
                from(dialect),
                dialect.join(),
            );
            statements.push(Statement { text: select, arguments });
        }
    }
    statements
}

/// Reads a row of [`statements`].
pub(crate) fn take(row: &[i64], all: &mut [Passed]) -> Result<(), StoreError> {
    let known = match *row {
        [at, document, is_passed] => usize::try_from(at)
            .ok()
            .and_then(|at| all.get_mut(at))
            .map(|passed| (passed, document, is_passed)),
        _ => None,
    };
    let Some((passed, document, is_passed)) = known else {
        return Err(StoreError::Failed("a statement gave other columns".into()));
    };
    (passed.document, passed.is_passed) = (Some(document), is_passed != 0);
    Ok(())
}

fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes.iter().fold(String::new(), |mut out, byte| {
        _ = write!(out, "{byte:02x}");
        out
    })
}

/// Returns the test of the document `d`; a whole document is also available as number `s.id`.
fn test_sql(dialect: Dialect, test: &DocumentTest, bind: &mut Bind<'_>) -> String {
    let mut joined = |tests: &[DocumentTest], word: &str, none: &str| {
        let tests: Vec<String> = tests.iter().map(|test| test_sql(dialect, test, bind)).collect();
        if tests.is_empty() { none.to_owned() } else { format!("({})", tests.join(word)) }
    };
    match test {
        DocumentTest::All(tests) => joined(tests, " AND ", "TRUE"),
        DocumentTest::Any(tests) => joined(tests, " OR ", "FALSE"),
        DocumentTest::Says(condition) => condition_sql(dialect, condition, bind),
        DocumentTest::Has { path, is_there } => {
            let is = if *is_there { "IS NOT NULL" } else { "IS NULL" };
            format!("{} {is}", dialect.field(path, bind))
        }
        DocumentTest::Item { path, test } => {
            let items = dialect.items(path, bind);
            format!("EXISTS (SELECT 1 FROM {items} d WHERE {})", test_sql(dialect, test, bind))
        }
        DocumentTest::Referrer { kind, same, test } => {
            let kind = bind(i64::from(kind.0).into());
            let mut tests: Vec<String> = same
                .iter()
                .map(|same| {
                    let theirs = dialect.field(&same.theirs, bind);
                    let own = own_sql(dialect, &same.own, bind);
                    let fold = |field: String| {
                        if same.fold { dialect.folded(&field) } else { field }
                    };
                    format!(
                        "{} = (SELECT {} FROM doc d WHERE d.id = s.id)",
                        fold(theirs),
                        fold(own)
                    )
                })
                .collect();
            if **test != DocumentTest::All(vec![]) {
                tests.push(test_sql(dialect, test, bind));
            }
            dialect.has_referrer("s.id", &kind, &tests)
        }
    }
}

/// Returns the value of the document `d` at the path for its kind.
fn own_sql(dialect: Dialect, own: &[(KindId, String)], bind: &mut Bind<'_>) -> String {
    if let [(_, path)] = own {
        return dialect.field(path, bind);
    }
    let cases: Vec<String> = own
        .iter()
        .map(|(kind, path)| format!("WHEN {} THEN {}", kind.0, dialect.field(path, bind)))
        .collect();
    if cases.is_empty() { "NULL".into() } else { format!("CASE d.kind {} END", cases.join(" ")) }
}
