//! Builds the query of a table for PostgreSQL.
//!
//! A document is expanded into typed columns once per row, not once per column.

use std::fmt::Write as _;

use homeroom_store::{KindId, View};

use crate::table::{Column, ColumnType, ColumnValue, Source, Table, postgres_name};

/// Length of the longest column name; a record cannot have a member with a longer name.
const NAME_MAX: usize = 63;

pub(super) fn view(table: &Table, kind: KindId) -> View {
    // The JSON text of each level's object.
    let mut objects = vec!["d.body::json".to_owned()];
    let mut from = format!(
        "doc d CROSS JOIN LATERAL json_to_record({}) AS j0({})",
        objects[0],
        record(table, 0)
    );
    let mut filter = format!("d.kind = {}", kind.0);
    for (at, level) in table.levels.iter().enumerate() {
        let (inner, member) = (at + 1, format!("j{at}.\"{}\"", level.member));
        let object = if level.is_list {
            let items = format!("json_array_elements({member}) AS i{inner}(item)");
            _ = write!(from, " CROSS JOIN LATERAL {items}");
            format!("i{inner}.item")
        } else {
            _ = write!(filter, " AND {member} IS NOT NULL");
            member
        };
        let members = record(table, inner);
        _ = write!(from, " CROSS JOIN LATERAL json_to_record({object}) AS j{inner}({members})");
        objects.push(object);
    }
    let columns: Vec<String> = table
        .columns
        .iter()
        .map(|column| format!("{} AS \"{}\"", value(column, &objects), postgres_name(&column.name)))
        .collect();
    View {
        schema: table.schema.clone(),
        name: postgres_name(&table.name),
        select: format!("SELECT {} FROM {from} WHERE {filter}", columns.join(", ")),
    }
}

/// Returns the members of a level's object that the table needs, with their types.
fn record(table: &Table, level: usize) -> String {
    let mut found: Vec<(&str, String)> = vec![];
    let mut add = |name, kind| {
        let is_short = str::len(name) <= NAME_MAX;
        if is_short && !found.iter().any(|(known, _)| *known == name) {
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
        // A record needs at least one column.
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

fn value(column: &Column, objects: &[String]) -> String {
    match &column.value {
        ColumnValue::Member(sources) => first(sources, column.kind, objects),
        ColumnValue::CodeValue(sources) => {
            let uri = first(sources, column.kind, objects);
            format!("substr({uri}, strpos({uri}, '#') + 1)")
        }
        ColumnValue::Uri { namespace, code_value } => {
            format!(
                "{} || '#' || {}",
                one(namespace, column.kind, objects),
                one(code_value, column.kind, objects)
            )
        }
        ColumnValue::Id => "replace(d.uuid::text, '-', '')".into(),
        ColumnValue::ChangeVersion => "d.cv".into(),
        ColumnValue::LastModified => {
            "timestamptz 'epoch' + d.modified * interval '1 microsecond'".into()
        }
    }
}

fn first(sources: &[Source], kind: ColumnType, objects: &[String]) -> String {
    match sources {
        [only] => one(only, kind, objects),
        several => {
            let all: Vec<_> = several.iter().map(|source| one(source, kind, objects)).collect();
            format!("coalesce({})", all.join(", "))
        }
    }
}

fn one(source: &Source, kind: ColumnType, objects: &[String]) -> String {
    let (Some((last, way)), level) = (source.path.split_last(), source.level) else {
        return "NULL".into();
    };
    let (mut way, mut from) = (way, objects[level].clone());
    match way.first() {
        // The record already has the member, typed or as JSON.
        None if last.len() <= NAME_MAX => return format!("j{level}.\"{last}\""),
        Some(first) if first.len() <= NAME_MAX => {
            from = format!("j{level}.\"{first}\"");
            way = &way[1..];
        }
        None | Some(_) => {}
    }
    for name in way {
        _ = write!(from, "->'{name}'");
    }
    let text = format!("({from}->>'{last}')");
    if kind == ColumnType::Text { text } else { format!("{text}::{}", sql_type(kind)) }
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
