//! The differences between the two databases' SQL, each with its reason.

use crate::id::DocumentId;
use crate::sql::Value;
use crate::sqlite::{commit_seen, number_of_key};

/// The database whose SQL is wanted. Both take arguments as `?1`, `?2` …
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dialect {
    Sqlite,
    Postgres,
}

/// Registers an argument and returns its name.
pub(crate) type Bind<'a> = dyn FnMut(Value) -> String + 'a;

/// Pattern of a decimal that PostgreSQL can convert to a number without an error.
const DECIMAL: &str = "'^-?[0-9]{1,60}([.][0-9]{1,60})?([eE][+-]?[0-9]{1,2})?$'";

/// All white space of Unicode, which is what [`str::trim`] removes.
const BLANKS: &str = "\t\n\u{b}\u{c}\r \u{85}\u{a0}\u{1680}\u{2000}\u{2001}\u{2002}\u{2003}\u{2004}\u{2005}\
                      \u{2006}\u{2007}\u{2008}\u{2009}\u{200a}\u{2028}\u{2029}\u{202f}\u{205f}\u{3000}";

impl Dialect {
    /// Returns the clause that makes a table be read by an index. SQLite has no statistics of the
    /// tables and needs it; PostgreSQL has statistics and no such clause.
    pub(crate) fn by_index(self, index: &str) -> String {
        match self {
            Self::Sqlite => format!(" INDEXED BY {index}"),
            Self::Postgres => String::new(),
        }
    }

