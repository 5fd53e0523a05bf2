//! The state of a run in one thread, apart from the clients.

use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::time::{Duration, Instant};

use crate::engine::schedule::{Schedule, ends, nanoseconds};
use crate::engine::shared::Shared;
use crate::engine::users::{Coming, Thinking};
use crate::engine::waiting::Waiting;
use crate::outcome::Outcome;
use crate::record::{Ended, Recording, Second};
use crate::stage::{Arrivals, Stage};

/// How long a run that was told to end still waits for answers.
const FAREWELL: Duration = Duration::from_secs(2);

/// The plan of a run, which all its threads get.
#[derive(Debug, Clone, Copy)]
pub struct Plan<'a> {
    /// The stages, in order.
    pub stages: &'a [Stage],
    /// The distribution of arrivals at a rate.
    pub arrivals: Arrivals,
    /// The seed of random choices.
    pub seed: u64,
    /// The moment at which the run begins.
    pub begun: Instant,
}

/// One thread's part of a run. Moments are nanoseconds since it began.
pub struct Run<'a> {
    pub begun: Instant,
    pub schedule: std::iter::Peekable<Schedule>,
    pub coming: Coming,
    pub thinking: Thinking,
    pub waiting: Waiting,
    /// The moment until which a due request had no free client.
    pub blocked_until: u64,
    /// When each stage ends.
    ends: Vec<u64>,
    pub end: u64,
    pub give_up: u64,
    pub timeout: u64,
    pub slack: u64,
    pub recording: Recording,
    pub second: Second,
    pub seconds: &'a Sender<Second>,
    pub token: Arc<[u8]>,
}

impl<'a> Run<'a> {
    /// Returns the run of the thread with this number, with this many steps.
    pub fn new(
        plan: Plan<'_>,
        number: usize,
        steps: usize,
        shared: &Shared,
        seconds: &'a Sender<Second>,
    ) -> Self {
        let options = &shared.options;
        let ends = ends(plan.stages);
        let end = ends.last().copied().unwrap_or(0);
        let Plan { stages, arrivals, seed, begun } = plan;
        Self {
            begun,
            schedule: Schedule::new(stages, arrivals, seed, number, options.threads).peekable(),
            coming: Coming::new(stages, number, options.threads),
            thinking: Thinking::default(),
            waiting: Waiting::default(),
            blocked_until: 0,
            end,
            give_up: end + nanoseconds(options.drain),
            timeout: nanoseconds(options.timeout),
            slack: nanoseconds(options.slack),
            recording: Recording::new(ends.clone(), steps, options.bins),
            ends,
            second: Second::new(0),
            seconds,
            token: shared.token(),
        }
    }

    /// Returns the nanoseconds since the run began.
    pub fn now(&self) -> u64 {
        nanoseconds(self.begun.elapsed())
    }

    /// Returns whether nothing is left to send or to wait for.
    pub fn is_over(&mut self, now: u64) -> bool {
        let is_done = now >= self.end
            && self.waiting.is_empty()
            && self.schedule.peek().is_none()
            && self.coming.next_at().is_none()
            && self.thinking.is_empty();
        now >= self.give_up || is_done
    }

    /// Returns the number of the stage at a moment: the last one after its end.
    pub fn stage_at(&self, at: u64) -> usize {
        self.ends.partition_point(|end| *end <= at).min(self.ends.len().saturating_sub(1))
    }

    /// Returns whether the run was told to end early.
    pub fn was_stopped(&self) -> bool {
        self.recording.stopped_at.is_some()
    }

    /// Ends the run early: nothing more is sent, and answers are awaited only briefly.
    pub fn stop(&mut self, now: u64) {
        self.leave(Outcome::Unfinished, now);
        self.schedule = Schedule::new(&[], Arrivals::Even, 0, 0, 1).peekable();
        self.coming = Coming::new(&[], 0, 1);
        self.end = self.end.min(now);
        self.give_up = self.give_up.min(now + nanoseconds(FAREWELL));
        self.recording.stop(now);
        self.second.stopped_at = Some(now);
    }

    /// Starts the next second and returns the one that is over.
    pub fn next_second(&mut self) -> Second {
        let mut next = Second::new(self.second.number + 1);
        next.stopped_at = self.second.stopped_at;
        let mut full = std::mem::replace(&mut self.second, next);
        full.in_flight = self.waiting.len() as u64;
        full
    }

    /// Counts the requests that were due and never sent. Requests that were not due yet do not
    /// count.
    pub fn leave(&mut self, outcome: Outcome, now: u64) {
        while let Some(due) = self.schedule.next_if(|due| due.at <= now) {
            let ended = Ended {
                stage: due.stage,
                step: None,
                due: due.at,
                sent: now,
                done: now,
                outcome,
                ok: false,
                late: true,
            };
            self.recording.add(&ended, &mut self.second);
            self.recording.abandoned += 1;
        }
    }
}
