//! When requests are due: the moments of a run's stages.

use std::time::Duration;

use crate::stage::{Arrivals, Load, Stage};

/// A request that is due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Due {
    /// The moment, in nanoseconds since the run began.
    pub at: u64,
    /// The number of its stage.
    pub stage: usize,
}

/// The due moments of all stages with a rate, in order, or one thread's share of them.
///
/// Every thread draws the same moments and takes every n-th, so that together the threads send
/// exactly what one thread would.
#[derive(Debug, Clone)]
pub struct Schedule {
    stages: Vec<Stage>,
    arrivals: Arrivals,
    random: fastrand::Rng,
    share: (u64, u64),
    stage: usize,
    start: u64,
    drawn: u64,
    of: u64,
    /// The position of the last Poisson moment, as a share of the stage's requests.
    at: f64,
    number: u64,
}

impl Schedule {
    /// Returns the moments that belong to one of several threads.
    pub fn new(
        stages: &[Stage],
        arrivals: Arrivals,
        seed: u64,
        thread: usize,
        threads: usize,
    ) -> Self {
        let mut schedule = Self {
            stages: stages.to_vec(),
            arrivals,
            random: fastrand::Rng::with_seed(seed),
            share: (thread as u64, threads as u64),
            stage: 0,
            start: 0,
            drawn: 0,
            of: 0,
            at: 0.0,
            number: 0,
        };
        schedule.of = schedule.stages.first().map_or(0, requests);
        schedule
    }

    /// Returns how many requests are due in each second of the run.
    pub fn by_second(stages: &[Stage], arrivals: Arrivals, seed: u64) -> Seconds {
        Seconds { schedule: Self::new(stages, arrivals, seed, 0, 1).peekable() }
    }

    fn draw(&mut self) -> Option<Due> {
        while self.drawn == self.of {
            self.start += nanoseconds(self.stages.get(self.stage)?.duration);
            self.stage += 1;
            self.drawn = 0;
            self.at = 0.0;
            self.of = requests(self.stages.get(self.stage)?);
        }
        let share = match self.arrivals {
            Arrivals::Even => (self.drawn as f64 + 0.5) / self.of as f64,
            Arrivals::Poisson => {
                // The next of `of` sorted uniform values: a Poisson process whose count is known.
                let left = (self.of - self.drawn) as f64;
                let uniform = 1.0 - self.random.f64();
                self.at = 1.0 - (1.0 - self.at) * uniform.powf(1.0 / left);
                self.at
            }
        };
        self.drawn += 1;
        let stage = self.stages[self.stage];
        Some(Due { at: self.start + moment(&stage, share), stage: self.stage })
    }
}

impl Iterator for Schedule {
    type Item = Due;

    fn next(&mut self) -> Option<Due> {
        loop {
            let due = self.draw()?;
            let number = self.number;
            self.number += 1;
            if number % self.share.1 == self.share.0 {
                return Some(due);
            }
        }
    }
}

/// Counts of due requests, one second at a time.
#[derive(Debug)]
pub struct Seconds {
    schedule: std::iter::Peekable<Schedule>,
}

impl Seconds {
    /// Returns how many requests are due before a moment and were not counted before.
    pub fn before(&mut self, end: u64) -> u64 {
        let mut count = 0;
        while self.schedule.next_if(|due| due.at < end).is_some() {
            count += 1;
        }
        count
    }
}

/// Returns how many requests a stage has: none if it has modelled clients instead of a rate.
pub fn requests(stage: &Stage) -> u64 {
    match stage.load {
        Load::Rate { from, to } => {
            let requests = f64::midpoint(from, to) * stage.duration.as_secs_f64();
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "counts")]
            let requests = requests.round().max(0.0) as u64;
            requests
        }
        Load::Users { .. } => 0,
    }
}

