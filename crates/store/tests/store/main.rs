//! What the store promises, on the embedded engine.

mod closing;
mod promises;
mod support;
