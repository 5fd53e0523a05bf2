//! A simulated capacity: workers that serve one request at a time, behind a queue.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Duration;

/// How much an echo can serve.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PlantedCapacity {
    /// The requests per second that all workers can serve together.
    pub rate: f64,
    /// The number of requests that are served at a time.
    pub workers: u32,
    /// How much service times vary: the standard deviation of their logarithm. At 0 all are equal.
    pub spread: f64,
    /// The longest time that a request may wait in the queue; a request that would wait longer is
    /// shed.
    pub queue: Duration,
    /// The seed of the random service times.
    pub seed: u64,
}

/// Workers and their queue in simulated time. When a request arrives, the time at which it will be
/// done is computed at once, so no thread has to be busy to be slow.
#[derive(Debug)]
pub struct Queue {
    capacity: PlantedCapacity,
    /// When each worker is free, in nanoseconds.
    free: BinaryHeap<Reverse<u64>>,
    random: fastrand::Rng,
}

impl Queue {
    /// Returns a queue whose workers are all free.
    pub fn new(capacity: PlantedCapacity) -> Self {
        let free = (0..capacity.workers.max(1)).map(|_| Reverse(0)).collect();
        Self { capacity, free, random: fastrand::Rng::with_seed(capacity.seed) }
    }

    /// Admits a request that arrives at `now`. Returns when it will be done or, if it is shed, how
    /// long the queue is.
    pub fn arrive(&mut self, now: Duration) -> Result<Duration, Duration> {
        let now = nanos(now);
        let Some(mut next) = self.free.peek_mut() else { return Err(Duration::ZERO) };
        let start = next.0.max(now);
        let wait = Duration::from_nanos(start - now);
        if wait > self.capacity.queue {
            return Err(wait);
        }
        let workers = f64::from(self.capacity.workers.max(1));
        let mean = workers / self.capacity.rate.max(1e-6);
        let service = mean * unit_log_normal(self.capacity.spread, &mut self.random);
        next.0 = start.saturating_add(nanos(Duration::from_secs_f64(service.min(3600.0))));
        Ok(Duration::from_nanos(next.0))
    }
}

/// Draws a log-normal number whose mean is 1.
fn unit_log_normal(spread: f64, random: &mut fastrand::Rng) -> f64 {
    if spread <= 0.0 {
        return 1.0;
    }
    // The Box–Muller transform (1958).
    let (a, b) = (1.0 - random.f64(), random.f64());
    let normal = (-2.0 * a.ln()).sqrt() * (std::f64::consts::TAU * b).cos();
    (spread * normal - spread * spread / 2.0).exp()
}

fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn capacity(rate: f64, workers: u32, spread: f64, queue_s: f64) -> PlantedCapacity {
        PlantedCapacity { rate, workers, spread, queue: Duration::from_secs_f64(queue_s), seed: 5 }
    }

    /// Sends `rate` requests per second for a minute. Returns how many were served, the longest
    /// wait, and how many were shed.
    fn minute(capacity: PlantedCapacity, rate: u64) -> (u64, Duration, u64) {
        let mut queue = Queue::new(capacity);
        let (mut served, mut longest, mut shed) = (0, Duration::ZERO, 0);
        for number in 0..60 * rate {
            let now = Duration::from_nanos(number * 1_000_000_000 / rate);
            match queue.arrive(now) {
                Ok(done) => {
                    longest = longest.max(done.saturating_sub(now));
                    served += u64::from(done < Duration::from_mins(1));
                }
                Err(_) => shed += 1,
            }
        }
        (served, longest, shed)
    }

    #[test]
    fn requests_below_capacity_are_served_at_once() {
        let (served, longest, shed) = minute(capacity(400.0, 2, 0.0, 2.0), 390);

        assert_eq!(shed, 0);
        assert!(served > 60 * 390 - 5 && longest <= Duration::from_micros(5_001), "{longest:?}");
    }

    #[test]
    fn requests_above_capacity_fill_the_queue_and_the_rest_is_shed() {
        for spread in [0.0, 0.5] {
            let (served, longest, shed) = minute(capacity(400.0, 2, spread, 2.0), 600);

            assert!((23_500..24_500).contains(&served), "{served}");
            assert!(longest > Duration::from_secs(2) && longest < Duration::from_millis(2_200));
            assert!((10_500..11_700).contains(&shed), "{shed}");
        }
    }

    #[test]
    fn variable_service_times_keep_the_mean() {
        let mut random = fastrand::Rng::with_seed(1);
        let sum: f64 = (0..200_000).map(|_| unit_log_normal(0.7, &mut random)).sum();

        assert!((sum / 200_000.0 - 1.0).abs() < 0.01, "{sum}");
    }
}
