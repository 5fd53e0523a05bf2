//! A table as a value, and the three formats in which it is written.

use std::fmt::Write;

use super::markup::Markup;
use super::words;

/// A table; the first cell of a row is its label.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Table {
    /// Its id in the page: letters and hyphens.
    pub id: String,
    /// What it shows.
    pub caption: String,
    /// The headings; that of the first column may be empty in a page, but not in a file.
    pub columns: Vec<String>,
    /// The rows, in parts that may have a heading.
    pub parts: Vec<Part>,
    /// The meaning of the headings, as pairs of heading and definition.
    pub notes: Vec<(&'static str, String)>,
}

/// Rows that belong together.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Part {
    /// The heading; empty for none.
    pub heading: String,
    /// The rows, each as long as the table has columns.
    pub rows: Vec<Vec<Cell>>,
}

/// One value of a table.
#[derive(Debug, Clone, PartialEq)]
pub enum Cell {
    /// A text, which may come from outside.
    Text(String),
    /// A whole number.
    Count(u64),
    /// A number in the unit of the heading.
    Figure(f64),
    /// A share, shown in per cent.
    Percent(f64),
    /// No value.
    Nothing,
}

/// The first heading in a file if the page has none.
const LABEL: &str = "Label";

impl Cell {
    /// Returns the cell as shown to readers.
    pub fn shown(&self) -> String {
        match self {
            Self::Text(text) => words::name(text),
            Self::Count(count) => words::count(*count),
            Self::Figure(figure) => words::figure(*figure),
            Self::Percent(share) => {
                words::percent(*share).trim_end_matches(" %").replace("< ", "<").replace("> ", ">")
            }
            Self::Nothing => words::NOTHING.into(),
        }
    }

    /// Returns the cell as written for programs.
    fn plain(&self) -> String {
        match self {
            Self::Text(text) => words::name(text),
            Self::Count(count) => count.to_string(),
            Self::Figure(figure) => words::plain(*figure),
            Self::Percent(share) => words::plain(share * 100.0),
            Self::Nothing => String::new(),
        }
    }

    fn is_text(&self) -> bool {
        matches!(self, Self::Text(_))
    }
}

impl Table {
    /// Returns the rows of all parts.
    pub fn rows(&self) -> impl Iterator<Item = &Vec<Cell>> {
        self.parts.iter().flat_map(|part| &part.rows)
    }

    /// Returns the table as Markdown, followed by the definitions.
    pub fn markdown(&self) -> String {
        let mut out = format!("**{}**\n\n", markdown_text(&self.caption));
        let line = |cells: &mut dyn Iterator<Item = String>| {
            let cells: Vec<String> = cells.collect();
            format!("| {} |\n", cells.join(" | "))
        };
        out += &line(&mut self.columns.iter().map(|column| markdown_text(column)));
        out += &line(&mut self.columns.iter().enumerate().map(|(at, _)| {
            let text = self.rows().next().is_some_and(|row| row[at].is_text());
            if at == 0 || text { "---".into() } else { "---:".into() }
        }));
        for row in self.rows() {
            out += &line(&mut row.iter().map(|cell| markdown_text(&cell.shown())));
        }
        if !self.notes.is_empty() {
            out.push('\n');
        }
        for (heading, definition) in &self.notes {
            let (heading, definition) = (markdown_text(heading), markdown_text(definition));
            let _ = writeln!(out, "- *{heading}*: {definition}");
        }
        out
    }

    /// Returns the table as CSV (RFC 4180) with a header line.
    pub fn csv(&self) -> String {
        let headings = self
            .columns
            .iter()
            .map(|column| if column.is_empty() { LABEL } else { column })
            .map(|column| csv_field(&no_formula(column.into())));
        let mut out = headings.collect::<Vec<_>>().join(",") + "\r\n";
        for row in self.rows() {
            let fields = row.iter().map(|cell| match cell {
                Cell::Text(_) => csv_field(&no_formula(cell.plain())),
                _ => cell.plain(),
            });
            out += &(fields.collect::<Vec<_>>().join(",") + "\r\n");
        }
        out
    }

    /// Writes the table as HTML in a scrollable area that the keyboard can reach, followed by the
    /// definitions.
    pub fn html(&self, page: &mut Markup) {
        let caption = format!("{}-caption", self.id);
        let area = [
            ("class", "scroll"),
            ("role", "region"),
            ("tabindex", "0"),
            ("aria-labelledby", caption.as_str()),
        ];
        page.element("div", &area, |m| {
            m.element("table", &[("id", &self.id)], |m| {
                m.leaf("caption", &[("id", &caption)], &self.caption);
                m.element("thead", &[], |m| m.element("tr", &[], |m| self.headings(m)));
                for part in &self.parts {
                    self.part(m, part);
                }
            });
        });
        page.line();
        if !self.notes.is_empty() {
            page.element("dl", &[("class", "notes")], |m| {
                for (heading, definition) in &self.notes {
                    m.element("div", &[], |m| {
                        m.leaf("dt", &[], heading);
                        m.leaf("dd", &[], definition);
                    });
                }
            });
            page.line();
        }
    }

