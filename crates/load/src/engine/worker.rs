//! A sending thread: one loop that sends due requests and reads answers.
//!
//! It sleeps until the next request is due or a socket is ready, with microsecond precision: its
//! timer slack is one nanosecond, and waits are given in nanoseconds.
#![expect(
    clippy::disallowed_methods,
    reason = "a request is sent when it is due, and measured from then"
)]

mod run;

use std::collections::VecDeque;
use std::num::NonZeroU64;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::Sender;
use std::time::{Duration, Instant};

use httparse::EMPTY_HEADER;
use rustix::buffer::spare_capacity;
use rustix::event::{Timespec, epoll};
use rustix::thread::set_current_timer_slack;
use rustix::time::{ClockId, clock_gettime};

use super::alarm::Alarm;
use super::connection::Connection;
use super::exchange::{Fixed, Progress};
use super::http1::HEADERS;
use super::schedule::{Due, nanoseconds};
use super::shared::Shared;
use super::source::{Answer, Request, Source};
use super::users::User;
use crate::outcome::Outcome;
use crate::record::{Ended, Recording, Second};
pub use run::Plan;
use run::Run;

/// The lag in nanoseconds above which a request counts as late: it had to wait for a connection.
const LATE: u64 = 1_000_000;
/// How long a modelled client waits after a request without an answer, so that a server that is
/// down does not get a hundred thousand requests per second.
const REST: Duration = Duration::from_millis(50);
const SECOND: u64 = 1_000_000_000;
const ROOM: usize = 64 * 1024;
const EVENTS: usize = 1024;

/// A thread's modelled clients and their connections, which outlive a run.
pub struct Worker<S: Source> {
    pub(super) source: S,
    number: usize,
    shared: Arc<Shared>,
    poll: OwnedFd,
    slots: Vec<ModelledClient<S::Client>>,
    idle: VecDeque<u32>,
    most: usize,
    next_client: u32,
    room: Box<[u8]>,
    alarm: Alarm,
}

/// A modelled client with its connection and its request.
struct ModelledClient<C> {
    client: C,
    connection: Option<Connection>,
    /// The number of the slot's connection, which identifies events of an older one.
    generation: u32,
    request: Request,
    step: usize,
    stage: usize,
    user: Option<User>,
    due: u64,
    sent: u64,
    late: bool,
    sent_again: bool,
}

impl<S: Source> Worker<S> {
    /// Returns a worker without clients, which may open at most `most` connections.
    ///
    /// # Errors
    ///
    /// If the system cannot create an epoll instance.
    pub fn new(
        source: S,
        number: usize,
        most: usize,
        shared: Arc<Shared>,
    ) -> std::io::Result<Self> {
        Ok(Self {
            source,
            number,
            shared,
            poll: epoll::create(epoll::CreateFlags::CLOEXEC)?,
            slots: vec![],
            idle: VecDeque::new(),
            most,
            next_client: 0,
            room: vec![0; ROOM].into_boxed_slice(),
            alarm: Alarm::default(),
        })
    }

    /// Sends this thread's share of the stages and waits for the answers.
    pub fn run(&mut self, plan: Plan<'_>, seconds: &Sender<Second>) -> Recording {
        // Without it, sleeps end some 50 µs late. If it is refused, the measured lag shows that.
        _ = set_current_timer_slack(NonZeroU64::new(1));
        let steps = self.source.steps().len();
        let mut run = Run::new(plan, self.number, steps, &self.shared, seconds);
        std::thread::sleep(run.begun.saturating_duration_since(Instant::now()));
        let cpu = thread_cpu();
        let mut events = Vec::with_capacity(EVENTS);
        let mut now = run.now();
        loop {
            self.turn_second(&mut run, now);
            self.time_out(&mut run, now);
            self.start_users(&mut run, now);
            self.send_due(&mut run);
            now = run.now();
            if self.shared.stop.load(Ordering::Relaxed) && !run.was_stopped() && !run.is_over(now) {
                run.stop(now);
                self.dismiss(&mut run);
            }
            if run.is_over(now) && (now >= run.give_up || self.own_due(&run).is_none()) {
                break;
            }
            let until = self.until(&mut run);
            self.wait(&run, until, now, &mut events);
            now = run.now();
            for event in events.drain(..) {
                self.ready(&mut run, event, now);
            }
        }
        self.abandon(&mut run);
        run.recording.cpu = thread_cpu().saturating_sub(cpu);
        run.recording.wall = run.begun.elapsed();
        _ = run.seconds.send(run.second);
        run.recording
    }

