//! A table as a statement of PostgreSQL's.
//!
//! A document is taken apart once a row, into typed columns, and not once a column.

use std::fmt::Write as _;

use homeroom_store::{KindId, View};

use crate::table::{Column, ColumnType, ColumnValue, Source, Table, postgres_name};

pub(super) fn view(table: &Table, kind: KindId) -> View {
    let mut from = format!("doc d CROSS JOIN LATERAL json_to_record(d.body::json) AS j0({})", {
        record(table, 0)
    });
    let mut filter = format!("d.kind = {}", kind.0);
    for (at, level) in table.levels.iter().enumerate() {
        let (inner, members) = (at + 1, record(table, at + 1));
        let member = format!("j{at}.\"{}\"", level.member);
        let function = if level.is_list { "json_to_recordset" } else { "json_to_record" };
        _ = write!(from, " CROSS JOIN LATERAL {function}({member}) AS j{inner}({members})");
        if !level.is_list {
            _ = write!(filter, " AND {member} IS NOT NULL");
        }
    }
    let columns: Vec<String> = table
        .columns
        .iter()
        .map(|column| format!("{} AS \"{}\"", value(column), postgres_name(&column.name)))
        .collect();
    View {
        schema: table.schema.clone(),
        name: postgres_name(&table.name),
        select: format!("SELECT {} FROM {from} WHERE {filter}", columns.join(", ")),
    }
}

/// The members of a level's object that the table needs, with their types.
fn record(table: &Table, level: usize) -> String {
    let mut found: Vec<(&str, String)> = vec![];
    let mut add = |name, kind| {
        if !found.iter().any(|(known, _)| *known == name) {
            found.push((name, kind));
        }
    };
    for column in &table.columns {
        for source in sources(&column.value).into_iter().filter(|source| source.level == level) {
            match source.path.as_slice() {
                [only] => add(only.as_str(), sql_type(column.kind)),
                [first, ..] => add(first.as_str(), "json".into()),
                [] => {}
            }
        }
    }
    if let Some(next) = table.levels.get(level) {
        add(next.member.as_str(), "json".into());
    }
    if found.is_empty() {
        // A record needs a column.
        found.push(("_", "text".into()));
    }
    let members: Vec<_> = found.iter().map(|(name, kind)| format!("\"{name}\" {kind}")).collect();
    members.join(", ")
}

fn sources(value: &ColumnValue) -> Vec<&Source> {
    match value {
        ColumnValue::Member(sources) | ColumnValue::CodeValue(sources) => sources.iter().collect(),
        ColumnValue::Uri { namespace, code_value } => vec![namespace, code_value],
        ColumnValue::Id | ColumnValue::ChangeVersion | ColumnValue::LastModified => vec![],
    }
}

fn value(column: &Column) -> String {
    match &column.value {
        ColumnValue::Member(sources) => first(sources, column.kind),
        ColumnValue::CodeValue(sources) => {
            let uri = first(sources, column.kind);
            format!("substr({uri}, strpos({uri}, '#') + 1)")
        }
        ColumnValue::Uri { namespace, code_value } => {
            format!("{} || '#' || {}", one(namespace, column.kind), one(code_value, column.kind))
        }
        ColumnValue::Id => "replace(d.uuid::text, '-', '')".into(),
        ColumnValue::ChangeVersion => "d.cv".into(),
        ColumnValue::LastModified => {
            "timestamptz 'epoch' + d.modified * interval '1 microsecond'".into()
        }
    }
}

fn first(sources: &[Source], kind: ColumnType) -> String {
    match sources {
        [only] => one(only, kind),
        several => {
            let all: Vec<_> = several.iter().map(|source| one(source, kind)).collect();
            format!("coalesce({})", all.join(", "))
        }
    }
}

fn one(source: &Source, kind: ColumnType) -> String {
    match source.path.as_slice() {
        [first, second] if kind == ColumnType::Text => {
            format!("(j{}.\"{first}\"->>'{second}')", source.level)
        }
        [first, second] => {
            format!("(j{}.\"{first}\"->>'{second}')::{}", source.level, sql_type(kind))
        }
        path => format!("j{}.\"{}\"", source.level, path.join(".")),
    }
}

fn sql_type(kind: ColumnType) -> String {
    match kind {
        ColumnType::Text => "text".into(),
        ColumnType::Integer => "integer".into(),
        ColumnType::BigInteger => "bigint".into(),
        ColumnType::Decimal { precision, scale } => format!("numeric({precision}, {scale})"),
        ColumnType::Boolean => "boolean".into(),
        ColumnType::Date => "date".into(),
        ColumnType::Time => "time".into(),
        ColumnType::Timestamp => "timestamptz".into(),
    }
}
