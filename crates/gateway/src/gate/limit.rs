//! How many calls an upstream gets at a time: no more than it needs to work at its full rate.
//!
//! As long as answers take about as long as usual, there is no limit. When calls pile up and answers
//! take much longer, the limit becomes what Little's law says is needed for the present rate at the
//! usual time; from then on the rate of answers decides. If it falls, the limit was too low, and grows
//! again; if it stays, a lower limit is tried.
//!
//! Source: Little, "A proof for the queuing formula L = λW", 1961; decision 0063.

use std::time::Duration;

/// Shortest and longest time over which answers are counted before the limit may change.
const WINDOW_MIN: Duration = Duration::from_millis(200);
const WINDOW_MAX: Duration = Duration::from_secs(1);
/// Answers that a window needs before it ends early, and how many times as long as they usually take
/// it lasts at least: answers come in bursts.
const ANSWERS_MIN: u64 = 200;
const ANSWER_TIMES: f64 = 4.0;
/// Calls at a time below which nothing piles up.
const PILE_MIN: f64 = 8.0;
/// How many times as long as usual answers take when calls pile up, and how much longer in seconds.
const SLOW: f64 = 2.0;
const SLOW_SECONDS: f64 = 0.05;
/// The least limit: an upstream that answers one call at a time has the next one waiting.
const LEAST: usize = 2;
/// The share of the full rate that must remain with a lower limit.
const KEPT: f64 = 0.95;
/// How much of the greatest rate without a limit each window forgets, and of that with one.
const FORGOTTEN: f64 = 0.02;
/// Windows between two tries of another limit.
const REST: u32 = 20;
/// Windows without anybody waiting after which the limit grows.
const CALM: u32 = 10;

/// The limit on calls at a time, which follows from their answers.
#[derive(Debug)]
pub struct Limit {
    max: usize,
    current: usize,
    window: Window,
    /// The time that answers usually take, in seconds.
    usual: Option<f64>,
    /// The greatest rate without a limit, in answers a second.
    best: f64,
    /// Whether no limit has been too low since there is one.
    descends: bool,
    /// Windows in a row in which calls have piled up.
    piled: u32,
    state: State,
}

/// What was counted since the window began.
#[derive(Debug, Default)]
struct Window {
    begun: Duration,
    answers: u64,
    /// The sum of the times that answers took, in seconds.
    time: f64,
    /// Whether somebody had to wait.
    waited: bool,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum State {
    /// There is no limit but the greatest.
    Open,
    /// A limit holds. The rate is the full one, in answers a second.
    Held { rate: f64, rest: u32, calm: u32 },
    /// Another limit is tried, once the calls beyond it have ended.
    Tried { rate: f64, way: Way, settles: u32 },
}

/// Which limit is tried.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Way {
    /// The first one, or a higher one after the first was too low.
    First,
    /// One that is lower than this.
    Lower(usize),
    /// One that is higher than this.
    Higher(usize),
}

impl Limit {
    /// Creates a limit that is never greater than `max`.
    pub fn new(max: usize) -> Self {
        let max = max.max(LEAST);
        let (window, state) = (Window::default(), State::Open);
        let (usual, best, piled, descends) = (None, 0.0, 0, false);
        Self { max, current: max, window, usual, best, descends, piled, state }
    }

    /// Returns how many calls there may be at a time.
    pub fn current(&self) -> usize {
        self.current
    }

    /// Returns the full rate, in answers a second, as long as there is a limit.
    pub fn rate(&self) -> Option<f64> {
        match self.state {
            State::Open => None,
            State::Held { rate, .. } | State::Tried { rate, .. } => Some(rate),
        }
    }

    /// Records that a call has to wait.
    pub fn waits(&mut self) {
        self.window.waited = true;
    }

    /// Records an answer that took `time`; `now` is the time since any fixed moment, and `calls` how
    /// many are still open.
    pub fn answered(&mut self, time: Duration, calls: usize, now: Duration) {
        let time = time.as_secs_f64().max(1e-6);
        let window = &mut self.window;
        window.answers += 1;
        window.time += time;
        let lasted = now.saturating_sub(window.begun);
        let shortest = WINDOW_MIN.as_secs_f64().max(ANSWER_TIMES * self.usual.unwrap_or(0.0));
        let is_over = lasted >= WINDOW_MAX
            || window.answers >= ANSWERS_MIN && lasted.as_secs_f64() >= shortest;
        if is_over {
            let next = Window { begun: now, ..Window::default() };
            let window = std::mem::replace(&mut self.window, next);
            if lasted <= 2 * WINDOW_MAX {
                self.learn(&window, lasted.as_secs_f64(), calls);
            } else {
                // After a pause nothing is known about the rate.
                self.state = self.open();
            }
        }
    }

