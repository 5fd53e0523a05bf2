//! Writes a table as CSV: a header, then one row per line, ending in CR LF.
//!
//! A null is an empty field, an empty text is `""`. A text that a spreadsheet would take for a
//! formula gets an apostrophe in front, unless the options keep it as it is; numbers are never
//! changed.
//!
//! Source: RFC 4180; OWASP, CSV Injection.

use std::path::Path;

use homeroom_store::ChangedAt;
use serde::{Deserialize, Serialize};

use super::field::Field;
use super::file::{TextFile, Written};
use crate::error::ExportError;
use crate::flatten::Cell;

/// How texts are treated that a spreadsheet would take for formulas.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Formulas {
    /// They get an apostrophe in front, which [`unescaped`] removes.
    #[default]
    Escape,
    /// They are written unchanged.
    Keep,
}

/// Whether a spreadsheet may take a text for a formula, now or after removal of leading
/// apostrophes.
///
/// Programs skip blanks, quotes and invisible characters before the sign, and some accept its
/// full-width form; a leading tab or line break may start a cell of its own.
fn may_be_formula(text: &str) -> bool {
    let is_passed_over = |c: char| {
        c.is_whitespace() || c.is_control() || "'\"`\u{200b}\u{200e}\u{200f}\u{feff}".contains(c)
    };
    let text = text.trim_start_matches('\'');
    text.starts_with(['\t', '\r', '\n'])
        || text
            .trim_start_matches(is_passed_over)
            .starts_with(['=', '+', '-', '@', '＝', '＋', '－', '＠'])
}

/// Returns the original text of a field that was written with [`Formulas::Escape`].
pub fn unescaped(field: &str) -> &str {
    field.strip_prefix('\'').filter(|text| may_be_formula(text)).unwrap_or(field)
}

/// An open CSV file.
pub(super) struct CsvFile {
    formulas: Formulas,
    file: TextFile,
    line: Vec<u8>,
}

impl CsvFile {
    pub(super) fn create(
        path: &Path,
        fields: &[Field],
        compress: bool,
        formulas: Formulas,
    ) -> Result<Self, ExportError> {
        let mut csv = Self { formulas, file: TextFile::create(path, compress)?, line: vec![] };
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
            write_cell(&mut self.line, cell, self.formulas);
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

fn write_cell(line: &mut Vec<u8>, cell: &Cell<'_>, formulas: Formulas) {
    match cell {
        Cell::Null => {}
        Cell::Text(text) if formulas == Formulas::Escape && may_be_formula(text) => {
            write_text(line, &format!("'{text}"));
        }
        Cell::Text(text) => write_text(line, text),
        Cell::Number(number) => line.extend_from_slice(number.as_bytes()),
        Cell::Integer(number) => line.extend_from_slice(number.to_string().as_bytes()),
        Cell::Boolean(value) => line.extend_from_slice(if *value { b"true" } else { b"false" }),
        Cell::Moment(micros) => {
            line.extend_from_slice(ChangedAt(*micros).to_string().as_bytes());
        }
    }
}

/// Writes a text, in quotes where it needs them. A program that divides lines at semicolons or tabs
/// would otherwise find the beginning of a formula in the middle of a text.
fn write_text(line: &mut Vec<u8>, text: &str) {
    let is_plain = !text.is_empty() && !text.bytes().any(|b| b",;\t\"\r\n".contains(&b));
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
    use proptest::prelude::*;

    use super::*;

    fn escaped(cell: &Cell<'_>) -> String {
        let mut line = vec![];
        write_cell(&mut line, cell, Formulas::Escape);
        String::from_utf8(line).unwrap()
    }

    #[test]
    fn a_text_that_begins_a_formula_gets_an_apostrophe_and_a_number_stays_one() {
        for (text, written) in [
            ("=cmd|' /C calc'!A0", "'=cmd|' /C calc'!A0"),
            ("+1 555 0100", "'+1 555 0100"),
            ("-5", "'-5"),
            ("@SUM(1)", "'@SUM(1)"),
            ("  =1", "'  =1"),
            ("\u{a0}=1", "'\u{a0}=1"),
            ("\tx", "\"'\tx\""),
            ("\r=1", "\"'\r=1\""),
            ("\"=1", "\"'\"\"=1\""),
            ("'=1", "''=1"),
            ("\u{feff}=1", "'\u{feff}=1"),
            ("＝1", "'＝1"),
            ("－1", "'－1"),
            // Not formulas.
            ("1=1", "1=1"),
            ("'tis", "'tis"),
            ("a-b", "a-b"),
            ("uri://ed-fi.org/A#=b", "uri://ed-fi.org/A#=b"),
        ] {
            assert_eq!(escaped(&Cell::Text(text.into())), written, "{text:?}");
        }
        assert_eq!(escaped(&Cell::Number("-1.50")), "-1.50");
        assert_eq!(escaped(&Cell::Integer(-7)), "-7");
    }

    proptest! {
        #[test]
        fn escaping_a_formula_can_be_undone_exactly(
            text in "['\"=+@ \t\r\n＝－a-]{0,6}\\PC{0,3}",
        ) {
            let field = escaped(&Cell::Text(text.as_str().into()));
            let quoted = field.strip_prefix('"').and_then(|field| field.strip_suffix('"'));
            let field = quoted.map_or(field.clone(), |field| field.replace("\"\"", "\""));

            prop_assert_eq!(unescaped(&field), &text);
            let begin = field.trim_start_matches(|c: char| c.is_whitespace() || c == '"');
            prop_assert!(!begin.starts_with(['=', '+', '-', '@', '＝', '－']), "{}", field);
        }
    }

    #[test]
    fn separators_are_quoted_and_null_differs_from_an_empty_text() {
        for (cell, written) in [
            (Cell::Null, ""),
            (Cell::Text("".into()), "\"\""),
            (Cell::Text("Oak Hill".into()), "Oak Hill"),
            (Cell::Text("Quill, \"Ada\"".into()), "\"Quill, \"\"Ada\"\"\""),
            (Cell::Text("two\nlines".into()), "\"two\nlines\""),
            (Cell::Text("=1+1".into()), "=1+1"),
            (Cell::Number("-1.50"), "-1.50"),
            (Cell::Integer(-7), "-7"),
            (Cell::Boolean(true), "true"),
            (Cell::Moment(0), "1970-01-01T00:00:00.000Z"),
        ] {
            let mut line = vec![];

            write_cell(&mut line, &cell, Formulas::Keep);

            assert_eq!(String::from_utf8(line).unwrap(), written, "{cell:?}");
        }
    }
}
