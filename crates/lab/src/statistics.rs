//! Statistics: how certain a mean, a quantile, a ratio or a trend is.
//!
//! Every function is pure; where chance plays a part, it takes a seed.

mod bootstrap;
mod distribution;
mod estimate;
mod growth;
mod knee;
mod mean;
mod quantile;
mod queue;
mod sample;
mod usl;
mod warm_up;

pub use bootstrap::{Resampling, difference, paired_difference, paired_ratio, ratio};
pub use distribution::{binomial_cdf, normal_cdf, student_t_cdf, student_t_quantile};
pub use estimate::Estimate;
pub use growth::{Trend, mann_kendall, theil_sen};
pub use knee::knee;
pub use mean::batch_means;
pub use quantile::{TAIL_MIN, has_tail, quantile_of, quantile_of_times, quantile_ranks};
pub use queue::littles_gap;
pub use sample::{mean, median, variance};
pub use usl::{Forecast, Usl, forecast};
pub use warm_up::mser5;
