//! The three levels, which always satisfy stable ≤ burst ≤ failure.

use serde::{Deserialize, Serialize};

/// A level and the interval in which it lies.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Level {
    /// The level or, where it was not found, the least that it can be.
    pub rate: f64,
    /// The highest rate known to be at or below it.
    pub low: f64,
    /// The lowest rate known to be at or above it; `None` if no such rate was found.
    pub high: Option<f64>,
    /// Whether it was found: a valid trial of full length kept it, and a higher one did not.
    pub found: bool,
    /// The length of its window in seconds; 0 for none.
    pub window_s: f64,
    /// Why it is only a least value; `None` if it was found or nothing is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_least: Option<AtLeast>,
}

/// Why a level is only the least that a server holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AtLeast {
    /// The trials that should have confirmed it were void.
    Void,
    /// Only trials that were too short to confirm it kept this rate.
    Short,
    /// Nothing is known about higher rates: trials were void, time was over, or no more was asked
    /// for.
    Above,
    /// A lower level is this high, so this one is at least as high.
    Raised,
}

impl AtLeast {
    /// Returns the reason in words, without a full stop.
    pub fn words(self) -> &'static str {
        match self {
            Self::Void => "the trials that should confirm it were void",
            Self::Short => "it was not held for long enough to confirm it",
            Self::Above => "how much more it holds is not known",
            Self::Raised => "a lower level is just as high",
        }
    }
}

impl Level {
    /// Returns this level, marked as a lower bound.
    #[must_use]
    pub fn at_least(self, why: AtLeast) -> Self {
        Self { found: false, at_least: Some(why), ..self }
    }

    /// Puts the rates of the interval in order; a level about which nothing is known has no lower
    /// value.
    fn tidy(self) -> Self {
        let rate = self.rate.max(0.0);
        let low = self.low.clamp(0.0, rate);
        let high = self.high.map(|high| high.max(rate));
        let at_least = match (self.found, rate > 0.0) {
            (false, true) => Some(self.at_least.unwrap_or(AtLeast::Above)),
            _ => None,
        };
        Self { rate, low, high, at_least, ..self }
    }

    /// Raises this level to a lower one if necessary.
    fn not_below(self, lower: Self) -> Self {
        let raised = if self.rate < lower.rate {
            let high = self.high.filter(|high| *high > lower.rate);
            Self { rate: lower.rate, high, ..self }.at_least(AtLeast::Raised)
        } else {
            self
        };
        let high = raised.high.zip(lower.high).map(|(high, other)| high.max(other));
        Self { low: raised.low.max(lower.low), high, ..raised }
    }

    /// Gives this level an upper end, if it has none and a higher level's upper end is above its
    /// rate.
    fn breaks_with(self, higher: Self) -> Self {
        Self { high: self.high.or(higher.high.filter(|high| *high > self.rate)), ..self }
    }
}

/// The three levels. However they were found, stable ≤ burst ≤ failure holds for the rates and for
/// the ends of the intervals, where a missing upper end counts as infinite.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(from = "Loose")]
pub struct Levels {
    stable: Level,
    burst: Level,
    failure: Level,
}

/// The levels as stored in a file, which may be out of order.
#[derive(Deserialize)]
struct Loose {
    stable: Level,
    burst: Level,
    failure: Level,
}

impl From<Loose> for Levels {
    fn from(Loose { stable, burst, failure }: Loose) -> Self {
        Self::new(stable, burst, failure)
    }
}

