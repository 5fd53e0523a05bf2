//! The lab: sends scheduled load to any HTTP server and measures how much that server can hold.
//!
//! A [`Scenario`](scenario) defines what modelled clients send, a [`stage`] how much of it and for
//! how long. The [`engine`] sends on schedule whether or not answers come, and measures from the
//! moment at which a request was due. Its measurements are [`record`]ed and written to a [`run`]
//! file for people and programs. The lab knows nothing of the server's internals and needs no
//! database.

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
