//! The records of a CSV file, by a mapping: each row is a document.

use std::fs::File;
use std::io::{BufReader, Seek, SeekFrom};
use std::path::Path;

use homeroom_document::Code;
use homeroom_document::json::Json;
use homeroom_document::validate::unknown_members;
use homeroom_model::Model;
use serde_json::{Map, Value};

use crate::csv_map::{CsvMap, Step};
use crate::csv_rows::{Row, Rows, fields};
use crate::error::LoadError;
use crate::flaw::Flaw;
use crate::identity::without_indices;
use crate::levels::Levels;
use crate::place::{At, Malformed, Spot};
use crate::record::Record;
use crate::survey::{Run, Survey};
use crate::xml::{ReadError, number};

/// Most unknown members of one row that are told.
const STRAYS_MAX: usize = 100;

/// The columns of a CSV file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CsvLayout {
    /// How rows become documents.
    pub map: CsvMap,
    /// The row of headers, as it stands in the file.
    pub header: Vec<u8>,
    /// Number of columns.
    count: usize,
    /// For each column of the map, its index in the file.
    indices: Vec<usize>,
    /// Where the first row of values begins.
    first: Spot,
}

/// A CSV file with its layout.
pub(crate) struct CsvFile<'a> {
    /// The model.
    pub model: &'a Model,
    /// Where the file is.
    pub path: &'a Path,
    /// Index of the file.
    pub index: u32,
    /// Its columns.
    pub layout: &'a CsvLayout,
}

impl CsvLayout {
    /// Reads the headers of a file.
    ///
    /// # Errors
    ///
    /// Returns why the mapping does not fit the file, as a sentence without its end.
    pub(crate) fn read(path: &Path, map: &CsvMap) -> Result<Option<Self>, String> {
        let unreadable = |error: String| format!("the file cannot be read: {error}");
        let file = File::open(path).map_err(|error| unreadable(error.to_string()))?;
        let mut rows = Rows::new(BufReader::new(file), map.delimiter, Spot::START);
        let Some(row) = rows.next().map_err(|malformed| malformed.message)? else {
            return Ok(None);
        };
        if let Some(problem) = row.problem {
            return Err(format!("in the headers, {problem}"));
        }
        let header = rows.bytes(&row).to_vec();
        let text = std::str::from_utf8(&header)
            .map_err(|_| "the headers are not UTF-8; convert the file".to_owned())?;
        let names: Vec<String> = fields(text, map.delimiter)
            .into_iter()
            .map(|name| name.unwrap_or_default().trim().to_owned())
            .collect();
        let mut indices = vec![];
        for (header, _) in &map.columns {
            let header = header.trim();
            let at = names
                .iter()
                .position(|name| name == header)
                .or_else(|| names.iter().position(|name| name.eq_ignore_ascii_case(header)));
            indices.push(at.ok_or_else(|| {
                format!(
                    "it has no column {header}, which its mapping names; it has {}",
                    names.join(", ")
                )
            })?);
        }
        let first = rows.spot;
        Ok(Some(Self { map: map.clone(), header, count: names.len(), indices, first }))
    }
}

