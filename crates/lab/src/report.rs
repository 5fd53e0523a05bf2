//! Reports: what a run or a search gave, as text, as tables and as one page that needs no network.
//!
//! All of it is made of values and is a value; callers write files. Whatever comes from outside
//! (names of scenarios, steps and servers, addresses, the command line) is text in each form.

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
use crate::run::RunFile;

/// What a report is made of.
#[derive(Debug, Clone, Copy)]
pub struct Report<'a> {
    /// The run; of a search for the capacity, the one that is nearest to the stable level.
    pub run: &'a RunFile,
    /// What a search for the capacity found; then the answer is its.
    pub capacity: Option<&'a Capacity>,
    /// Further runs, with what they show: below capacity, above it.
    pub profiles: &'a [(&'a str, &'a RunFile)],
    /// Further tables, for instance of a comparison or of a gate.
    pub tables: &'a [Table],
}

impl<'a> Report<'a> {
    /// The report of a run alone.
    pub fn of(run: &'a RunFile) -> Self {
        Self { run, capacity: None, profiles: &[], tables: &[] }
    }
}
