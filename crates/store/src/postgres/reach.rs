//! Reachability over ties: steps of ways are looked up, climbs to the top are remembered.

mod generations;
mod look;
mod memory;
mod reaching;
mod statements;

pub(super) use look::look;
pub(super) use memory::{Memory, Versions};
pub(super) use reaching::{Of, ReachStatement, Reaching};
pub(super) use statements::{ALL_VERSIONS, ANY, BUMP, SCHEMA_VERSION, UNKNOWN};
