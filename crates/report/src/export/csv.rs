//! A table as CSV: a header, a row a line, CR LF.
//!
//! Nothing is an empty field, empty text is `""`. A text that a spreadsheet would take for a
//! formula is written as it is: whoever opens the file there must import it as text.
//!
//! Source: RFC 4180.

use std::path::Path;

use homeroom_http::Timestamp;

use super::file::{TextFile, Written};
use super::sink::Field;
use crate::error::ExportError;
use crate::flatten::Cell;

/// An open CSV file.
pub(super) struct CsvFile {
    file: TextFile,
    line: Vec<u8>,
}

impl CsvFile {
    pub(super) fn create(
        path: &Path,
        fields: &[Field],
        compress: bool,
    ) -> Result<Self, ExportError> {
        let mut csv = Self { file: TextFile::create(path, compress)?, line: vec![] };
        for (at, field) in fields.iter().enumerate() {
            csv.divide(at);
            write_text(&mut csv.line, &field.name);
        }
        csv.end_line()?;
        Ok(csv)
    }

    pub(super) fn row(&mut self, cells: &[Cell<'_>]) -> Result<(), ExportError> {
        for (at, cell) in cells.iter().enumerate() {
            self.divide(at);
            write_cell(&mut self.line, cell);
        }
        self.end_line()
    }

    pub(super) fn finish(self) -> Result<Option<Written>, ExportError> {
        self.file.finish()
    }

    fn divide(&mut self, at: usize) {
        if at > 0 {
            self.line.push(b',');
        }
    }

    fn end_line(&mut self) -> Result<(), ExportError> {
        self.line.extend_from_slice(b"\r\n");
        self.file.write(&self.line)?;
        self.line.clear();
        Ok(())
    }
}

fn write_cell(line: &mut Vec<u8>, cell: &Cell<'_>) {
    match cell {
        Cell::Null => {}
        Cell::Text(text) => write_text(line, text),
        Cell::Number(number) => line.extend_from_slice(number.as_bytes()),
        Cell::Integer(number) => line.extend_from_slice(number.to_string().as_bytes()),
        Cell::Boolean(value) => line.extend_from_slice(if *value { b"true" } else { b"false" }),
        Cell::Moment(micros) => {
            line.extend_from_slice(Timestamp(*micros).to_string().as_bytes());
        }
    }
}

fn write_text(line: &mut Vec<u8>, text: &str) {
    let is_plain =
        !text.is_empty() && !text.bytes().any(|b| matches!(b, b',' | b'"' | b'\r' | b'\n'));
    if is_plain {
        line.extend_from_slice(text.as_bytes());
        return;
    }
    line.push(b'"');
    for byte in text.bytes() {
        if byte == b'"' {
            line.push(b'"');
        }
        line.push(byte);
    }
    line.push(b'"');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_divides_is_quoted_and_nothing_differs_from_empty() {
        for (cell, written) in [
            (Cell::Null, ""),
            (Cell::Text("".into()), "\"\""),
            (Cell::Text("Oak Hill".into()), "Oak Hill"),
            (Cell::Text("Quill, \"Ada\"".into()), "\"Quill, \"\"Ada\"\"\""),
            (Cell::Text("two\nlines".into()), "\"two\nlines\""),
            (Cell::Text("=1+1".into()), "=1+1"),
            (Cell::Number("1.50"), "1.50"),
            (Cell::Integer(-7), "-7"),
            (Cell::Boolean(true), "true"),
            (Cell::Moment(0), "1970-01-01T00:00:00.000Z"),
        ] {
            let mut line = vec![];

            write_cell(&mut line, &cell);

            assert_eq!(String::from_utf8(line).unwrap(), written, "{cell:?}");
        }
    }
}
