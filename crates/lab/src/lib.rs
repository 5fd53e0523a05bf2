//! The lab: measures how much load a server holds, and reports it.
//!
//! The search for the [`capacity`] decides which trials to make; a [`runner`] makes them with the
//! engine of `homeroom-load`. [`gateway`] and [`learners`] have the published tests of API
//! gateways and of course engines. [`compare`] judges runs against two targets, and [`gate`] checks a run against goals, both by the rules of
//! [`statistics`]. [`report`] writes pages, tables and summaries.
//! The lab knows nothing of the server's internals and needs no database.
//!
//! ```
//! use homeroom_lab::gate::{evaluate, parse};
//!
//! let run = r#"{"response_ms": {"p99": 104.2}}"#;
//! let goals = [parse("p99 > 100ms")?, parse("p99 > 200ms")?];
//! let results = evaluate(run, &goals)?;
//!
//! assert_eq!(results[0].shown(), "104.2 ms");
//! assert!(results[0].failed && !results[1].failed);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod capacity;
pub mod compare;
pub mod gate;
pub mod gateway;
pub mod learners;
pub mod report;
pub mod runner;
pub mod self_check;
pub mod statistics;
pub mod trial;
