//! How many learners there are, when they begin, and when they send their results.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use homeroom_load::stage::{Load, Stage};

/// The plan of a test.
///
/// With compression, time within a session runs faster by that factor and fewer learners are
/// simulated by the same: results and launches a second stay what they would be.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct LearnersPlan {
    /// The most modelled learners at a time.
    pub learners: u32,
    /// They begin one by one during this time.
    pub ramp: Duration,
    /// How long all of them stay after the ramp.
    pub stay: Duration,
    /// How long the number that was found is then held; zero for not at all.
    pub hold: Duration,
    /// The posts of results in a session before the final one.
    pub posts: u32,
    /// The time between posts, as a learner's player has it.
    pub every: Duration,
    /// By how much sessions are compressed; 1 for not at all.
    pub compress: u32,
}

impl LearnersPlan {
    /// Returns the number of learners that are simulated.
    pub fn seats(&self) -> u32 {
        self.learners.div_ceil(self.compress.max(1))
    }

    /// Returns how many modelled learners some simulated ones stand for.
    pub fn modelled(&self, seats: u32) -> u32 {
        seats.saturating_mul(self.compress.max(1)).min(self.learners)
    }

    /// Returns the simulated time between posts, in nanoseconds.
    pub fn every_ns(&self) -> u64 {
        let every = self.every / self.compress.max(1);
        u64::try_from(every.as_nanos()).unwrap_or(u64::MAX)
    }

    /// Returns when the simulated learner of this number begins, in nanoseconds since the run began.
    pub fn begins_ns(&self, seat: u32) -> u64 {
        let ramp = u64::try_from(self.ramp.as_nanos()).unwrap_or(u64::MAX);
        let share = u128::from(ramp) * u128::from(seat) / u128::from(self.seats().max(1));
        u64::try_from(share).unwrap_or(u64::MAX)
    }

    /// Returns how long a simulated session takes from its launch to its final posts.
    pub fn session(&self) -> Duration {
        self.every / self.compress.max(1) * self.posts
    }

    /// Returns a compression with which a session takes half of the time in which all learners are there.
    pub fn compress_to_end(&self) -> u32 {
        let stay = self.stay.as_secs_f64().max(1.0);
        let whole = self.every.as_secs_f64() * f64::from(self.posts);
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a small factor"
        )]
        let factor = (2.0 * whole / stay).ceil() as u32;
        factor.clamp(1, 1_000)
    }

    /// Returns how long the test takes at most, without the hold.
    pub fn length(&self) -> Duration {
        self.ramp + self.stay
    }

    /// Returns the posts a second when all learners are there.
    pub fn posts_per_s(&self) -> f64 {
        f64::from(self.learners) / self.every.as_secs_f64().max(1e-9)
    }

    /// Returns the stages of the run as readers see them: modelled learners.
    pub fn stages(&self) -> Vec<Stage> {
        let stages = [
            Stage { load: Load::Users { from: 0, to: self.learners }, duration: self.ramp },
            Stage::users(self.learners, self.stay + self.hold),
        ];
        stages.into_iter().filter(|stage| !stage.duration.is_zero()).collect()
    }

    /// Returns the same stages as the engine gets them: the source alone decides what is sent.
    pub fn engine_stages(&self) -> Vec<Stage> {
        self.stages().iter().map(|stage| Stage::rate(0.0, stage.duration)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compression_keeps_posts_and_launches_a_second() {
        let minute = Duration::from_mins(1);
        let plan = LearnersPlan {
            learners: 50_000,
            ramp: minute * 10,
            stay: minute,
            hold: Duration::ZERO,
            posts: 60,
            every: Duration::from_secs(20),
            compress: 1,
        };
        let short = LearnersPlan { compress: 10, ..plan };

        let posts = |plan: &LearnersPlan| f64::from(plan.seats()) / (plan.every_ns() as f64 / 1e9);
        assert!((posts(&plan) - 2_500.0).abs() < 1e-6 && (posts(&short) - 2_500.0).abs() < 1e-6);
        assert_eq!((short.seats(), short.modelled(5_000), short.modelled(1)), (5_000, 50_000, 10));
        assert_eq!((plan.begins_ns(0), plan.begins_ns(25_000)), (0, 300_000_000_000));
        assert_eq!(plan.stages().len(), 2);
        let long = Duration::from_mins(20);
        assert_eq!((plan.session(), short.session()), (long, long / 10));
        let factor = LearnersPlan { stay: minute * 4, ..plan }.compress_to_end();
        assert_eq!((factor, LearnersPlan { compress: factor, ..plan }.session()), (10, minute * 2));
    }
}
