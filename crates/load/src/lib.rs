//! Sends scheduled load to any HTTP server, and records what came back.
//!
//! A [`scenario`] defines what modelled clients send, a [`stage`] how much of it and for how long.
//! The [`engine`] sends on schedule whether or not answers come, and measures from the moment at
//! which a request was due. Its measurements are [`record`]ed and written to a [`run`] file for
//! people and programs. This crate knows nothing of the server's internals and needs no database.
//!
//! ```
//! use homeroom_load::engine::requests;
//! use homeroom_load::scenario::{Program, Setup};
//! use homeroom_load::stage::Stage;
//!
//! let scenario = r#"
//!     name = "schools"
//!
//!     [[steps]]
//!     name = "list"
//!     path = "/ed-fi/schools?limit=5"
//! "#;
//! let program = Program::read(scenario, &Setup::default())?;
//! let stages = Stage::parse_list("50/s 1m, 50..150/s 2m")?;
//!
//! assert_eq!(program.facts()[0].method, "GET");
//! assert_eq!(stages.iter().map(requests).sum::<u64>(), 50 * 60 + 100 * 120);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod client;
pub mod duration;
pub mod echo;
pub mod engine;
mod figures;
pub mod host;
pub mod outcome;
pub mod record;
pub mod run;
pub mod scenario;
pub mod stage;
pub mod token;
