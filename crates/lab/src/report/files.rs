//! The tables as files: one Markdown file, several CSV files.

use super::table::Table;
use super::{Report, assessment, levels, published};

/// Returns all tables as Markdown after the answer. For a search, the levels and the trials follow.
pub fn markdown(report: &Report) -> String {
    let mut parts = vec![];
    if let Some(capacity) = report.capacity {
        parts.push(levels::answer(capacity));
        parts.push(levels::levels(capacity).markdown());
        parts.push(levels::trials(capacity).markdown());
        parts.extend(levels::forecast(capacity).map(|table| table.markdown()));
        parts.push(format!("The tables below are of {}.\n", assessment::shown_run(report.run)));
    } else {
        parts.push(assessment::answer(report.run));
    }
    let tables = [published::transactional(report.run), published::samples(report.run)];
    parts.extend(tables.iter().chain(report.tables).map(Table::markdown));
    parts.join("\n")
}

/// Returns the tables as CSV, each with the part before `.csv` in its file name: nothing for the
/// samples, then `stages` and, for a search, `levels` and `trials`.
pub fn csv(report: &Report) -> Vec<(&'static str, String)> {
    let mut files = vec![
        ("", published::samples(report.run).csv()),
        ("stages", published::transactional(report.run).csv()),
    ];
    if let Some(capacity) = report.capacity {
        files.push(("levels", levels::levels(capacity).csv()));
        files.push(("trials", levels::trials(capacity).csv()));
    }
    files
}