    /// Returns a join that takes `ON`, driven by its left side: SQLite keeps the order of a cross
    /// join.
    pub(crate) fn join(self) -> &'static str {
        match self {
            Self::Sqlite => "CROSS JOIN",
            Self::Postgres => "JOIN",
        }
    }

    /// Joins a table's rows `on` a condition to each preceding row. SQLite keeps the order of a
    /// cross join. PostgreSQL plans a subquery with an `OFFSET` separately, and so by the index
    /// that fits the condition, whatever it estimates about the tables' sizes.
    pub(crate) fn each(self, table: &str, alias: &str, on: &str) -> String {
        match self {
            Self::Sqlite => format!("CROSS JOIN {table} {alias} ON {on}"),
            Self::Postgres => format!("CROSS JOIN LATERAL {}", alone(table, alias, on)),
        }
    }

    /// Does the same as [`Dialect::each`], with a row of nulls where nothing matches.
    pub(crate) fn each_or_null(self, table: &str, alias: &str, on: &str) -> String {
        match self {
            Self::Sqlite => format!("LEFT JOIN {table} {alias} ON {on}"),
            Self::Postgres => format!("LEFT JOIN LATERAL {} ON TRUE", alone(table, alias, on)),
        }
    }

    /// Joins the rows of a query that has one column `id` to each preceding row, as a table `e`
    /// with a column `id`. SQLite has no lateral queries, but it has table-valued functions.
    pub(crate) fn each_of(self, query: &str) -> String {
        match self {
            Self::Sqlite => {
                format!("CROSS JOIN json_each((SELECT json_group_array(id) FROM ({query}))) e")
            }
            Self::Postgres => format!("CROSS JOIN LATERAL ({query}) e"),
        }
    }

    /// Returns the column `id` of [`Dialect::each_of`].
    pub(crate) fn each_id(self) -> &'static str {
        match self {
            Self::Sqlite => "e.value",
            Self::Postgres => "e.id",
        }
    }

    /// Returns a table with a column `x`: the whole numbers of an argument made by
    /// [`Dialect::list`].
    pub(crate) fn numbers(self, argument: &str) -> String {
        match self {
            Self::Sqlite => format!("(SELECT value AS x FROM json_each({argument}))"),
            Self::Postgres => {
                format!("(SELECT x FROM unnest(CAST(CAST({argument} AS text) AS bigint[])) x)")
            }
        }
    }

    /// Packs numbers into one argument.
    pub(crate) fn list(self, numbers: impl IntoIterator<Item = i64>) -> Value {
        let (open, close) = match self {
            Self::Sqlite => ('[', ']'),
            Self::Postgres => ('{', '}'),
        };
        let mut text = String::from(open);
        for number in numbers {
            if text.len() > 1 {
                text.push(',');
            }
            text.push_str(&number.to_string());
        }
        text.push(close);
        text.into()
    }

    /// Returns a table of `n` and `id`: pairs of numbers, from a JSON array in the first argument.
    pub(crate) fn by_numbers(self) -> String {
        let pairs = self.pairs();
        match self {
            Self::Sqlite => format!("(SELECT n, x AS id FROM {pairs} p)"),
            Self::Postgres => format!("(SELECT n, CAST(x AS bigint) AS id FROM {pairs} p)"),
        }
    }

    /// Returns a table of `n` and `id`: the documents that have identities, as their own or their
    /// base's. Pairs of number and identity, in hex, come from a JSON array in the first argument.
    pub(crate) fn by_keys(self) -> String {
        let (pairs, join) = (self.pairs(), self.join());
        let key = match self {
            Self::Sqlite => "unhex(p.x)",
            Self::Postgres => "CAST(p.x AS uuid)",
        };
        let has_key = self.has_key("o", key);
        format!(
            "(SELECT p.n, o.id FROM {pairs} p {join} doc o ON {has_key} \
              UNION ALL SELECT p.n, a.id FROM {pairs} p {join} alias a ON a.key = {key})"
        )
    }

    /// Tests whether the document `of` has an identity as its own. SQLite has a table of identities,
    /// and the latest in memory.
    pub(crate) fn has_key(self, of: &str, key: &str) -> String {
        match self {
            Self::Sqlite => {
                let number = format!(number_of_key!("{0}"), key);
                format!("{of}.id = {number}")
            }
            Self::Postgres => format!("{of}.key = {key}"),
        }
    }

    /// Tests whether a document of a kind refers to another one. SQLite has the latest edges in
    /// memory.
    pub(crate) fn has_edge(self, target: &str, kind: &str, source: &str) -> String {
        let edge = format!(
            "EXISTS (SELECT 1 FROM ref o WHERE o.target = {target} AND o.kind = {kind} AND \
             o.source = {source})"
        );
        match self {
            Self::Sqlite => format!("({edge} OR recent_edge({AT}, {target}, {kind}, {source}))"),
            Self::Postgres => edge,
        }
    }

    /// Tests whether a document of a kind that passes all tests refers to a document; the tests name
    /// it `d`.
    pub(crate) fn has_referrer(self, target: &str, kind: &str, tests: &[String]) -> String {
        let edges = format!("r.target = {target} AND r.kind = {kind}");
        let (join, tests) = (self.join(), tests.join(" AND "));
        let in_table = if tests.is_empty() {
            format!("EXISTS (SELECT 1 FROM ref r WHERE {edges})")
        } else {
            format!(
                "EXISTS (SELECT 1 FROM ref r {join} doc d ON d.id = r.source WHERE {edges} AND {tests})"
            )
        };
        let Self::Sqlite = self else { return in_table };
        let most = if tests.is_empty() { "1" } else { "-1" };
        let recent = recent_sources(target, kind, EVERY_NUMBER, most);
        let in_memory = if tests.is_empty() {
            format!("EXISTS (SELECT 1 FROM {recent})")
        } else {
            format!(
                "EXISTS (SELECT 1 FROM {recent} r {join} doc d ON d.id = r.value WHERE {tests})"
            )
        };
        format!("({in_table} OR {in_memory})")
    }

    /// Returns a table with a column `x`: the documents of a kind that refer to one of the numbers of
    /// an argument made by [`Dialect::list`].
    pub(crate) fn sources(self, targets: &str, kind: &str) -> String {
        let targets = self.numbers(targets);
        let edges = self.each("ref", "r", &format!("r.target = t.x AND r.kind = {kind}"));
        match self {
            Self::Sqlite => {
                let recent = recent_sources("t.x", kind, EVERY_NUMBER, "-1");
                format!(
                    "(SELECT r.source AS x FROM {targets} t {edges} \
                     UNION SELECT r.value FROM {targets} t CROSS JOIN {recent} r)"
                )
            }
            Self::Postgres => format!("(SELECT DISTINCT r.source AS x FROM {targets} t {edges})"),
        }
    }

    /// Returns a table with a column `value`: the documents of a kind, after one and up to another,
    /// whose edges to a target are in memory, in order; only the first `most` are wanted.
    pub(crate) fn recent_sources(
        self,
        target: DocumentId,
        kind: &str,
        (after, upto): (DocumentId, DocumentId),
        most: Option<u64>,
        bind: &mut Bind<'_>,
    ) -> Option<String> {
        let Self::Sqlite = self else { return None };
        let most = most.map_or(-1, |most| i64::try_from(most).unwrap_or(i64::MAX));
        let target = bind(target.0.into());
        let (after, upto, most) = (bind(after.0.into()), bind(upto.0.into()), bind(most.into()));
        Some(recent_sources(&target, kind, (&after, &upto), &most))
    }

    /// Returns what adds to a query for the sources of edges those that are in memory.
    pub(crate) fn or_recent(
        self,
        target: &str,
        kind: &str,
        range: (&str, &str),
        most: &str,
    ) -> String {
        match self {
            Self::Sqlite => {
                format!(
                    " UNION ALL SELECT value FROM {}",
                    recent_sources(target, kind, range, most)
                )
            }
            Self::Postgres => String::new(),
        }
    }

    /// Returns a table of `n` and `x`: pairs from a JSON array in the first argument.
    fn pairs(self) -> &'static str {
        match self {
            Self::Sqlite => {
                "(SELECT json_extract(value, '$[0]') AS n, json_extract(value, '$[1]') AS x \
                  FROM json_each(?1))"
            }
            Self::Postgres => {
                "(SELECT CAST(e ->> 0 AS bigint) AS n, e ->> 1 AS x \
                  FROM json_array_elements(CAST(CAST(?1 AS text) AS json)) e)"
            }
        }
    }

    /// Returns a table with a column `body`: the items of the list at a path of a document's text.
    pub(crate) fn items(self, path: &str, bind: &mut Bind<'_>) -> String {
        match self {
            Self::Sqlite => {
                format!("(SELECT value AS body FROM json_each(d.body, {}))", bind(path.into()))
            }
            Self::Postgres => {
                let steps = path.split('.').skip(1).map(|step| bind(step.into()));
                let steps: Vec<String> = steps.collect();
                format!(
                    "(SELECT e AS body FROM json_array_elements(\
                     json_extract_path(CAST(d.body AS json), {})) e)",
                    steps.join(", ")
                )
            }
        }
    }

    /// Returns an argument as the integer type that text and byte functions take.
    pub(crate) fn whole(self, argument: &str) -> String {
        match self {
            Self::Sqlite => argument.to_owned(),
            Self::Postgres => format!("CAST({argument} AS integer)"),
        }
    }

    /// Returns the value at a path, `$.a.b`, of a document's text. PostgreSQL's `json` is used
    /// because `jsonb` rejects some input that `json` accepts, and takes longer to build.
    pub(crate) fn field(self, path: &str, bind: &mut Bind<'_>) -> String {
        match self {
            Self::Sqlite => format!("json_extract(d.body, {})", bind(path.into())),
            Self::Postgres => {
                let steps = path.split('.').skip(1).map(|step| bind(step.into()));
                let steps: Vec<String> = steps.collect();
                format!("json_extract_path_text(CAST(d.body AS json), {})", steps.join(", "))
            }
        }
    }

    /// Tests whether the text at a path is `value`.
    pub(crate) fn is_text(self, path: &str, value: &str, bind: &mut Bind<'_>) -> String {
        format!("{} = {}", self.field(path, bind), bind(value.into()))
    }

    /// Tests whether the text at a path is `value`, ignoring ASCII case.
    pub(crate) fn is_text_folded(self, path: &str, value: &str, bind: &mut Bind<'_>) -> String {
        let (field, value) = (self.field(path, bind), bind(value.into()));
        format!("{} = {}", self.folded(&field), self.folded(&value))
    }

    /// Tests whether the text at a path is `value`, ignoring surrounding white space and ASCII
    /// case. Both databases are told which characters are white space.
    pub(crate) fn is_text_trimmed(self, path: &str, value: &str, bind: &mut Bind<'_>) -> String {
        let (field, blanks) = (self.field(path, bind), bind(BLANKS.into()));
        let (trimmed, value) = (format!("trim({field}, {blanks})"), bind(value.trim().into()));
        format!("{} = {}", self.folded(&trimmed), self.folded(&value))
    }

    /// Returns a text with its ASCII letters in lower case. PostgreSQL folds by the collation, and
    /// "C" folds only ASCII.
    pub(crate) fn folded(self, text: &str) -> String {
        match self {
            Self::Sqlite => format!("lower({text})"),
            Self::Postgres => format!("lower({text} COLLATE \"C\")"),
        }
    }

    /// Tests whether the text at a path begins with `prefix`.
    pub(crate) fn begins_with(self, path: &str, prefix: &str, bind: &mut Bind<'_>) -> String {
        let length = i64::try_from(prefix.chars().count()).unwrap_or(i64::MAX);
        let field = self.field(path, bind);
        format!("substr({field}, 1, {}) = {}", bind(length.into()), bind(prefix.into()))
    }

    /// Tests whether the number at a path is `value`. PostgreSQL has the value as text and would
    /// fail where that is not a number, so the form is tested first.
    pub(crate) fn is_number(self, path: &str, value: f64, bind: &mut Bind<'_>) -> String {
        let field = self.field(path, bind);
        let value = bind(value.to_string().into());
        match self {
            Self::Sqlite => format!("{field} = CAST({value} AS REAL)"),
            Self::Postgres => format!(
                "CASE WHEN {field} ~ {DECIMAL} THEN CAST({field} AS double precision) = \
                 CAST(CAST({value} AS text) AS double precision) ELSE FALSE END"
            ),
        }
    }

    /// Tests whether the number at a path is the whole number `value`.
    pub(crate) fn is_integer(self, path: &str, value: i64, bind: &mut Bind<'_>) -> String {
        let field = self.field(path, bind);
        let value = bind(value.into());
        match self {
            Self::Sqlite => format!("{field} = {value}"),
            Self::Postgres => format!(
                "CASE WHEN {field} ~ {DECIMAL} THEN CAST({field} AS numeric) = \
                 CAST({value} AS bigint) ELSE FALSE END"
            ),
        }
    }

    /// Tests for a boolean at a path. SQLite has booleans as numbers, PostgreSQL as text.
    pub(crate) fn is_boolean(self, path: &str, value: bool, bind: &mut Bind<'_>) -> String {
        let field = self.field(path, bind);
        match self {
            Self::Sqlite => format!("{field} = {}", bind(i64::from(value).into())),
            Self::Postgres => format!("{field} = {}", bind(value.to_string().as_str().into())),
        }
    }
}

