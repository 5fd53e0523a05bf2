//! What blobs promise, on each available database.
#![expect(clippy::disallowed_methods, reason = "a test may look at the clock")]

mod copies;
mod support;
mod sweeps;
mod writes;
