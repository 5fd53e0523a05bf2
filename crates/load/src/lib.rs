//! Sends scheduled load to any HTTP server, and records what came back.
//!
//! A [`Scenario`](scenario) defines what modelled clients send, a [`stage`] how much of it and for
//! how long. The [`engine`] sends on schedule whether or not answers come, and measures from the
//! moment at which a request was due. Its measurements are [`record`]ed and written to a [`run`]
//! file for people and programs. This crate knows nothing of the server's internals and needs no
//! database.

pub mod client;
pub mod duration;
pub mod echo;
pub mod engine;
pub mod host;
pub mod outcome;
pub mod record;
pub mod run;
pub mod scenario;
pub mod stage;
pub mod token;
