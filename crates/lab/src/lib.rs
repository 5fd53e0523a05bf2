//! The lab: load on a schedule against any HTTP server, and how much that server can hold.
//!
//! A [`Scenario`](scenario) says what modelled clients send, [`stage`] how much of it and for how
//! long. The [`engine`] sends on schedule whether or not answers come, and measures from the moment
//! that was intended. What it saw it [`record`]s; a [`run`] file holds it for
//! people and programs. It knows nothing of the server's insides, and no database.

pub mod capacity;
pub mod client;
pub mod compare;
pub mod duration;
pub mod echo;
pub mod edfi;
pub mod engine;
pub mod gate;
pub mod host;
mod null;
pub mod outcome;
pub mod probe;
pub mod record;
pub mod report;
pub mod run;
pub mod scenario;
pub mod stage;
pub mod statistics;
pub mod token;
pub mod trial;
