//! CSV as an export writes it: the tables of a resource, put together into documents again.
//!
//! The tables hold the documents in the same order, so they are read side by side. The result is a
//! file of JSON lines in which a document has the line number that it has in its own table.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufReader, BufWriter, Read, Write as _};
use std::path::{Path, PathBuf};

use flate2::read::MultiGzDecoder;
use homeroom_export::table::{ColumnValue, Table, tables};
use homeroom_export::unescaped;
use homeroom_model::{Model, PropertyKind, Resource, ResourceId};
use serde_json::{Map, Value};

use crate::csv_rows::{Rows, fields};
use crate::place::Spot;
use crate::spool::{Spool, SpoolWriter};

/// All tables of a model, by schema and name.
pub(crate) struct ExportedTables {
    all: Vec<Table>,
    by_name: BTreeMap<(String, String), usize>,
}

/// A row of a table, with the id of its document.
struct TableRow {
    line: u64,
    id: String,
    cells: Vec<Option<String>>,
}

/// A table being read.
struct TableReader<'t> {
    table: &'t Table,
    path: PathBuf,
    rows: Rows<Box<dyn Read>>,
    /// For each column of the file, the table's column.
    columns: Vec<Option<usize>>,
    id: usize,
    is_escaped: bool,
    next: Option<TableRow>,
}

impl ExportedTables {
    /// Derives the tables of a model.
    pub(crate) fn new(model: &Model) -> Self {
        let all = tables(model);
        let name = |table: &Table| (table.schema.to_lowercase(), table.name.to_lowercase());
        let by_name = all.iter().zip(0..).map(|(table, at)| (name(table), at)).collect();
        Self { all, by_name }
    }

    /// Returns the resource of the table that a file is named after, `edfi/Student.csv`, and
    /// whether it is the table of the documents themselves.
    pub(crate) fn of(&self, path: &Path) -> Option<(ResourceId, bool)> {
        let name = path.file_name()?.to_str()?.to_lowercase();
        let name = name.strip_suffix(".gz").unwrap_or(&name).strip_suffix(".csv")?;
        let schema = path.parent()?.file_name()?.to_str()?.to_lowercase();
        let at = self.by_name.get(&(schema, name.to_owned()))?;
        let table = &self.all[*at];
        Some((table.resource, table.levels.is_empty()))
    }

    /// Puts the documents of a resource together from the table at `own` and those beside it.
    ///
    /// # Errors
    ///
    /// Returns what is wrong with the tables, as a sentence without its end.
    pub(crate) fn documents(
        &self,
        model: &Model,
        resource: ResourceId,
        own: &Path,
        is_escaped: bool,
    ) -> Result<Spool, String> {
        let folder = own.parent().and_then(Path::parent).unwrap_or(Path::new("")).to_owned();
        let mut readers = vec![];
        for table in self.all.iter().filter(|table| table.resource == resource) {
            let path = if table.levels.is_empty() {
                own.to_owned()
            } else {
                let plain = folder.join(&table.schema).join(format!("{}.csv", table.name));
                let packed = folder.join(&table.schema).join(format!("{}.csv.gz", table.name));
                match [plain, packed].into_iter().find(|path| path.is_file()) {
                    Some(path) => path,
                    None => continue,
                }
            };
            readers.push(TableReader::open(table, path, is_escaped)?);
        }
        put_together(model.resource(resource), readers)
    }
}

fn put_together(resource: &Resource, mut readers: Vec<TableReader<'_>>) -> Result<Spool, String> {
    let kept = |error: std::io::Error| format!("its documents cannot be kept for reading: {error}");
    let mut out = BufWriter::new(SpoolWriter::new().map_err(kept)?);
    let mut line = 1;
    if let Some((own, inner)) = readers.split_first_mut() {
        while let Some(row) = own.take()? {
            let mut document = Value::Object(Map::new());
            put_row(own.table, &row, &mut document)?;
            for reader in inner.iter_mut() {
                while reader.next.as_ref().is_some_and(|next| next.id == row.id)
                    && let Some(inner) = reader.take()?
                {
                    put_row(reader.table, &inner, &mut document).map_err(|problem| {
                        format!("{}, line {}: {problem}", reader.path.display(), inner.line)
                    })?;
                }
            }
            drop_partial(resource, &mut document);
            while line < row.line {
                out.write_all(b"\n").map_err(kept)?;
                line += 1;
            }
            serde_json::to_writer(&mut out, &document).map_err(|error| kept(error.into()))?;
        }
        if let Some((reader, left)) =
            inner.iter().find_map(|reader| Some((reader, reader.next.as_ref()?)))
        {
            return Err(format!(
                "{}, line {}: the row belongs to no document of {}, or is not in its order",
                reader.path.display(),
                left.line,
                own.path.display()
            ));
        }
    }
    let out = out.into_inner().map_err(|error| kept(error.into_error()))?;
    Ok(out.finish())
}

