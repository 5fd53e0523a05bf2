//! What was used meanwhile: by watched processes, by this machine, by the generator itself, and by
//! what exporters tell of other machines. All on one clock, once a second.
//!
//! `/proc` and the exporters are read here and nowhere else; what was read becomes figures in pure
//! functions.

mod metrics;
mod proc;
mod process;
mod sampler;
mod spin;
mod system;
mod watch;

pub use sampler::{GENERATOR, MACHINE, Sampler, Seen};
pub use spin::{reference, spin};
pub use system::{Counts, machine};
pub use watch::{Watch, What};