    fn open(&mut self) -> State {
        self.current = self.max;
        self.piled = 0;
        State::Open
    }

    #[expect(clippy::cast_precision_loss, reason = "counts of one window are small")]
    fn learn(&mut self, window: &Window, seconds: f64, calls: usize) {
        let rate = window.answers as f64 / seconds;
        let mean = window.time / window.answers as f64;
        self.state = match self.state {
            State::Open => self.look(rate, mean),
            State::Held { rate: full, rest, calm } => {
                let calm = if window.waited { 0 } else { calm + 1 };
                // A single slow window does not count as the full rate.
                let full = rate.max(full - FORGOTTEN * (full - rate));
                if calm >= CALM {
                    self.grow(full)
                } else if rest > 0 || !window.waited {
                    State::Held { rate: full, rest: rest.saturating_sub(1), calm }
                } else {
                    self.lower(full)
                }
            }
            // Calls beyond the limit are still open.
            State::Tried { rate: full, way, .. } if calls > self.current => {
                State::Tried { rate: full, way, settles: 1 }
            }
            State::Tried { rate: full, way, settles: 1.. } => {
                State::Tried { rate: full, way, settles: 0 }
            }
            State::Tried { rate: full, way, .. } => {
                self.judge(full, way, rate, mean, window.waited)
            }
        };
    }

    /// Compares a window without a limit with what is usual.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "it is positive, and clamped"
    )]
    fn look(&mut self, rate: f64, mean: f64) -> State {
        let usual = self.usual.map_or(mean, |usual| usual.min(mean));
        self.usual = Some(usual);
        self.best = rate.max(self.best * (1.0 - FORGOTTEN));
        let is_slow = mean > SLOW * usual && mean > usual + SLOW_SECONDS;
        let piles = rate * mean >= PILE_MIN && is_slow;
        self.piled = if piles { self.piled + 1 } else { 0 };
        if self.piled < 2 {
            return State::Open;
        }
        (self.piled, self.descends) = (0, true);
        let needed = (SLOW * rate * usual).ceil() as usize;
        self.current = needed.clamp(LEAST, self.max);
        State::Tried { rate: self.best, way: Way::First, settles: 1 }
    }

    /// Decides on a limit that was tried.
    fn judge(&mut self, full: f64, way: Way, rate: f64, mean: f64, waited: bool) -> State {
        if !waited {
            // Nobody had to wait, so the limit cannot have lowered the rate.
            return State::Held { rate: full, rest: 0, calm: 1 };
        }
        match way {
            Way::First | Way::Lower(_) if rate >= KEPT * full => self.lower(full.max(rate)),
            Way::First => {
                // What was thought usual is too short: answers differ, or have become slower.
                self.usual = Some(mean);
                self.current = self.raised();
                if self.current == self.max {
                    return self.open();
                }
                State::Tried { rate: full, way, settles: 1 }
            }
            Way::Lower(before) => {
                self.descends = false;
                self.current = before;
                self.higher(full)
            }
            Way::Higher(_) if KEPT * rate >= full => self.higher(rate),
            Way::Higher(before) => {
                self.current = before;
                State::Held { rate: full, rest: REST, calm: 0 }
            }
        }
    }

    /// Tries a lower limit: at first half of it, then a fifth less.
    fn lower(&mut self, rate: f64) -> State {
        let before = self.current;
        let less = before.div_ceil(if self.descends { 2 } else { 5 });
        self.current = (before - less).max(LEAST);
        if self.current == before {
            return self.higher(rate);
        }
        State::Tried { rate, way: Way::Lower(before), settles: 1 }
    }

    /// Tries a higher limit.
    fn higher(&mut self, rate: f64) -> State {
        let before = self.current;
        self.current = self.raised();
        State::Tried { rate, way: Way::Higher(before), settles: 1 }
    }

    /// Raises a limit that nobody has met for a while.
    fn grow(&mut self, rate: f64) -> State {
        self.current = self.raised();
        if self.current == self.max {
            return self.open();
        }
        State::Held { rate, rest: 0, calm: CALM - 1 }
    }

    fn raised(&self) -> usize {
        (self.current + self.current.div_ceil(4)).min(self.max)
    }
}

#[cfg(test)]
mod tests {
    use std::cmp::Reverse;
    use std::collections::{BinaryHeap, VecDeque};