/// Returns when a share of a stage's requests is due, in nanoseconds since the stage began.
fn moment(stage: &Stage, share: f64) -> u64 {
    let Load::Rate { from, to } = stage.load else { return 0 };
    let seconds = stage.duration.as_secs_f64();
    let slope = (to - from) / seconds;
    let requests = f64::midpoint(from, to) * seconds * share;
    let at = if slope.abs() < 1e-9 {
        requests / from
    } else {
        // From requests = from * t + slope * t * t / 2.
        2.0 * requests / (from + (from * from + 2.0 * slope * requests).max(0.0).sqrt())
    };
    nanoseconds(Duration::from_secs_f64(at.clamp(0.0, seconds)))
}

/// Returns when each stage ends, in nanoseconds since the run began.
pub fn ends(stages: &[Stage]) -> Vec<u64> {
    let mut end = 0;
    let each = stages.iter().map(|stage| {
        end += nanoseconds(stage.duration);
        end
    });
    each.collect()
}

/// Converts a duration to nanoseconds; at most the 584 years that fit.
pub fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rate(from: f64, to: f64, seconds: u64) -> Stage {
        Stage { load: Load::Rate { from, to }, duration: Duration::from_secs(seconds) }
    }

    fn all(stages: &[Stage], arrivals: Arrivals) -> Vec<Due> {
        Schedule::new(stages, arrivals, 7, 0, 1).collect()
    }

    #[test]
    fn an_even_rate_has_exactly_rate_times_duration_requests_at_equal_distances() {
        let due = all(&[rate(2000.0, 2000.0, 10)], Arrivals::Even);

        assert_eq!(due.len(), 20_000);
        assert!(due.windows(2).all(|pair| pair[1].at - pair[0].at == 500_000));
        assert_eq!(due[0].at, 250_000);
    }

    #[test]
    fn a_ramp_has_the_requests_of_its_mean_rate_and_grows_denser() {
        let due = all(&[rate(0.0, 100.0, 10)], Arrivals::Even);

        assert_eq!(due.len(), 500);
        let first_half = due.iter().filter(|due| due.at < 5_000_000_000).count();
        assert_eq!(first_half, 125);
    }

    #[test]
    fn stages_follow_each_other() {
        let stages =
            [rate(10.0, 10.0, 1), Stage::users(5, Duration::from_secs(2)), rate(20.0, 20.0, 1)];

        let due = all(&stages, Arrivals::Even);

        assert_eq!(due.iter().filter(|due| due.stage == 0 && due.at < 1_000_000_000).count(), 10);
        assert_eq!(due.iter().filter(|due| due.stage == 2 && due.at >= 3_000_000_000).count(), 20);
        assert_eq!(due.len(), 30);
    }

    #[test]
    fn random_arrivals_have_the_exact_count_and_the_spread_of_a_poisson_process() {
        let due = all(&[rate(1000.0, 1000.0, 100)], Arrivals::Poisson);

        assert_eq!(due.len(), 100_000);
        assert!(due.windows(2).all(|pair| pair[0].at <= pair[1].at));
        // In a Poisson process the variance of counts equals their mean, and gaps deviate by their
        // mean.
        let gaps: Vec<f64> = due.windows(2).map(|pair| (pair[1].at - pair[0].at) as f64).collect();
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        let sd =
            (gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / gaps.len() as f64).sqrt();
        assert!((sd / mean - 1.0).abs() < 0.02, "{sd} of {mean}");
    }

    #[test]
    fn threads_together_send_the_schedule_of_one() {
        for arrivals in [Arrivals::Even, Arrivals::Poisson] {
            let stages = [rate(10.0, 500.0, 3), rate(500.0, 500.0, 2)];
            let whole = all(&stages, arrivals);

            let mut shared: Vec<Due> =
                (0..3).flat_map(|thread| Schedule::new(&stages, arrivals, 7, thread, 3)).collect();

            shared.sort_by_key(|due| due.at);
            assert_eq!(shared, whole);
        }
    }

    #[test]
    fn counts_by_second_include_each_request_once() {
        let stages = [rate(10.0, 10.0, 2), rate(30.0, 30.0, 1)];
        let mut seconds = Schedule::by_second(&stages, Arrivals::Even, 1);

        let counts: Vec<u64> =
            (1..5).map(|second| seconds.before(second * 1_000_000_000)).collect();

        assert_eq!(counts, [10, 10, 30, 0]);
    }
}