/// The number of the commit that an SQLite reader sees, by which the functions know what of the
/// memory it sees (`sqlite/recent/functions.rs`).
const AT: &str = commit_seen!();

/// The documents after which and up to which a range is that has all of them.
pub(crate) const EVERY_NUMBER: (&str, &str) = ("0", "9223372036854775807");

/// Returns a table of SQLite with a column `value`: sources of edges that are in memory.
fn recent_sources(target: &str, kind: &str, (after, upto): (&str, &str), most: &str) -> String {
    format!("json_each(recent_sources({AT}, {target}, {kind}, {after}, {upto}, {most}))")
}

/// Returns a subquery whose rows are planned separately.
fn alone(table: &str, alias: &str, on: &str) -> String {
    format!("(SELECT * FROM {table} {alias} WHERE {on} OFFSET 0) {alias}")
}

/// Replaces `?1`, `?2` … in a text by `$1`, `$2` …; quoted parts stay as they are.
pub(crate) fn with_dollars(text: &str) -> String {
    with_arguments(text, "$")
}

/// Replaces the question mark of each `?1`, `?2` … outside of quotes.
pub(crate) fn with_arguments(text: &str, prefix: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut quoted = false;
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        quoted ^= letter == '\'';
        let is_argument =
            letter == '?' && !quoted && letters.peek().is_some_and(char::is_ascii_digit);
        if is_argument {
            out.push_str(prefix);
        } else {
            out.push(letter);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbered_placeholders_become_dollars_except_inside_quotes() {
        let text = "SELECT ?1, '?2', 'it''s ?3', ?12 ? FROM t WHERE a ~ '^(x)?1'";

        let dollars = with_dollars(text);

        assert_eq!(dollars, "SELECT $1, '?2', 'it''s ?3', $12 ? FROM t WHERE a ~ '^(x)?1'");
    }
}