impl<'t> TableReader<'t> {
    fn open(table: &'t Table, path: PathBuf, is_escaped: bool) -> Result<Self, String> {
        let told = |problem: String| format!("{}: {problem}", path.display());
        let file = File::open(&path).map_err(|error| told(error.to_string()))?;
        let is_packed = path.extension().is_some_and(|ending| ending == "gz");
        let source: Box<dyn Read> = if is_packed {
            Box::new(MultiGzDecoder::new(BufReader::new(file)))
        } else {
            Box::new(file)
        };
        let mut rows = Rows::new(source, b',', Spot::START);
        let first = rows.next().map_err(|malformed| told(malformed.message))?;
        let headers = match &first {
            Some(row) => String::from_utf8_lossy(rows.bytes(row)).into_owned(),
            None => String::new(),
        };
        let headers: Vec<String> = fields(&headers, b',')
            .into_iter()
            .map(|header| header.unwrap_or_default().into_owned())
            .collect();
        let column = |header: &String| table.columns.iter().position(|c| c.name == *header);
        let columns: Vec<Option<usize>> = headers.iter().map(column).collect();
        let is_id = |at: &Option<usize>| {
            at.is_some_and(|at| matches!(table.columns[at].value, ColumnValue::Id))
        };
        let id = columns.iter().position(is_id).ok_or_else(|| {
            told("it has no column Id, by which rows of several tables are put together".into())
        })?;
        let mut reader = Self { table, path, rows, columns, id, is_escaped, next: None };
        reader.next = reader.read()?;
        Ok(reader)
    }

    /// Returns the next row and reads the one after it.
    fn take(&mut self) -> Result<Option<TableRow>, String> {
        let following = self.read()?;
        Ok(std::mem::replace(&mut self.next, following))
    }

    fn read(&mut self) -> Result<Option<TableRow>, String> {
        let told = |line, problem: &str| format!("{}, line {line}: {problem}", self.path.display());
        let read = self.rows.next().map_err(|fault| told(fault.line, &fault.message))?;
        let Some(row) = read else { return Ok(None) };
        let line = row.start.line;
        if let Some(problem) = row.problem {
            return Err(told(line, problem));
        }
        let text = std::str::from_utf8(self.rows.bytes(&row))
            .map_err(|_| told(line, "the row is not UTF-8"))?;
        let fields = fields(text, b',');
        if fields.len() != self.columns.len() {
            return Err(told(line, "the row has not as many fields as the table has columns"));
        }
        let mut cells = vec![None; self.table.columns.len()];
        let id = fields[self.id].as_deref().unwrap_or_default().to_owned();
        for (column, field) in self.columns.iter().zip(fields) {
            if let (Some(column), Some(field)) = (column, field) {
                let plain = if self.is_escaped { unescaped(&field) } else { &field };
                cells[*column] = Some(plain.to_owned());
            }
        }
        Ok(Some(TableRow { line, id, cells }))
    }
}

/// Puts the values of a row into a document.
fn put_row(table: &Table, row: &TableRow, document: &mut Value) -> Result<(), String> {
    let depth = table.levels.len();
    // Where the key columns of each level say which item a row belongs to.
    let mut parts: Vec<Vec<(&[String], &str)>> = vec![vec![]; depth + 1];
    for (column, cell) in table.columns.iter().zip(&row.cells) {
        let (ColumnValue::Member(sources), Some(cell)) = (&column.value, cell) else { continue };
        for source in sources {
            if let Some(level) = parts.get_mut(source.level) {
                level.push((&source.path, cell));
            }
        }
    }
    let mut place = document;
    for (at, level) in (1..).zip(&table.levels) {
        let Value::Object(members) = place else { return Ok(()) };
        let inner = members.entry(level.member.clone()).or_insert(Value::Null);
        if !level.is_list {
            if inner.is_null() {
                *inner = Value::Object(Map::new());
            }
            place = inner;
            continue;
        }
        if inner.is_null() {
            *inner = Value::Array(vec![]);
        }
        let Value::Array(items) = inner else { return Ok(()) };
        let found = if at == depth {
            items.push(Value::Object(Map::new()));
            items.last_mut()
        } else {
            let keys = &parts[at];
            items
                .iter_mut()
                .find(|item| keys.iter().all(|(path, cell)| value_at(item, path) == Some(cell)))
        };
        place = found.ok_or_else(|| {
            format!("the row belongs to no item of {}, or comes before it", level.member)
        })?;
    }
    for (path, cell) in &parts[depth] {
        put(place, path, cell);
    }
    Ok(())
}

fn value_at<'v>(value: &'v Value, path: &[String]) -> Option<&'v str> {
    path.iter().try_fold(value, |value, name| value.get(name))?.as_str()
}

fn put(place: &mut Value, path: &[String], cell: &str) {
    let mut place = place;
    for name in path {
        if !place.is_object() {
            *place = Value::Object(Map::new());
        }
        let Value::Object(members) = place else { return };
        place = members.entry(name.clone()).or_insert(Value::Null);
    }
    *place = Value::String(cell.to_owned());
}

/// Removes references of which only the parts are known that they share with others.
fn drop_partial(resource: &Resource, document: &mut Value) {
    drop_partial_of(&resource.properties, document);
}

fn drop_partial_of(properties: &[homeroom_model::Property], value: &mut Value) {
    let Value::Object(members) = value else { return };
    for property in properties {
        match &property.kind {
            PropertyKind::Reference(reference) => {
                let is_whole = |parts: &Value| {
                    reference.parts.iter().all(|part| parts.get(&part.name).is_some())
                };
                if members.get(&property.name).is_some_and(|parts| !is_whole(parts)) {
                    members.shift_remove(&property.name);
                }
            }
            PropertyKind::Object(inner) => {
                if let Some(value) = members.get_mut(&property.name) {
                    drop_partial_of(inner, value);
                }
            }
            PropertyKind::List(inner) => {
                if let Some(Value::Array(items)) = members.get_mut(&property.name) {
                    for item in items {
                        drop_partial_of(inner, item);
                    }
                }
            }
            PropertyKind::Scalar(_) => {}
        }
    }
}
