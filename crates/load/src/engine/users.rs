//! Modelled clients of closed loops: which are active when, and which are pausing.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::schedule::nanoseconds;
use crate::stage::{Load, Stage};

/// A modelled client of a stage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct User {
    /// The number of its stage.
    pub stage: usize,
    /// Its number among the stage's clients, from 0.
    pub number: u32,
    /// When it leaves, in nanoseconds since the run began.
    pub until: u64,
}

/// One thread's share of the modelled clients that have yet to start.
#[derive(Debug)]
pub struct Coming {
    /// The clients in reverse order of their start.
    left: Vec<(u64, User)>,
}

impl Coming {
    /// Returns the clients that belong to one of several threads.
    pub fn new(stages: &[Stage], thread: usize, threads: usize) -> Self {
        let mut left = vec![];
        let mut start = 0;
        for (at, stage) in stages.iter().enumerate() {
            let duration = nanoseconds(stage.duration);
            if let Load::Users { from, to } = stage.load {
                for number in (0..from.max(to)).filter(|n| *n as usize % threads == thread) {
                    let (first, last) = presence(number, from, to);
                    let moment = |share: f64| start + part(duration, share);
                    let user = User { stage: at, number, until: moment(last) };
                    left.push((moment(first), user));
                }
            }
            start += duration;
        }
        left.sort_by_key(|(at, user)| Reverse((*at, user.number)));
        Self { left }
    }

    /// Returns when the next client starts.
    pub fn next_at(&self) -> Option<u64> {
        self.left.last().map(|(at, _)| *at)
    }

    /// Takes the next client and its start, if it has started by `now`.
    pub fn next(&mut self, now: u64) -> Option<(u64, User)> {
        self.next_at().filter(|at| *at <= now)?;
        self.left.pop()
    }
}

/// Returns the shares of the stage between which the client of this number is active.
fn presence(number: u32, from: u32, to: u32) -> (f64, f64) {
    let place = f64::from(number);
    let (low, high) = (f64::from(from.min(to)), f64::from(from.max(to)));
    if place < low {
        return (0.0, 1.0);
    }
    let share = (place - low) / (high - low);
    if from <= to { (share, 1.0) } else { (0.0, 1.0 - share) }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a share of a time")]
fn part(duration: u64, share: f64) -> u64 {
    (duration as f64 * share) as u64
}

/// Pausing clients, by the moment at which they continue.
#[derive(Debug, Default)]
pub struct Thinking(BinaryHeap<Reverse<(u64, u32)>>);

impl Thinking {
    /// Adds a slot whose client continues at a moment.
    pub fn push(&mut self, at: u64, slot: u32) {
        self.0.push(Reverse((at, slot)));
    }

    /// Returns when the next client continues.
    pub fn next_at(&self) -> Option<u64> {
        self.0.peek().map(|Reverse((at, _))| *at)
    }

    /// Takes the next client whose pause is over, and the moment at which it ended.
    pub fn next(&mut self, now: u64) -> Option<(u64, u32)> {
        self.next_at().filter(|at| *at <= now)?;
        self.0.pop().map(|Reverse(found)| found)
    }

    /// Returns whether no client is pausing.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const SECOND: u64 = 1_000_000_000;

    fn all(stages: &[Stage], threads: usize) -> Vec<(u64, User)> {
        let mut found = vec![];
        for thread in 0..threads {
            let mut coming = Coming::new(stages, thread, threads);
            while let Some(at) = coming.next_at() {
                found.push(coming.next(at).unwrap());
            }
        }
        found
    }

    #[test]
    fn a_constant_number_of_clients_is_there_from_beginning_to_end() {
        let stages =
            [Stage::rate(1.0, Duration::from_secs(3)), Stage::users(5, Duration::from_secs(2))];

        let found = all(&stages, 2);

        assert_eq!(found.len(), 5);
        assert!(found.iter().all(|(at, user)| *at == 3 * SECOND && user.until == 5 * SECOND));
    }

    #[test]
    fn a_ramp_adds_or_removes_clients_one_at_a_time() {
        let up = Stage { load: Load::Users { from: 0, to: 4 }, duration: Duration::from_secs(4) };
        let down = Stage { load: Load::Users { from: 4, to: 2 }, duration: Duration::from_secs(4) };

        let coming: Vec<u64> = all(&[up], 1).iter().map(|(at, _)| *at).collect();
        let leaving: Vec<u64> = all(&[down], 1).iter().map(|(_, user)| user.until).collect();

        assert_eq!(coming, [0, SECOND, 2 * SECOND, 3 * SECOND]);
        assert_eq!(leaving, [4 * SECOND, 4 * SECOND, 4 * SECOND, 2 * SECOND]);
    }

    #[test]
    fn no_client_starts_before_its_time() {
        let mut coming = Coming::new(&[Stage::users(1, Duration::from_secs(1))], 0, 1);
        let mut thinking = Thinking::default();
        thinking.push(10, 3);
        thinking.push(5, 7);

        assert!(coming.next(0).is_some());
        assert!(coming.next(u64::MAX).is_none());
        assert_eq!(
            (thinking.next(4), thinking.next(9), thinking.next(9)),
            (None, Some((5, 7)), None)
        );
    }
}
