//! Reports on a run or a search, as text, as tables and as one HTML page that needs no network.
//!
//! Reports are built from values and returned as values; callers write the files. Anything from
//! outside (names of scenarios, steps and servers, addresses, the command line) is escaped in each
//! format.

mod chart;
mod files;
mod levels;
mod live;
mod markup;
mod others;
mod pace;
mod page;
mod published;
mod server;
mod summary;
mod table;
mod thin;
mod verdict;
mod words;

pub use files::{csv, markdown};
pub use live::Board;
pub use others::{comparison, gate};
pub use page::html;
pub use published::{SAMPLES_COLUMNS, samples, transactional};
pub use summary::{Paint, summary};
pub use table::{Cell, Part, Table};
pub use verdict::{Finding, Judgement, StageVerdict, Verdict, judge};

use crate::capacity::Capacity;
use homeroom_load::run::RunFile;

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
