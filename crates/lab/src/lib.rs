//! The lab: measures how much load a server holds, and reports it.
//!
//! The search for the [`capacity`] sends trials with the engine of `homeroom-load`. [`compare`] and
//! [`gate`] hold runs against each other and against goals, by the rules of [`statistics`], and
//! [`report`] writes pages, tables and summaries of runs. The lab knows nothing of the server's
//! internals and needs no database.

pub mod capacity;
pub mod compare;
pub mod gate;
mod null;
pub mod probe;
pub mod report;
pub mod statistics;
pub mod trial;
