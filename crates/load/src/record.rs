//! Records requests during a run, in counts and histograms.

mod bins;
mod counts;
mod ended;
mod recording;
mod second;
mod times;

pub use bins::{BIN_SECONDS, Bin, Bins, WINDOW_SECONDS};
pub use counts::{Counts, Measured};
pub use ended::Ended;
pub use recording::Recording;
pub use second::Second;
pub use times::{Times, decoded, encoded, growing, latency, times};
