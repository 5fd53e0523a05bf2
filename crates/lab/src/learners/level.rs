//! The published levels of response times.

use serde::{Deserialize, Serialize};

/// How a learner experiences the response times of a window, by their 99th percentile.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// Below 1,200 ms.
    Ideal,
    /// Below 2,000 ms.
    Acceptable,
    /// Below 5,000 ms.
    Frustrating,
    /// 5,000 ms or more.
    Unacceptable,
}

impl Level {
    /// All levels, best first.
    pub const ALL: [Self; 4] =
        [Self::Ideal, Self::Acceptable, Self::Frustrating, Self::Unacceptable];

    /// Returns the level of a 99th percentile in milliseconds.
    pub fn of(p99_ms: f64) -> Self {
        let is_below = |level: &Self| level.below_ms().is_some_and(|limit| p99_ms < limit);
        Self::ALL.into_iter().find(is_below).unwrap_or(Self::Unacceptable)
    }

    /// Returns the threshold that its response times stay below, in milliseconds; the last level has
    /// none.
    pub fn below_ms(self) -> Option<f64> {
        match self {
            Self::Ideal => Some(1_200.0),
            Self::Acceptable => Some(2_000.0),
            Self::Frustrating => Some(5_000.0),
            Self::Unacceptable => None,
        }
    }

    /// Returns its published name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ideal => "Ideal",
            Self::Acceptable => "Acceptable",
            Self::Frustrating => "Frustrating",
            Self::Unacceptable => "Unacceptable",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_have_the_published_thresholds() {
        let at = |ms| Level::of(ms).name();

        assert_eq!([at(0.0), at(1_199.9), at(1_200.0)], ["Ideal", "Ideal", "Acceptable"]);
        assert_eq!([at(1_999.9), at(2_000.0)], ["Acceptable", "Frustrating"]);
        assert_eq!([at(4_999.9), at(5_000.0)], ["Frustrating", "Unacceptable"]);
        assert_eq!(at(f64::INFINITY), "Unacceptable");
    }
}