impl Levels {
    /// Puts the levels in order. A level whose rate is less than that of the level before it is
    /// raised to it and becomes a least value; a rate that breaks a higher level also breaks the
    /// lower ones. A stable level that was not found gives way to a rate at which a window broke.
    pub fn new(stable: Level, burst: Level, failure: Level) -> Self {
        let [mut stable, burst, failure] = [stable, burst, failure].map(Level::tidy);
        let broke = [burst.high, failure.high].into_iter().flatten().fold(f64::INFINITY, f64::min);
        if !stable.found && stable.rate >= broke {
            let rate = burst.rate.min(stable.rate);
            stable = Level { rate, low: stable.low.min(rate), ..stable };
        }
        let stable = stable.breaks_with(burst).breaks_with(failure).tidy();
        let burst = burst.breaks_with(failure).not_below(stable).tidy();
        let failure = failure.not_below(burst).tidy();
        Self { stable, burst, failure }
    }

    /// Returns the load that holds indefinitely.
    pub fn stable(&self) -> Level {
        self.stable
    }

    /// Returns the load that holds for a window, though clients may have to wait.
    pub fn burst(&self) -> Level {
        self.burst
    }

    /// Returns the load at which a window breaks the server.
    pub fn failure(&self) -> Level {
        self.failure
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn any_level() -> impl Strategy<Value = Level> {
        let rate = || prop_oneof![Just(0.0), (1..100_u8).prop_map(f64::from)];
        let high = prop_oneof![Just(None), (1..100_u8).prop_map(|high| Some(f64::from(high)))];
        (rate(), rate(), high, any::<bool>()).prop_map(|(rate, low, high, found)| Level {
            rate,
            low,
            high,
            found,
            window_s: 30.0,
            at_least: None,
        })
    }

    fn ends(level: Level) -> [f64; 3] {
        [level.low, level.rate, level.high.unwrap_or(f64::INFINITY)]
    }

    fn found(rate: f64, low: f64, high: Option<f64>) -> Level {
        Level { rate, low, high, found: true, window_s: 30.0, at_least: None }
    }

    proptest! {
        #[test]
        fn stable_burst_and_failure_levels_are_always_in_order(
            stable in any_level(), burst in any_level(), failure in any_level(),
        ) {
            let levels = Levels::new(stable, burst, failure);

            let [low, middle, high] = [levels.stable(), levels.burst(), levels.failure()];
            for (lower, higher) in [(low, middle), (middle, high)] {
                for (a, b) in ends(lower).into_iter().zip(ends(higher)) {
                    prop_assert!(a <= b, "{levels:?}");
                }
            }
            for (of, was) in [(low, stable), (middle, burst), (high, failure)] {
                let [a, b, c] = ends(of);
                prop_assert!(a <= b && b <= c, "{levels:?}");
                prop_assert_eq!(of.at_least.is_some(), !of.found && of.rate > 0.0);
                prop_assert!(!of.found || was.found && of.rate.total_cmp(&was.rate).is_eq());
            }
            let text = serde_json::to_string(&levels).unwrap();
            prop_assert_eq!(serde_json::from_str::<Levels>(&text).unwrap(), levels);
        }
    }

    #[test]
    fn a_level_below_a_lower_one_is_raised_to_it_as_a_lower_bound() {
        let (stable, low) = (found(25_600.0, 25_600.0, None), found(21_333.0, 21_333.0, None));

        let levels = Levels::new(stable, low, low);

        for level in [levels.burst(), levels.failure()] {
            assert!((level.rate - 25_600.0).abs() < 1e-9 && !level.found);
            assert_eq!(level.at_least, Some(AtLeast::Raised));
        }
    }

    #[test]
    fn an_unconfirmed_stable_level_yields_to_a_failure_below_it() {
        let guessed = found(500.0, 500.0, None).at_least(AtLeast::Short);
        let (burst, failure) = (found(400.0, 400.0, Some(430.0)), found(460.0, 430.0, Some(460.0)));

        let levels = Levels::new(guessed, burst, failure);

        let rates = [levels.stable(), levels.burst(), levels.failure()].map(|level| level.rate);
        assert_eq!(format!("{rates:?}"), "[400.0, 400.0, 460.0]");
        assert!(!levels.stable().found && levels.burst().found && levels.failure().found);
        assert_eq!(levels.stable().high, Some(430.0));
    }
}
