//! Measures resource use during a run: of watched processes, of this machine, of the generator
//! itself, and of other machines by their exporters. Everything is sampled once a second, by one
//! clock.
//!
//! Only this module reads `/proc` and the exporters; pure functions turn what was read into
//! figures.

mod metrics;
mod proc;
mod process;
mod sampler;
mod spawned;
mod spin;
mod system;
mod watch;

pub use sampler::{Readings, Sampler};
pub use spawned::{Enforced, Spawned, resident_mb};
pub use spin::{reference, spin};
pub use system::{MachineCounters, load_average, machine};
pub use watch::{GENERATOR, MACHINE, Watch, What};
