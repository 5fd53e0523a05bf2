//! What a run needs and learns, apart from the clients.

use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::time::{Duration, Instant};

use crate::engine::schedule::{Schedule, ends, nanoseconds};
use crate::engine::shared::Shared;
use crate::engine::users::{Coming, Thinking};
use crate::engine::waiting::Waiting;
use crate::outcome::Outcome;
use crate::record::{Over, Second, Share};
use crate::stage::{Arrivals, Stage};

/// How long a run that was told to end waits for answers.
const FAREWELL: Duration = Duration::from_secs(2);

/// What all threads of a run are told.
#[derive(Debug, Clone, Copy)]
pub struct Plan<'a> {
    /// What is sent, one after the other.
    pub stages: &'a [Stage],
    /// How the moments of rates lie.
    pub arrivals: Arrivals,
    /// What random choices follow from.
    pub seed: u64,
    /// The first moment.
    pub begun: Instant,
}

/// One thread's part of a run. Moments are nanoseconds since it began.
pub struct Run<'a> {
    pub begun: Instant,
    pub schedule: std::iter::Peekable<Schedule>,
    pub coming: Coming,
    pub thinking: Thinking,
    pub waiting: Waiting,
    /// Until when there was no free client for a request that was due.
    pub blocked_until: u64,
    pub end: u64,
    pub give_up: u64,
    pub timeout: u64,
    pub slack: u64,
    pub share: Share,
    pub second: Second,
    pub seconds: &'a Sender<Second>,
    pub token: Arc<[u8]>,
}

impl<'a> Run<'a> {
    /// The part of a thread of this number, with so many steps.
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
            share: Share::new(ends, steps, options.bins),
            second: Second::new(0),
            seconds,
            token: shared.token(),
        }
    }

    /// Nanoseconds since it began.
    pub fn now(&self) -> u64 {
        nanoseconds(self.begun.elapsed())
    }

    /// Whether nothing is left to send or to wait for.
    pub fn is_over(&mut self, now: u64) -> bool {
        let is_done = now >= self.end
            && self.waiting.is_empty()
            && self.schedule.peek().is_none()
            && self.coming.next_at().is_none()
            && self.thinking.is_empty();
        now >= self.give_up || is_done
    }

    /// Whether it was told to end before it was over.
    pub fn was_stopped(&self) -> bool {
        self.share.stopped_at.is_some()
    }

    /// Told to end: nothing more is sent, and answers are waited for a little.
    pub fn stop(&mut self, now: u64) {
        self.leave(Outcome::Unfinished, now);
        self.schedule = Schedule::new(&[], Arrivals::Even, 0, 0, 1).peekable();
        self.coming = Coming::new(&[], 0, 1);
        self.end = self.end.min(now);
        self.give_up = self.give_up.min(now + nanoseconds(FAREWELL));
        self.share.stop(now);
        self.second.stopped_at = Some(now);
    }

    /// The second after the one that is over, which it gives.
    pub fn next_second(&mut self) -> Second {
        let mut next = Second::new(self.second.number + 1);
        next.stopped_at = self.second.stopped_at;
        let mut full = std::mem::replace(&mut self.second, next);
        full.in_flight = self.waiting.len() as u64;
        full
    }

    /// Counts what was due and never sent. What was not due yet was never asked for.
    pub fn leave(&mut self, outcome: Outcome, now: u64) {
        while let Some(due) = self.schedule.next_if(|due| due.at <= now) {
            let over = Over {
                stage: due.stage,
                step: None,
                due: due.at,
                sent: now,
                done: now,
                outcome,
                ok: false,
                late: true,
            };
            self.share.add(&over, &mut self.second);
            self.share.abandoned += 1;
        }
    }
}
