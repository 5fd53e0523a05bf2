//! A server in virtual time: a queue, some workers, and a host of varying speed.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::convert::Infallible;

use crate::capacity::{Driver, Phase};
use homeroom_load::record::{BIN_SECONDS, Bin, WINDOW_SECONDS};

use crate::trial::{Trial, TrialPlan};

/// How long the client waits for an answer, and for a drain, in seconds.
const TIMEOUT_S: f64 = 10.0;

/// The least and the greatest value.
type Range = (f64, f64);

/// A simulated server and its circumstances.
#[derive(Debug, Clone)]
pub struct World {
    /// The requests per second at full speed.
    pub capacity: f64,
    pub workers: u32,
    /// The standard deviation of the logarithm of the service time.
    pub spread: f64,
    pub full: Full,
    /// The share of answers that are errors, whatever the load.
    pub errors: f64,
    /// The share by which a request's work grows for each second that it has waited.
    pub collapse: f64,
    /// The speed gained or lost per second, as a share.
    pub drift: f64,
    /// Slow-downs: the mean number of seconds between them, the range of the share of speed lost,
    /// and the range of their length in seconds.
    pub slow: Option<(f64, Range, Range)>,
    /// The requests per second that the generator can send.
    pub generator: f64,
    /// The share of time that the host takes, from the server too, and from when on.
    pub steal: (f64, f64),
    /// Whether arrivals are independent of each other instead of even.
    pub poisson: bool,
}

/// What a server does with more load than it can serve.
#[derive(Debug, Clone, Copy)]
pub enum Full {
    /// Answers 503 at once if the wait would be longer than this, in seconds.
    ShedsAfter(f64),
    /// Queues requests without limit; clients give up after ten seconds, but the work is done
    /// anyway.
    Queues,
    /// Answers 503 at once if this many requests are being served or queued.
    AtMost(usize),
}

impl World {
    /// Returns a server with two workers, log-normal service, a queue of two seconds of work and a
    /// quiet host.
    pub fn quiet(capacity: f64) -> Self {
        Self {
            capacity,
            workers: 2,
            spread: 0.8,
            full: Full::ShedsAfter(2.0),
            errors: 0.0,
            collapse: 0.0,
            drift: 0.0,
            slow: None,
            generator: 1e9,
            steal: (0.0, 0.0),
            poisson: false,
        }
    }

    /// Returns the same server with slow-downs of 10 to 60 % for 0.5 to 4 s about every 15 s.
    pub fn noisy(capacity: f64) -> Self {
        Self { slow: Some((15.0, (0.1, 0.6), (0.5, 4.0))), ..Self::quiet(capacity) }
    }

    /// Returns the mean speed, including slow-downs but not drift and steal.
    pub fn mean_capacity(&self) -> f64 {
        let lost = self.slow.map_or(0.0, |(every, depth, length)| {
            let seconds = f64::midpoint(length.0, length.1);
            f64::midpoint(depth.0, depth.1) * seconds / (every + seconds)
        });
        self.capacity * (1.0 - lost)
    }
}

/// A simulated world at a moment in time.
pub struct Simulated {
    world: World,
    rng: fastrand::Rng,
    now: f64,
    /// When each worker is free.
    free: Vec<f64>,
    /// When each accepted request will be done, for servers that count them.
    inside: BinaryHeap<Reverse<u64>>,
    /// The speeds: each with the moment from which it applies.
    speeds: Vec<(f64, f64)>,
    /// The segment in which work last began.
    segment: usize,
    /// When a slow-down ends or the next begins, and its speed.
    slow_until: f64,
    slow_speed: f64,
    pub trials: u32,
    /// The number of trials after which it is told to stop.
    pub stops_after: Option<u32>,
}

