//! Repeatable random numbers: `SplitMix64`, keyed by the plan's seed, a topic and an index.
//!
//! Everything in a district is a function of (seed, topic, index). A student is therefore the same
//! in every resource without anything being stored, and an additional draw in one topic changes
//! nothing in another.

/// The subject of a draw; each topic has its own sequences.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Topic {
    /// Names of the places and the schools.
    Place = 1,
    /// Days without school because of the weather.
    Weather = 2,
    /// Whether neighbouring students are siblings; address, language, income.
    Household = 3,
    /// The adults of a household.
    Contact = 4,
    /// A student's name and demographics.
    Student = 5,
    /// Start and end of a student's enrolment.
    Enrolment = 6,
    /// A student's missed days.
    Attendance = 7,
    /// A student's missed class periods.
    SectionAttendance = 8,
    /// A student's marks.
    Grade = 9,
    /// A student's test scores.
    Assessment = 10,
    /// Disciplinary incidents.
    Discipline = 11,
    /// A staff member.
    Staff = 12,
    /// Participation in programs and cohorts.
    Program = 13,
    /// A student's homework.
    Gradebook = 14,
}

/// A sequence of draws.
#[derive(Debug, Clone)]
pub(crate) struct Draw {
    state: u64,
}

const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;

impl Draw {
    /// Starts the draws of `topic` for the item with this index.
    pub(crate) fn new(seed: u64, topic: Topic, index: usize) -> Self {
        let topic = mix(seed.wrapping_add((topic as u64).wrapping_mul(GOLDEN)));
        Self { state: mix(topic ^ (index as u64).wrapping_mul(GOLDEN)) }
    }

    /// Returns the next 64 bits.
    ///
    /// Source: Steele, Lea, Flood, "Fast splittable pseudorandom number generators" (2014), fig. 14.
    fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(GOLDEN);
        mix(self.state)
    }

    /// Draws a number in `0..limit`; 0 when the limit is 0.
    pub(crate) fn below(&mut self, limit: usize) -> usize {
        let wide = u128::from(self.next()) * limit as u128;
        usize::try_from(wide >> 64).expect("less than the limit, which is a usize")
    }

    /// Draws a number in `low..=high`.
    pub(crate) fn between(&mut self, low: usize, high: usize) -> usize {
        low + self.below(high - low + 1)
    }

    /// Returns `true` with a probability given in thousandths.
    pub(crate) fn chance(&mut self, per_mille: usize) -> bool {
        self.below(1000) < per_mille
    }

    /// Picks one of several values with equal probability.
    pub(crate) fn pick<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len())]
    }

    /// Picks one of several values by weight.
    pub(crate) fn weighted<T: Copy>(&mut self, all: &[(usize, T)]) -> T {
        let mut left = self.below(all.iter().map(|(weight, _)| weight).sum());
        for (weight, value) in all {
            if left < *weight {
                return *value;
            }
            left -= weight;
        }
        all[all.len() - 1].1
    }

    /// Draws a bell-shaped number in `0..=100` around 50, with a standard deviation of about 14.
    pub(crate) fn bell(&mut self) -> usize {
        (0..4).map(|_| self.below(26)).sum()
    }
}

fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_numbers_are_those_of_splitmix64() {
        let mut draw = Draw { state: 1_234_567 };

        let drawn: Vec<u64> = (0..5).map(|_| draw.next()).collect();

        assert_eq!(
            drawn,
            [
                6_457_827_717_110_365_317,
                3_203_168_211_198_807_973,
                9_817_491_932_198_370_423,
                4_593_380_528_125_082_431,
                16_408_922_859_458_223_821
            ]
        );
    }

    #[test]
    fn a_draw_stays_below_its_limit_and_reaches_all_of_it() {
        let mut draw = Draw::new(1, Topic::Student, 0);
        let mut seen = [0; 7];

        for _ in 0..7000 {
            seen[draw.below(7)] += 1;
        }

        assert!(seen.iter().all(|count| (800..1200).contains(count)), "{seen:?}");
        assert_eq!(draw.below(0), 0);
    }

    #[test]
    fn seed_topic_and_index_each_change_the_draws() {
        let first = |seed, topic, index| Draw::new(seed, topic, index).next();
        let drawn = [
            first(1, Topic::Student, 1),
            first(2, Topic::Student, 1),
            first(1, Topic::Staff, 1),
            first(1, Topic::Student, 2),
        ];

        for (at, number) in drawn.iter().enumerate() {
            assert!(!drawn[at + 1..].contains(number), "{drawn:?}");
        }
    }
}