    fn headings(&self, page: &mut Markup) {
        for (at, column) in self.columns.iter().enumerate() {
            let text = at == 0 || self.rows().next().is_some_and(|row| row[at].is_text());
            match (column.is_empty(), text) {
                (true, _) => page.leaf("td", &[], ""),
                (false, true) => page.leaf("th", &[("scope", "col"), ("class", "text")], column),
                (false, false) => page.leaf("th", &[("scope", "col")], &words::name(column)),
            }
        }
    }

    fn part(&self, page: &mut Markup, part: &Part) {
        page.element("tbody", &[], |m| {
            if !part.heading.is_empty() {
                let wide = self.columns.len().to_string();
                let heading =
                    [("scope", "rowgroup"), ("colspan", wide.as_str()), ("class", "part")];
                m.element("tr", &[], |m| m.leaf("th", &heading, &part.heading));
            }
            for row in &part.rows {
                m.line();
                m.element("tr", &[], |m| {
                    for (at, cell) in row.iter().enumerate() {
                        match (at, cell) {
                            (0, _) => {
                                m.element("th", &[("scope", "row")], |m| m.outside(&cell.shown()));
                            }
                            (_, Cell::Text(_)) => {
                                m.element("td", &[("class", "text")], |m| m.outside(&cell.shown()));
                            }
                            _ => m.leaf("td", &[], &cell.shown()),
                        }
                    }
                });
            }
        });
    }
}

/// Escapes text for a cell of a Markdown table.
pub fn markdown_text(text: &str) -> String {
    let mut out = String::new();
    for character in text.chars() {
        match character {
            '<' => out.push_str("&lt;"),
            '&' => out.push_str("&amp;"),
            '|' | '\\' | '`' | '*' | '_' | '[' | ']' | '~' => out.extend(['\\', character]),
            _ => out.push(character),
        }
    }
    out
}

fn csv_field(text: &str) -> String {
    if text.contains([',', '"', '\r', '\n']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}

/// Prefixes a text that a spreadsheet would read as a formula with an apostrophe, which
/// spreadsheets hide. They ignore spaces, quotes and invisible characters before the sign.
///
/// Source: OWASP, CSV Injection.
fn no_formula(text: String) -> String {
    let is_passed_over = |c: char| {
        c.is_whitespace() || c.is_control() || "'\"`\u{200b}\u{200e}\u{200f}\u{feff}".contains(c)
    };
    let begins_cell = text.starts_with(['\t', '\r', '\n']);
    let signs = ['=', '+', '-', '@', '＝', '＋', '－', '＠'];
    if begins_cell || text.trim_start_matches(is_passed_over).starts_with(signs) {
        format!("'{text}")
    } else {
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hostile() -> Table {
        let row = vec![
            Cell::Text("=cmd|\"x\", <b>*".into()),
            Cell::Count(1_234),
            Cell::Figure(1_234.56),
            Cell::Percent(0.000_01),
            Cell::Nothing,
        ];
        let part = Part { heading: "Part".into(), rows: vec![row] };
        let columns = ["", "Samples", "Mean", "Error %", "Rest"].map(String::from).to_vec();
        Table { id: "t".into(), caption: "C".into(), columns, parts: vec![part], notes: vec![] }
    }

    #[test]
    fn a_hostile_name_is_plain_text_in_markdown() {
        let table = hostile();

        let written = table.markdown();

        let row = written.lines().last().unwrap();
        assert_eq!(row, r#"| =cmd\|"x", &lt;b>\* | 1,234 | 1,235 | &lt;0.01 | – |"#);
    }

    #[test]
    fn a_hostile_name_is_plain_text_in_a_spreadsheet() {
        let table = hostile();

        let written = table.csv();

        let (headings, row) = written.trim_end().split_once("\r\n").unwrap();
        assert_eq!(headings, "Label,Samples,Mean,Error %,Rest");
        assert_eq!(row, r#""'=cmd|""x"", <b>*",1234,1234.56,0.001,"#);
    }

    #[test]
    fn no_text_starts_a_formula_whatever_precedes_the_sign() {
        for text in ["=1", " =1", "\"=1", "'=1", "\u{a0}+1", "\t1", "\r\n@a", "＝1", "\u{200b}-1"]
        {
            assert_eq!(no_formula(text.into()), format!("'{text}"), "{text:?}");
        }
        for text in ["", "1", "a=b", "GET /a", "'tis"] {
            assert_eq!(no_formula(text.into()), text);
        }
    }

    #[test]
    fn a_table_marks_its_heading_cells() {
        let mut page = Markup::default();

        hostile().html(&mut page);

        let html = page.finish();
        assert!(html.contains("<tr><td></td><th scope=\"col\">Samples</th>"), "{html}");
        assert!(html.contains("<th scope=\"row\"><bdi>=cmd|&quot;x&quot;, &lt;b&gt;*"), "{html}");
        assert!(html.contains("tabindex=\"0\" aria-labelledby=\"t-caption\""), "{html}");
    }
}
