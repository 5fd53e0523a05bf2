//! What blobs promise, on each available database and in each kind of place.
#![expect(clippy::disallowed_methods, reason = "a test may look at the clock")]

mod buckets;
mod copies;
mod lanes;
mod outside;
mod support;
mod sweeps;
mod writes;