    /// Returns the next moment at which something must be done if no event comes first.
    fn until(&mut self, run: &mut Run<'_>) -> u64 {
        let mut until = ((run.second.number + 1) * SECOND).min(run.give_up);
        if run.end > run.now() {
            until = until.min(run.end);
        }
        let may_send = !self.idle.is_empty() || self.slots.len() < self.most;
        if may_send && let Some(due) = run.schedule.peek() {
            until = until.min(due.at + run.slack);
        }
        if may_send && let Some(at) = self.own_due(run) {
            until = until.min(at + run.slack);
        }
        if let Some(first) = run.waiting.first() {
            until = until.min(self.slots[first as usize].sent + run.timeout);
        }
        for at in [run.coming.next_at(), run.thinking.next_at()].into_iter().flatten() {
            until = until.min(at);
        }
        until
    }

    /// Sleeps until a moment, or until a socket is ready. The sleep is cut short by as much as
    /// wakes are late on this machine; the rest of the time is spent polling.
    fn wait(&mut self, run: &Run<'_>, until: u64, now: u64, events: &mut Vec<epoll::Event>) {
        let sleep = until.saturating_sub(now + self.alarm.lead());
        // An interrupted wait counts as one that ended early.
        _ = epoll::wait(&self.poll, spare_capacity(events), Some(&timespec(sleep)));
        if !events.is_empty() {
            return;
        }
        let mut woken = run.now();
        if sleep > 0 {
            self.alarm.rang(woken.saturating_sub(now + sleep));
        }
        while woken < until && events.is_empty() {
            _ = epoll::wait(&self.poll, spare_capacity(events), Some(&timespec(0)));
            woken = run.now();
        }
    }

    fn turn_second(&self, run: &mut Run<'_>, now: u64) {
        while now >= (run.second.number + 1) * SECOND {
            let full = run.next_second();
            _ = run.seconds.send(full);
            run.token = self.shared.token();
        }
    }

    /// Fails the requests that have waited too long.
    fn time_out(&mut self, run: &mut Run<'_>, now: u64) {
        while let Some(slot) = run.waiting.first() {
            if self.slots[slot as usize].sent + run.timeout > now {
                break;
            }
            self.fail(run, slot, Outcome::TimedOut, now);
        }
    }

    fn start_users(&mut self, run: &mut Run<'_>, now: u64) {
        while let Some((at, user)) = run.coming.next(now) {
            let slot = self.free_slot(true).expect("a user always finds a place");
            self.slots[slot as usize].user = Some(user);
            self.send(run, slot, Due { at, stage: user.stage }, false);
        }
        while let Some((at, slot)) = run.thinking.next(now) {
            self.go_on(run, slot, at);
        }
    }

    fn send_due(&mut self, run: &mut Run<'_>) {
        loop {
            let scheduled = run.schedule.peek().copied();
            let own = self.own_due(run).map(|at| Due { at, stage: run.stage_at(at) });
            let is_own = match (scheduled, own) {
                (Some(scheduled), Some(own)) => own.at < scheduled.at,
                (_, own) => own.is_some(),
            };
            let Some(due) = (if is_own { own } else { scheduled }) else { break };
            let now = run.now();
            if due.at > now {
                break;
            }
            let Some(slot) = self.free_slot(false) else {
                run.blocked_until = now;
                break;
            };
            if is_own {
                run.second.due += 1;
            } else {
                run.schedule.next();
            }
            let late = due.at <= run.blocked_until && now - due.at > LATE;
            self.send(run, slot, due, late);
        }
    }

    /// Returns when the source has a request of its own, if it may still be sent.
    fn own_due(&mut self, run: &Run<'_>) -> Option<u64> {
        if run.was_stopped() { None } else { self.source.due().filter(|at| *at < run.end) }
    }

