//! What the store promises, on the embedded engine.

mod closing;
mod faults;
mod promises;
mod support;
