//! Records requests during a run, in counts and histograms.

mod bins;
mod counts;
mod over;
mod second;
mod share;
mod times;

pub use bins::{BIN_SECONDS, Bin, Bins, WINDOW_SECONDS};
pub use counts::{Counts, Seen};
pub use over::Over;
pub use second::Second;
pub use share::Share;
pub use times::{Times, decoded, encoded, latency, times};
