//! Tests of the Admin API over the front door, on both stores.
#![expect(clippy::disallowed_methods, reason = "a test may look at the clock")]

mod applications;
mod claim_sets;
mod contract;
mod ended;
mod laws;
mod openapi;
mod reserved;
mod resources;
mod support;
mod tokens;