    /// Returns a slot without a client; a new one if more connections are allowed.
    fn free_slot(&mut self, beyond: bool) -> Option<u32> {
        let spread = self.shared.options.spread;
        let has_room = self.slots.len() < self.most;
        let idle = match spread {
            true if has_room => None,
            true => self.idle.pop_front(),
            false => self.idle.pop_back(),
        };
        if let Some(slot) = idle {
            return Some(slot);
        }
        if !beyond && self.slots.len() >= self.most {
            return None;
        }
        let threads = u32::try_from(self.shared.options.threads).unwrap_or(1);
        let number = self.next_client * threads + u32::try_from(self.number).unwrap_or(0);
        self.next_client += 1;
        let slot = u32::try_from(self.slots.len()).ok()?;
        self.slots.push(ModelledClient {
            client: self.source.client(number),
            connection: None,
            generation: 0,
            request: Request::default(),
            step: 0,
            stage: 0,
            user: None,
            due: 0,
            sent: 0,
            late: false,
            sent_again: false,
        });
        Some(slot)
    }

    fn send(&mut self, run: &mut Run<'_>, at: u32, due: Due, late: bool) {
        let slot = &mut self.slots[at as usize];
        slot.request.clear();
        slot.step = self.source.next(&mut slot.client, &mut slot.request);
        slot.stage = due.stage;
        slot.due = due.at;
        slot.late = late;
        slot.sent_again = false;
        if slot.user.is_some() {
            run.second.due += 1;
        }
        let now = run.now();
        self.slots[at as usize].sent = now.max(due.at);
        run.waiting.push(at);
        self.transmit(run, at);
    }

    /// Sends a slot's request over its connection or a new one.
    fn transmit(&mut self, run: &mut Run<'_>, at: u32) {
        if self.slots[at as usize].connection.is_none()
            && let Err(outcome) = self.connect(at)
        {
            let now = run.now();
            return self.fail(run, at, outcome, now);
        }
        let slot = &mut self.slots[at as usize];
        let Some(connection) = &mut slot.connection else { return };
        let facts = &self.source.steps()[slot.step];
        let fixed = Fixed {
            origin: &self.shared.origin,
            prefix: &self.shared.options.target.prefix,
            lines: &self.shared.lines,
            token: &run.token,
        };
        let progress = connection.send(&facts.method, &slot.request, fixed, facts.keeps_body);
        self.take(run, at, progress);
    }

    fn connect(&mut self, at: u32) -> Result<(), Outcome> {
        let slot = &mut self.slots[at as usize];
        let transport = self.shared.open()?;
        slot.generation = slot.generation.wrapping_add(1);
        let mark = u64::from(slot.generation) << 32 | u64::from(at);
        let flags = epoll::EventFlags::IN
            | epoll::EventFlags::OUT
            | epoll::EventFlags::RDHUP
            | epoll::EventFlags::ET;
        epoll::add(&self.poll, &transport, epoll::EventData::new_u64(mark), flags)
            .map_err(|_| Outcome::NoRoom)?;
        slot.connection = Some(Connection::new(transport, self.shared.options.protocol));
        Ok(())
    }

    /// Handles a ready socket.
    fn ready(&mut self, run: &mut Run<'_>, event: epoll::Event, now: u64) {
        let mark = event.data.u64();
        let Ok(at) = u32::try_from(mark & u64::from(u32::MAX)) else { return };
        let flags = event.flags;
        let hung_up = flags
            .intersects(epoll::EventFlags::RDHUP | epoll::EventFlags::HUP | epoll::EventFlags::ERR);
        let slot = &mut self.slots[at as usize];
        if u64::from(slot.generation) != mark >> 32 {
            return;
        }
        let Some(connection) = &mut slot.connection else { return };
        if !run.waiting.contains(at) {
            // The connection is idle, so the only news can be that the server closed it.
            if !connection.is_alive(hung_up) {
                slot.connection = None;
            }
            return;
        }
        let progress = connection.advance(hung_up, &mut self.room);
        if progress == Progress::Pending {
            return;
        }
        self.take_at(run, at, progress, now);
    }

    fn take(&mut self, run: &mut Run<'_>, at: u32, progress: Progress) {
        if progress != Progress::Pending {
            let now = run.now();
            self.take_at(run, at, progress, now);
        }
    }