impl Simulated {
    pub fn new(world: World, seed: u64) -> Self {
        let mut rng = fastrand::Rng::with_seed(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15));
        let first = world.slow.map_or(f64::INFINITY, |(every, ..)| -every * (1.0 - rng.f64()).ln());
        Self {
            free: vec![0.0; world.workers as usize],
            inside: BinaryHeap::new(),
            speeds: vec![(0.0, 1.0)],
            segment: 0,
            slow_until: first,
            slow_speed: 1.0,
            now: 0.0,
            trials: 0,
            stops_after: None,
            world,
            rng,
        }
    }

    /// Appends a segment of at most half a second to the speeds.
    fn extend(&mut self) {
        let (from, _) = self.speeds[self.speeds.len() - 1];
        let next = (from + 0.5).min(self.slow_until);
        if next >= self.slow_until {
            let (every, depth, length) = self.world.slow.expect("only then is there an end");
            if self.slow_speed < 1.0 {
                self.slow_speed = 1.0;
                self.slow_until = next - every * (1.0 - self.rng.f64()).ln();
            } else {
                self.slow_speed = 1.0 - depth.0 - (depth.1 - depth.0) * self.rng.f64();
                self.slow_until = next + length.0 + (length.1 - length.0) * self.rng.f64();
            }
        }
        let drift = (1.0 + self.world.drift * next).max(0.05);
        let (stolen, since) = self.world.steal;
        let left = if next >= since { 1.0 - stolen } else { 1.0 };
        self.speeds.push((next, self.slow_speed * drift * left));
    }

    /// Returns when some seconds of work that begin at `start` are done. Moments never go back.
    fn done(&mut self, start: f64, mut work: f64) -> f64 {
        while self.speeds[self.speeds.len() - 1].0 <= start {
            self.extend();
        }
        while self.segment + 1 < self.speeds.len() && self.speeds[self.segment + 1].0 <= start {
            self.segment += 1;
        }
        let mut at = start;
        let mut place = self.segment;
        loop {
            if place + 1 == self.speeds.len() {
                self.extend();
            }
            let (end, speed) = (self.speeds[place + 1].0, self.speeds[place].1);
            let able = (end - at) * speed;
            if able >= work {
                return at + work / speed;
            }
            work -= able;
            at = end;
            place += 1;
        }
    }

    /// Returns when a request that arrives now is answered, and whether as expected.
    fn arrive(&mut self, at: f64) -> (f64, bool) {
        let quick = at + 0.000_5;
        if self.world.errors > 0.0 && self.rng.f64() < self.world.errors {
            return (quick, false);
        }
        let worker = (0..self.free.len())
            .min_by(|a, b| self.free[*a].total_cmp(&self.free[*b]))
            .expect("there is a worker");
        let start = at.max(self.free[worker]);
        match self.world.full {
            Full::ShedsAfter(limit) if start - at > limit => return (quick, false),
            Full::AtMost(limit) => {
                while self.inside.peek().is_some_and(|Reverse(done)| *done <= micros(at)) {
                    self.inside.pop();
                }
                if self.inside.len() >= limit {
                    return (quick, false);
                }
            }
            Full::ShedsAfter(_) | Full::Queues => {}
        }
        let spread = self.world.spread;
        let mean = f64::from(self.world.workers) / self.world.capacity;
        let normal = (-2.0 * (1.0 - self.rng.f64()).ln()).sqrt()
            * (std::f64::consts::TAU * self.rng.f64()).cos();
        let work = mean
            * (spread * normal - spread * spread / 2.0).exp()
            * (1.0 + (self.world.collapse * (start - at)).min(1.0));
        let done = self.done(start, work);
        self.free[worker] = done;
        if matches!(self.world.full, Full::AtMost(_)) {
            self.inside.push(Reverse(micros(done)));
        }
        (done, true)
    }

    /// Returns the moments at which requests are due, in seconds since the trial began.
    fn moments(&mut self, plan: TrialPlan) -> Vec<f64> {
        let count = whole(plan.rate * plan.seconds);
        if self.world.poisson {
            let mut moments: Vec<f64> = (0..count).map(|_| self.rng.f64() * plan.seconds).collect();
            moments.sort_by(f64::total_cmp);
            moments
        } else {
            (0..count).map(|place| place as f64 / plan.rate).collect()
        }
    }
}

