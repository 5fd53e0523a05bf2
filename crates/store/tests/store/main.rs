//! What the store promises on each available database, and what a file adds to that.
#![expect(clippy::disallowed_methods, reason = "a test may look at the clock")]

mod access_version;
mod closing;
mod dice;
mod direct;
mod faults;
mod files;
mod given_up;
mod lanes;
mod log;
mod moments;
mod numbers;
mod promises;
mod recent;
mod rehearsals;
mod remembered_ties;
mod snapshots;
mod support;
mod targets;
mod tests_of_documents;
mod ties;
