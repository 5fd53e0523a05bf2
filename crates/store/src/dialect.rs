//! What the two databases say differently, each answer with its reason.

use crate::sql::Value;

/// Which database's SQL is wanted. Both take arguments as `?1`, `?2` …
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dialect {
    Sqlite,
    Postgres,
}

/// Gives the name of an argument.
pub(crate) type Bind<'a> = dyn FnMut(Value) -> String + 'a;

/// What a decimal looks like that PostgreSQL can make a number of without an error.
const DECIMAL: &str = "'^-?[0-9]{1,60}([.][0-9]{1,60})?([eE][+-]?[0-9]{1,2})?$'";

/// All white space of Unicode, which is what [`str::trim`] takes away.
const BLANKS: &str = "\t\n\u{b}\u{c}\r \u{85}\u{a0}\u{1680}\u{2000}\u{2001}\u{2002}\u{2003}\u{2004}\u{2005}\
                      \u{2006}\u{2007}\u{2008}\u{2009}\u{200a}\u{2028}\u{2029}\u{202f}\u{205f}\u{3000}";

impl Dialect {
    /// What makes a table be read by an index. SQLite has no figures of the tables and is told;
    /// PostgreSQL has them and takes no such word.
    pub(crate) fn by_index(self, index: &str) -> String {
        match self {
            Self::Sqlite => format!(" INDEXED BY {index}"),
            Self::Postgres => String::new(),
        }
    }

