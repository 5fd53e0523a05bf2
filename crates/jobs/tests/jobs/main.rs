//! What jobs promise, on each available database.
#![expect(clippy::disallowed_methods, reason = "a test may look at the clock")]

mod ends;
mod queues;
mod runners;
mod support;
mod takes;
