//! Reports on a run or a search, as text, as tables and as one HTML page that needs no network.
//!
//! Reports are built from values and returned as values; callers write the files. Anything from
//! outside (names of scenarios, steps and servers, addresses, the command line) is escaped in each
//! format.

mod assessment;
mod chart;
mod files;
mod gateway;
mod input;
mod learners;
mod levels;
mod live;
mod markup;
mod others;
mod pace;
mod page;
mod published;
mod server;
mod shell;
mod summary;
mod table;
mod thin;
mod words;

pub use assessment::{Assessment, Finding, Judgement, StageVerdict, judge};
pub use files::{csv, markdown};
pub use gateway::GatewayReport;
pub use input::Report;
pub use learners::LearnersReport;
pub use live::Board;
pub use others::{comparison, gate};
pub use page::html;
pub use published::{SAMPLES_COLUMNS, samples, transactional};
pub use summary::{Paint, summary};
pub use table::{Cell, Part, Table};
