//! What the store promises, on the embedded engine.

mod closing;
mod faults;
mod files;
mod numbers;
mod promises;
mod snapshots;
mod support;
mod targets;
