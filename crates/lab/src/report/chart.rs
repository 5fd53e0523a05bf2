//! Charts as inline SVG.

mod axis;
mod frame;
mod lines;
pub mod patterns;
mod scatter;
mod stacked;

pub use axis::Axis;
pub use frame::{Across, Frame, Mark};
pub use lines::{Line, Lines};
pub use scatter::{Dot, Dots, Scatter, Shape};
pub use stacked::{Layer, Stacked};