impl Driver for Simulated {
    type Error = Infallible;

    fn trial(&mut self, _: Phase, plan: TrialPlan) -> Result<Option<Trial>, Infallible> {
        if self.stops_after.is_some_and(|trials| self.trials >= trials) {
            return Ok(None);
        }
        self.trials += 1;
        let start = self.now;
        let length = whole(plan.seconds / BIN_SECONDS).max(1);
        let mut bins = vec![Bin::default(); length];
        let mut change = vec![0i64; length + 1];
        let bin_of = |seconds: f64| floor(seconds / BIN_SECONDS).min(length);
        let mut windows: Vec<Vec<f64>> = vec![vec![]; floor(plan.seconds / WINDOW_SECONDS).max(1)];
        let last_window = windows.len() - 1;
        let mut lags = vec![];
        let mut all = vec![];
        let (mut sent_at, mut last, mut unsent) = (f64::NEG_INFINITY, plan.seconds, 0u64);
        let moments = self.moments(plan);
        for due in &moments {
            let sent = due.max(sent_at + 1.0 / self.world.generator);
            sent_at = sent;
            let (answered, ok) = if sent > plan.seconds + 0.01 {
                unsent += 1;
                (due + TIMEOUT_S, false)
            } else {
                lags.push((sent - due) * 1e3 + 0.03);
                let (done, ok) = self.arrive(start + sent);
                let done = done - start;
                if done - due > TIMEOUT_S { (due + TIMEOUT_S, false) } else { (done, ok) }
            };
            let ms = (answered - due) * 1e3;
            let bin = bin_of(*due).min(length - 1);
            bins[bin].due += 1;
            bins[bin].not_ok += u64::from(!ok);
            bins[bin].sum_ms += ms;
            change[bin] += 1;
            change[bin_of(answered)] -= 1;
            last = last.max(answered);
            windows[floor(due / WINDOW_SECONDS).min(last_window)].push(ms);
            all.push(ms);
        }
        let mut waiting = 0;
        for (bin, change) in bins.iter_mut().zip(change) {
            waiting += change;
            bin.waiting = waiting.unsigned_abs();
        }
        let drain = (last - plan.seconds).clamp(0.0, TIMEOUT_S);
        self.now = start + plan.seconds + drain + 0.05;
        let stolen = if self.now > self.world.steal.1 { self.world.steal.0 } else { 0.0 };
        Ok(Some(Trial {
            rate: plan.rate,
            seconds: plan.seconds,
            bins,
            lag_p99_ms: at(&mut lags, 0.99),
            sent_share: 1.0 - unsent as f64 / moments.len().max(1) as f64,
            no_room_share: 0.0,
            generator_share: (plan.rate / self.world.generator).min(1.0),
            steal_share: stolen,
            spin_share: 1.0 - stolen,
            drained: last - plan.seconds <= TIMEOUT_S + 1e-6,
            drain_s: drain + 0.05,
            percentiles_ms: [0.05, 0.5, 0.95, 0.99].map(|share| at(&mut all, share)),
            windows_p99_ms: windows.iter_mut().map(|window| at(window, 0.99)).collect(),
        }))
    }
}

fn at(values: &mut [f64], share: f64) -> f64 {
    if values.is_empty() {
        return 0.0;
    }
    let place = floor(values.len() as f64 * share).min(values.len() - 1);
    *values.select_nth_unstable_by(place, f64::total_cmp).1
}

fn micros(seconds: f64) -> u64 {
    floor(seconds * 1e6) as u64
}

fn whole(value: f64) -> usize {
    floor(value + 0.5)
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is not negative")]
fn floor(value: f64) -> usize {
    value as usize
}
