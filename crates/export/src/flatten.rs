//! Turns a document into rows of its tables.

use std::borrow::Cow;

use homeroom_document::json::Json;

use crate::table::{Column, ColumnValue, Source, Table};

/// The value of a column in a row.
#[derive(Debug, Clone, PartialEq)]
pub enum Cell<'a> {
    /// A null.
    Null,
    /// Text, a date, a time or a timestamp, as the API writes it.
    Text(Cow<'a, str>),
    /// A number as it is stored.
    Number(&'a str),
    /// A whole number.
    Integer(i64),
    /// A boolean.
    Boolean(bool),
    /// A timestamp in microseconds since 1970.
    Moment(i64),
}

/// Facts about a document that its text does not hold.
#[derive(Debug, Clone, Copy)]
pub struct About<'a> {
    /// Public id, as 32 hex digits.
    pub id: &'a str,
    /// Change version.
    pub change_version: i64,
    /// Time of its last change, in microseconds since 1970.
    pub modified: i64,
}

type Members<'a> = &'a [(Cow<'a, str>, Json<'a>)];

/// Calls `take` with each row of a document in a table; the cells are in the order of its columns.
///
/// # Errors
///
/// Returns the first error of `take`.
pub fn each_row<'a, E>(
    table: &Table,
    document: &'a Json<'a>,
    about: About<'a>,
    take: &mut dyn FnMut(&[Cell<'a>]) -> Result<(), E>,
) -> Result<(), E> {
    let Json::Object(members) = document else { return Ok(()) };
    let mut rows = Rows { table, about, objects: vec![members], cells: vec![], take };
    rows.descend(0)
}

struct Rows<'a, 't, E> {
    table: &'t Table,
    about: About<'a>,
    /// The document, then the current object of each level.
    objects: Vec<Members<'a>>,
    cells: Vec<Cell<'a>>,
    take: &'t mut dyn FnMut(&[Cell<'a>]) -> Result<(), E>,
}

impl<'a, E> Rows<'a, '_, E> {
    fn descend(&mut self, depth: usize) -> Result<(), E> {
        let table = self.table;
        let Some(level) = table.levels.get(depth) else {
            self.cells.clear();
            for column in &table.columns {
                let cell = self.cell(column);
                self.cells.push(cell);
            }
            return (self.take)(&self.cells);
        };
        let items = match member(self.objects[depth], &level.member) {
            Some(Json::Array(items)) if level.is_list => items.as_slice(),
            Some(object) if !level.is_list => std::slice::from_ref(object),
            _ => &[],
        };
        for item in items {
            let Json::Object(members) = item else { continue };
            self.objects.push(members);
            self.descend(depth + 1)?;
            self.objects.pop();
        }
        Ok(())
    }

    fn cell(&self, column: &Column) -> Cell<'a> {
        match &column.value {
            ColumnValue::Member(sources) => match self.first(sources) {
                Some(Json::Text(text)) => Cell::Text(Cow::Borrowed(text)),
                Some(Json::Number(number)) => Cell::Number(number),
                Some(Json::Boolean(value)) => Cell::Boolean(*value),
                _ => Cell::Null,
            },
            ColumnValue::CodeValue(sources) => match self.first(sources) {
                Some(Json::Text(uri)) => uri
                    .split_once('#')
                    .map_or(Cell::Null, |(_, code)| Cell::Text(Cow::Borrowed(code))),
                _ => Cell::Null,
            },
            ColumnValue::Uri { namespace, code_value } => {
                match (self.find(namespace), self.find(code_value)) {
                    (Some(Json::Text(namespace)), Some(Json::Text(code))) => {
                        Cell::Text(Cow::Owned(format!("{namespace}#{code}")))
                    }
                    _ => Cell::Null,
                }
            }
            ColumnValue::Id => Cell::Text(Cow::Borrowed(self.about.id)),
            ColumnValue::ChangeVersion => Cell::Integer(self.about.change_version),
            ColumnValue::LastModified => Cell::Moment(self.about.modified),
        }
    }

    fn first(&self, sources: &[Source]) -> Option<&'a Json<'a>> {
        sources.iter().find_map(|source| self.find(source))
    }

    fn find(&self, source: &Source) -> Option<&'a Json<'a>> {
        let mut found: Option<&'a Json<'a>> = None;
        let mut members = *self.objects.get(source.level)?;
        for name in &source.path {
            if let Some(Json::Object(inner)) = found {
                members = inner;
            } else if found.is_some() {
                return None;
            }
            found = Some(member(members, name)?);
        }
        found.filter(|json| **json != Json::Null)
    }
}

fn member<'a>(members: Members<'a>, name: &str) -> Option<&'a Json<'a>> {
    members.iter().find(|(known, _)| known == name).map(|(_, value)| value)
}