    use super::*;

    const MS: u64 = 1_000;

    /// An upstream that works on so many calls at a time, and what a call takes there.
    struct Upstream {
        workers: usize,
        takes_us: fn(u64) -> u64,
    }

    /// What was seen in the last second.
    #[derive(Debug)]
    struct Seen {
        rate: usize,
        limit: usize,
        slowest_us: u64,
    }

    /// Lets users call an upstream from one second to another, each again as soon as it is answered.
    fn called(
        upstream: &Upstream,
        users: usize,
        limit: &mut Limit,
        (from, to): (u64, u64),
    ) -> Seen {
        let end = to * 1_000_000;
        let (mut open, mut waiting, mut number) = (0, users, 0_u64);
        let mut queue = VecDeque::new();
        let mut working = BinaryHeap::new();
        let mut now = from * 1_000_000;
        let mut seen = Seen { rate: 0, limit: 0, slowest_us: 0 };
        while now < end {
            while waiting > 0 && open < limit.current() {
                queue.push_back(now);
                (open, waiting) = (open + 1, waiting - 1);
            }
            if waiting > 0 {
                limit.waits();
            }
            while working.len() < upstream.workers
                && let Some(sent) = queue.pop_front()
            {
                number += 1;
                working.push(Reverse((now + (upstream.takes_us)(number), sent)));
            }
            let Some(Reverse((done, sent))) = working.pop() else { break };
            now = done;
            (open, waiting) = (open - 1, waiting + 1);
            limit.answered(Duration::from_micros(now - sent), open, Duration::from_micros(now));
            if now + 1_000_000 >= end {
                seen.rate += 1;
                seen.slowest_us = seen.slowest_us.max(now - sent);
            }
        }
        Seen { limit: limit.current(), ..seen }
    }

    #[test]
    fn an_upstream_with_few_workers_gets_about_as_many_calls_and_keeps_its_rate() {
        for (workers, takes_us) in [(1, 5 * MS), (2, 5 * MS), (16, 20 * MS), (100, 100 * MS)] {
            let upstream = match takes_us {
                5_000 => Upstream { workers, takes_us: |_| 5 * MS },
                20_000 => Upstream { workers, takes_us: |_| 20 * MS },
                _ => Upstream { workers, takes_us: |_| 100 * MS },
            };
            let full = workers * 1_000_000 / usize::try_from(takes_us).unwrap();

            let seen = called(&upstream, 2_000, &mut Limit::new(4_096), (0, 60));

            assert!(seen.rate * 10 >= full * 9, "{workers}: {seen:?}, {full}");
            assert!(seen.limit <= workers * 3 + 2, "{workers}: {seen:?}");
            assert!(seen.slowest_us <= takes_us * 5, "{workers}: {seen:?}");
        }
    }

    #[test]
    fn an_upstream_that_is_only_far_away_has_no_limit() {
        let upstream = Upstream { workers: usize::MAX, takes_us: |_| 1_000 * MS };

        let seen = called(&upstream, 1_000, &mut Limit::new(4_096), (0, 20));

        assert_eq!(seen.limit, 4_096, "{seen:?}");
    }

    #[test]
    fn answers_of_many_lengths_do_not_starve_an_upstream() {
        // One in ten takes two hundred times as long as the others.
        let takes_us = |number| if number % 10 == 0 { 400 * MS } else { 2 * MS };
        let upstream = Upstream { workers: 64, takes_us };
        let full = 64 * 1_000_000 / 41_800;

        let seen = called(&upstream, 1_000, &mut Limit::new(4_096), (0, 60));

        assert!(seen.rate * 10 >= full * 8, "{seen:?}, {full}");
        assert!(seen.limit < 400, "{seen:?}");
    }

    #[test]
    fn a_limit_ends_with_the_load_and_after_a_pause() {
        let upstream = Upstream { workers: 2, takes_us: |_| 5 * MS };
        let mut limit = Limit::new(4_096);
        called(&upstream, 500, &mut limit, (0, 60));
        assert!(limit.current() < 10 && limit.rate().is_some());
        let mut paused = Limit::new(4_096);
        called(&upstream, 500, &mut paused, (0, 60));

        let after = called(&upstream, 1, &mut limit, (60, 120));
        for second in 100..=101 {
            paused.answered(Duration::from_millis(5), 0, Duration::from_secs(second));
        }

        assert_eq!(after.limit, 4_096);
        assert_eq!((paused.current(), paused.rate()), (4_096, None));
    }
}
