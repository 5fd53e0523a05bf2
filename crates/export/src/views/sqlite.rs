//! Builds the query of a table for SQLite.
//!
//! Every connection parses the text of all views when it first reads the schema, so the text is
//! kept short.
//!
//! A query over several views has to grow with the documents, not with their square. SQLite would
//! replace a view by the text of its query and then, because a column is an expression, read all
//! documents of the joined view again for every row of the other. Two things prevent that:
//!
//! - A second arm without rows and without `FROM` keeps the view whole, so that it is read once and
//!   gets an automatic index. Comparisons with constants still reach the documents, and columns that
//!   nobody asks for are not computed; `MATERIALIZED` and `LIMIT` would lose both.
//! - Without statistics SQLite assumes that a kind has ten documents, for which no index is worth
//!   making. `likelihood` says that a kind may have many.
//!
//! Source: SQLite, "The SQLite Query Optimizer Overview", subquery flattening (a compound needs
//! `FROM` in each arm) and automatic indexes.

use std::fmt::Write as _;

use homeroom_store::{KindId, View};

use crate::table::{ColumnValue, Source, Table};

/// Where a level's values are read from: a JSON expression and a path in it.
struct Base {
    json: String,
    path: String,
}

pub(super) fn view(table: &Table, kind: KindId) -> View {
    let mut bases = vec![Base { json: "body".into(), path: String::new() }];
    let (mut from, mut filter) = ("doc".to_owned(), format!("likelihood(kind={},0.05)", kind.0));
    for (at, level) in table.levels.iter().enumerate() {
        let Base { json, path } = &bases[at];
        let path = format!("{path}.{}", level.member);
        if level.is_list {
            let item = format!("i{}", at + 1);
            _ = write!(from, ",json_each({json},'${path}'){item}");
            bases.push(Base { json: format!("{item}.value"), path: String::new() });
        } else {
            _ = write!(filter, " AND {json}->'${path}' IS NOT NULL");
            bases.push(Base { json: json.clone(), path });
        }
    }
    let columns: Vec<String> = table
        .columns
        .iter()
        // A name may be an SQL keyword.
        .map(|column| format!("{} \"{}\"", value(&column.value, &bases), column.name))
        .collect();
    let nothing = vec!["NULL"; columns.len()].join(",");
    View {
        schema: table.schema.clone(),
        name: table.name.clone(),
        select: format!(
            "SELECT {} FROM {from} WHERE {filter} UNION ALL SELECT {nothing} WHERE 0",
            columns.join(",")
        ),
    }
}

fn value(value: &ColumnValue, bases: &[Base]) -> String {
    match value {
        ColumnValue::Member(sources) => first(sources, bases),
        ColumnValue::CodeValue(sources) => {
            let uri = first(sources, bases);
            format!("substr({uri},instr({uri},'#')+1)")
        }
        ColumnValue::Uri { namespace, code_value } => {
            format!("({})||'#'||({})", one(namespace, bases), one(code_value, bases))
        }
        ColumnValue::Id => "lower(hex(uuid))".into(),
        ColumnValue::ChangeVersion => "cv".into(),
        ColumnValue::LastModified => {
            "strftime('%Y-%m-%dT%H:%M:%S',modified/1000000,'unixepoch')||printf('.%03dZ',modified/1000%1000)"
                .into()
        }
    }
}

fn first(sources: &[Source], bases: &[Base]) -> String {
    match sources {
        [only] => one(only, bases),
        several => {
            let all: Vec<_> = several.iter().map(|source| one(source, bases)).collect();
            format!("coalesce({})", all.join(","))
        }
    }
}

fn one(source: &Source, bases: &[Base]) -> String {
    let Base { json, path } = &bases[source.level];
    match source.path.as_slice() {
        [name] if path.is_empty() => format!("{json}->>'{name}'"),
        names => format!("{json}->>'${path}.{}'", names.join(".")),
    }
}