    /// A join `ON` a condition, the left side driving: SQLite keeps the order of a cross join.
    pub(crate) fn join(self) -> &'static str {
        match self {
            Self::Sqlite => "CROSS JOIN",
            Self::Postgres => "JOIN",
        }
    }

    /// Joins a table's rows `on` a condition to each row that stands before it. SQLite keeps the
    /// order of a cross join; PostgreSQL plans what has an `OFFSET` by itself, and so by the index
    /// that the condition fits, whatever it thinks of the tables' sizes.
    pub(crate) fn each(self, table: &str, alias: &str, on: &str) -> String {
        match self {
            Self::Sqlite => format!("CROSS JOIN {table} {alias} ON {on}"),
            Self::Postgres => format!("CROSS JOIN LATERAL {}", alone(table, alias, on)),
        }
    }

    /// As [`Dialect::each`]; a row without any gets one of nulls.
    pub(crate) fn each_or_null(self, table: &str, alias: &str, on: &str) -> String {
        match self {
            Self::Sqlite => format!("LEFT JOIN {table} {alias} ON {on}"),
            Self::Postgres => format!("LEFT JOIN LATERAL {} ON TRUE", alone(table, alias, on)),
        }
    }

    /// Joins the rows of a query with one column `id` to each row that stands before it, as a table
    /// `e` with a column `id`. SQLite knows no lateral query, but functions that give tables.
    pub(crate) fn each_of(self, query: &str) -> String {
        match self {
            Self::Sqlite => {
                format!("CROSS JOIN json_each((SELECT json_group_array(id) FROM ({query}))) e")
            }
            Self::Postgres => format!("CROSS JOIN LATERAL ({query}) e"),
        }
    }

    /// The column `id` of [`Dialect::each_of`].
    pub(crate) fn each_id(self) -> &'static str {
        match self {
            Self::Sqlite => "e.value",
            Self::Postgres => "e.id",
        }
    }

    /// A table with a column `x`: the whole numbers of an argument that is a [`Dialect::list`].
    pub(crate) fn numbers(self, argument: &str) -> String {
        match self {
            Self::Sqlite => format!("(SELECT value AS x FROM json_each({argument}))"),
            Self::Postgres => {
                format!("(SELECT x FROM unnest(CAST(CAST({argument} AS text) AS bigint[])) x)")
            }
        }
    }

    /// Numbers as one argument.
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

    /// A table of `n` and `id`: pairs of numbers, a JSON array of them being the first argument.
    pub(crate) fn by_numbers(self) -> String {
        let pairs = self.pairs();
        match self {
            Self::Sqlite => format!("(SELECT n, x AS id FROM {pairs} p)"),
            Self::Postgres => format!("(SELECT n, CAST(x AS bigint) AS id FROM {pairs} p)"),
        }
    }

    /// A table of `n` and `id`: the documents that carry identities, as their own or their base's;
    /// pairs of number and identity, in hex, being in a JSON array that is the first argument.
    pub(crate) fn by_keys(self) -> String {
        let (pairs, join) = (self.pairs(), self.join());
        let key = match self {
            Self::Sqlite => "unhex(p.x)",
            Self::Postgres => "CAST(p.x AS uuid)",
        };
        format!(
            "(SELECT p.n, o.id FROM {pairs} p {join} doc o ON o.key = {key} \
              UNION ALL SELECT p.n, a.id FROM {pairs} p {join} alias a ON a.key = {key})"
        )
    }

    /// A table of `n` and `x`: pairs in a JSON array that is the first argument.
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

    /// A table with a column `body`: the items of the list at a path of a document's text.
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

    /// An argument as the whole number that a function of texts and bytes takes.
    pub(crate) fn whole(self, argument: &str) -> String {
        match self {
            Self::Sqlite => argument.to_owned(),
            Self::Postgres => format!("CAST({argument} AS integer)"),
        }
    }

    /// The value at a path, `$.a.b`, of a document's text. PostgreSQL's `jsonb` would refuse what
    /// `json` passes over, and takes longer to make.
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

    /// Whether the text at a path is `value`.
    pub(crate) fn is_text(self, path: &str, value: &str, bind: &mut Bind<'_>) -> String {
        format!("{} = {}", self.field(path, bind), bind(value.into()))
    }

    /// Whether the text at a path is `value`, ASCII case aside.
    pub(crate) fn is_text_folded(self, path: &str, value: &str, bind: &mut Bind<'_>) -> String {
        let (field, value) = (self.field(path, bind), bind(value.into()));
        format!("{} = {}", self.folded(&field), self.folded(&value))
    }

    /// Whether the text at a path, blanks around it aside, is `value`, ASCII case aside. Both know
    /// as blanks what they are told.
    pub(crate) fn is_text_trimmed(self, path: &str, value: &str, bind: &mut Bind<'_>) -> String {
        let (field, blanks) = (self.field(path, bind), bind(BLANKS.into()));
        let (trimmed, value) = (format!("trim({field}, {blanks})"), bind(value.trim().into()));
        format!("{} = {}", self.folded(&trimmed), self.folded(&value))
    }

    /// A text with its ASCII letters small. PostgreSQL folds as the collation says, and that of "C"
    /// is ASCII's.
    pub(crate) fn folded(self, text: &str) -> String {
        match self {
            Self::Sqlite => format!("lower({text})"),
            Self::Postgres => format!("lower({text} COLLATE \"C\")"),
        }
    }

    /// Whether the text at a path begins with `prefix`.
    pub(crate) fn begins_with(self, path: &str, prefix: &str, bind: &mut Bind<'_>) -> String {
        let length = i64::try_from(prefix.chars().count()).unwrap_or(i64::MAX);
        let field = self.field(path, bind);
        format!("substr({field}, 1, {}) = {}", bind(length.into()), bind(prefix.into()))
    }

    /// Whether the number at a path is `value`. PostgreSQL has the value as text and fails where
    /// that is no number, so it looks first.
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

    /// Whether the number at a path is the whole number `value`.
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

    /// Whether true or false stands at a path. SQLite has them as numbers, PostgreSQL as text.
    pub(crate) fn is_boolean(self, path: &str, value: bool, bind: &mut Bind<'_>) -> String {
        let field = self.field(path, bind);
        match self {
            Self::Sqlite => format!("{field} = {}", bind(i64::from(value).into())),
            Self::Postgres => format!("{field} = {}", bind(value.to_string().as_str().into())),
        }
    }
}

/// Rows of a table that are found by themselves.
fn alone(table: &str, alias: &str, on: &str) -> String {
    format!("(SELECT * FROM {table} {alias} WHERE {on} OFFSET 0) {alias}")
}

/// A text with `$1`, `$2` … in the place of `?1`, `?2` …; what stands in quotes stays.
pub(crate) fn with_dollars(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut quoted = false;
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        quoted ^= letter == '\'';
        let is_argument =
            letter == '?' && !quoted && letters.peek().is_some_and(char::is_ascii_digit);
        out.push(if is_argument { '$' } else { letter });
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_get_dollars_and_quoted_marks_stay() {
        let text = "SELECT ?1, '?2', 'it''s ?3', ?12 ? FROM t WHERE a ~ '^(x)?1'";

        let dollars = with_dollars(text);

        assert_eq!(dollars, "SELECT $1, '?2', 'it''s ?3', $12 ? FROM t WHERE a ~ '^(x)?1'");
    }
}
