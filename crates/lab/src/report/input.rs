//! What a report is about.

use homeroom_load::run::RunFile;

use super::table::Table;
use crate::capacity::Capacity;

/// The content of a report.
#[derive(Debug, Clone, Copy)]
pub struct Report<'a> {
    /// The run; for a capacity search, the one nearest to the stable level.
    pub run: &'a RunFile,
    /// The result of a capacity search, which is then the report's answer.
    pub capacity: Option<&'a Capacity>,
    /// Further runs and what they show: below capacity, above it.
    pub profiles: &'a [(&'a str, &'a RunFile)],
    /// Further tables, such as those of a comparison or a gate.
    pub tables: &'a [Table],
}

impl<'a> Report<'a> {
    /// Returns the report of a single run.
    pub fn of(run: &'a RunFile) -> Self {
        Self { run, capacity: None, profiles: &[], tables: &[] }
    }
}