impl CsvFile<'_> {
    /// Finds the place of every row.
    ///
    /// # Errors
    ///
    /// [`Malformed`] when the file cannot be read.
    pub(crate) fn survey(&self, levels: &Levels) -> Result<Survey, Malformed> {
        let mut survey = Survey::default();
        let mut rows = self.rows(self.layout.first)?;
        while let Some(row) = rows.next()? {
            survey.record(levels, Some(self.layout.map.resource), row.start, rows.spot.offset);
        }
        Ok(survey)
    }

    /// Calls `take` with each record of a run.
    pub(crate) fn each(
        &self,
        run: Run,
        take: &mut dyn FnMut(Record<'_>) -> Result<(), LoadError>,
    ) -> Result<(), ReadError> {
        let mut rows = self.rows(run.start)?;
        let mut text = String::new();
        while rows.spot.offset < run.end
            && let Some(row) = rows.next()?
        {
            take(self.record(&row, rows.bytes(&row), &mut text))?;
        }
        Ok(())
    }

    /// Reads one record again and passes it to `take`.
    pub(crate) fn at<T>(&self, at: At, take: impl FnOnce(Record<'_>) -> T) -> Result<T, ReadError> {
        let spot = Spot::on_line(at.offset, at.line);
        let mut rows = self.rows(spot)?;
        match rows.next()? {
            Some(row) => Ok(take(self.record(&row, rows.bytes(&row), &mut String::new()))),
            None => Err(spot.malformed("the file has changed since the load began").into()),
        }
    }

    fn rows(&self, at: Spot) -> Result<Rows<File>, Malformed> {
        let open = || {
            let mut file = File::open(self.path)?;
            file.seek(SeekFrom::Start(at.offset))?;
            Ok::<_, std::io::Error>(file)
        };
        let file =
            open().map_err(|error| at.malformed(format!("the file cannot be read: {error}")))?;
        Ok(Rows::new(file, self.layout.map.delimiter, at))
    }

    fn record<'t>(&self, row: &Row, bytes: &[u8], text: &'t mut String) -> Record<'t> {
        let map = &self.layout.map;
        let Spot { offset, line, .. } = row.start;
        let length = bytes.len() as u64 + row.beyond;
        let at = At { file: self.index, offset, bytes: length, line };
        let flawed = |message: String| Record::flawed(at, Some(map.resource), flaw(message));
        if let Some(problem) = row.problem {
            return flawed(format!("The row cannot be read: {problem}."));
        }
        let Ok(bytes) = std::str::from_utf8(bytes) else {
            return flawed("The row is not UTF-8; convert the file.".into());
        };
        let fields = fields(bytes, map.delimiter);
        if fields.len() != self.layout.count {
            return flawed(format!(
                "The row has {} fields, and the file has {} columns.",
                fields.len(),
                self.layout.count
            ));
        }
        let mut document = Value::Object(Map::new());
        for (path, value) in &map.constants {
            put(&mut document, path, value.clone());
        }
        for ((_, target), index) in map.columns.iter().zip(&self.layout.indices) {
            let Some(value) = fields[*index].as_deref().filter(|value| !value.is_empty()) else {
                continue;
            };
            let value = target.values.get(value).map_or(value, String::as_str);
            let text = match number(value).filter(|_| target.is_number && target.prefix.is_empty())
            {
                Some(number) => number,
                None => format!("{}{value}", target.prefix),
            };
            put(&mut document, &target.path, text);
        }
        close_gaps(&mut document);
        *text = document.to_string();
        match Json::read(text.as_bytes()) {
            Ok(json) => {
                let resource = self.model.resource(map.resource);
                let strays = unknown_members(self.model, resource, &json, STRAYS_MAX);
                let strays = strays.iter().map(|path| without_indices(path)).collect();
                Record::new(at, Some(map.resource), json, vec![], strays)
            }
            Err(error) => flawed(format!("The row cannot be read: {}.", error.message)),
        }
    }
}

/// Puts a text at a path. Objects and items that are not there are made.
fn put(document: &mut Value, path: &[Step], text: String) {
    let mut place = document;
    for step in path {
        place = match step {
            Step::Member(name) => {
                if !place.is_object() {
                    *place = Value::Object(Map::new());
                }
                let Value::Object(members) = place else { return };
                members.entry(name.clone()).or_insert(Value::Null)
            }
            Step::Item(index) => {
                if !place.is_array() {
                    *place = Value::Array(vec![]);
                }
                let Value::Array(items) = place else { return };
                if items.len() <= *index {
                    items.resize(index + 1, Value::Null);
                }
                &mut items[*index]
            }
        };
    }
    *place = Value::String(text);
}

/// Removes the items for which a row has no values.
fn close_gaps(value: &mut Value) {
    match value {
        Value::Array(items) => {
            items.retain(|item| !item.is_null());
            items.iter_mut().for_each(close_gaps);
        }
        Value::Object(members) => members.values_mut().for_each(close_gaps),
        _ => {}
    }
}

fn flaw(message: String) -> Flaw {
    Flaw {
        place: None,
        code: Code::Unreadable,
        path: String::new(),
        general: "A row cannot be read.",
        message,
        hint: "Mend the row there, and load it again.",
    }
}
