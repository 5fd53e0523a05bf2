//! Bulk Load Services over HTTP, on each store: the clauses of the contract, rights, failures.
#![expect(clippy::disallowed_methods, reason = "a test may look at the clock")]

#[path = "service/clauses.rs"]
mod clauses;
#[path = "service/ends.rs"]
mod ends;
#[path = "service/lanes.rs"]
mod lanes;
#[path = "service/loads.rs"]
mod loads;
#[path = "service/strategies.rs"]
mod strategies;
#[path = "service/support.rs"]
mod support;