    fn take_at(&mut self, run: &mut Run<'_>, at: u32, progress: Progress, now: u64) {
        match progress {
            Progress::Pending => {}
            Progress::Answered => self.answered(run, at, now),
            Progress::Failed(outcome) => {
                let slot = &mut self.slots[at as usize];
                let idle_closed =
                    slot.connection.as_ref().is_some_and(Connection::may_have_been_idle_closed);
                let method = &self.source.steps()[slot.step].method;
                let repeatable = !matches!(method.as_str(), "POST" | "PATCH");
                if outcome == Outcome::Closed && idle_closed && repeatable && !slot.sent_again {
                    // The server closed the idle connection, as it may; the request had not reached
                    // it.
                    slot.connection = None;
                    slot.sent_again = true;
                    return self.transmit(run, at);
                }
                self.fail(run, at, outcome, now);
            }
        }
    }

    fn answered(&mut self, run: &mut Run<'_>, at: u32, now: u64) {
        let slot = &mut self.slots[at as usize];
        let Some(connection) = &mut slot.connection else { return };
        let verdict = {
            let mut room = [EMPTY_HEADER; HEADERS];
            let answer = connection.answer(&mut room);
            self.source.answered_at(&mut slot.client, slot.step, &answer, now)
        };
        let outcome = Outcome::Status(connection.status());
        if !connection.is_reusable() {
            slot.connection = None;
        }
        self.over(run, at, outcome, verdict.ok, verdict.pause, now);
    }

    fn fail(&mut self, run: &mut Run<'_>, at: u32, outcome: Outcome, now: u64) {
        let slot = &mut self.slots[at as usize];
        slot.connection = None;
        let answer = Answer { outcome, headers: &[], body: &[], length: 0 };
        let verdict = self.source.answered_at(&mut slot.client, slot.step, &answer, now);
        self.over(run, at, outcome, false, verdict.pause.max(REST), now);
    }

    fn over(
        &mut self,
        run: &mut Run<'_>,
        at: u32,
        outcome: Outcome,
        ok: bool,
        pause: Duration,
        now: u64,
    ) {
        run.waiting.remove(at);
        let slot = &mut self.slots[at as usize];
        let ended = Ended {
            stage: slot.stage,
            step: Some(slot.step),
            due: slot.due,
            sent: slot.sent,
            done: now.max(slot.sent),
            outcome,
            ok,
            late: slot.late,
        };
        run.recording.add(&ended, &mut run.second);
        let next = now + nanoseconds(pause);
        match slot.user {
            // Not sent from here: a client that is answered at once would recurse without end.
            Some(user) if next < user.until.min(run.end) => run.thinking.push(next, at),
            // A client that would only pause until the end leaves now.
            _ => self.free(at),
        }
    }

    /// Sends a modelled client's next request.
    fn go_on(&mut self, run: &mut Run<'_>, at: u32, due: u64) {
        if let Some(user) = self.slots[at as usize].user {
            self.send(run, at, Due { at: due, stage: user.stage }, false);
        }
    }

    /// Removes a slot's client; its connection can be used by another.
    fn free(&mut self, at: u32) {
        self.slots[at as usize].user = None;
        self.idle.push_back(at);
    }

    /// Removes all pausing clients.
    fn dismiss(&mut self, run: &mut Run<'_>) {
        while let Some((_, at)) = run.thinking.next(u64::MAX) {
            self.free(at);
        }
    }

    /// Ends the requests and clients that are left when the run is over.
    fn abandon(&mut self, run: &mut Run<'_>) {
        let now = run.now();
        let outcome = if run.was_stopped() { Outcome::Unfinished } else { Outcome::TimedOut };
        run.recording.abandoned += run.waiting.len() as u64;
        while let Some(slot) = run.waiting.first() {
            self.fail(run, slot, outcome, now);
        }
        self.dismiss(run);
        run.leave(Outcome::Unsent, now);
    }
}

fn timespec(nanoseconds: u64) -> Timespec {
    let duration = Duration::from_nanos(nanoseconds);
    Timespec::try_from(duration).unwrap_or(Timespec { tv_sec: 1, tv_nsec: 0 })
}

fn thread_cpu() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::try_from(time).unwrap_or_default()
}
