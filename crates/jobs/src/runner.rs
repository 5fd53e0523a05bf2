//! The runner: takes jobs while it has places for them, keeps their leases, and stops in order.
#![expect(clippy::disallowed_methods, reason = "the runner acts at moments of its own")]

use std::collections::HashMap;
use std::time::Duration;

use homeroom_store::{ChangedAt, Uuid};
use tokio::sync::watch;
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::{MissedTickBehavior, interval, sleep, timeout};

use crate::error::JobError;
use crate::job::JobId;
use crate::jobs::Jobs;
use crate::kind::Kind;
use crate::lease::{Held, Lease};
use crate::outcome::after;
use crate::running::{Order, Running, Stop, Told, put_back, take};
use crate::supervise::Attempt;
use crate::take::Taken;

/// Times and places of a runner.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Times {
    /// Most jobs of all kinds that run at a time. Default: 16.
    pub running_max: usize,
    /// How long a lease lasts, and so how long a job of a killed node waits. It must be longer than
    /// the clocks of the nodes differ by. Default: 60 s.
    pub lease: Duration,
    /// How often a runner looks for jobs that other nodes have queued. Default: 2 s.
    pub poll: Duration,
    /// How often progress is stored. Default: 1 s.
    pub tick: Duration,
    /// How long the handler of a cancelled job may take to stop. Default: 5 s.
    pub grace: Duration,
    /// How often jobs that have expired are removed. Default: 10 minutes.
    pub sweep: Duration,
}

impl Default for Times {
    fn default() -> Self {
        Self {
            running_max: 16,
            lease: Duration::from_mins(1),
            poll: Duration::from_secs(2),
            tick: Duration::from_secs(1),
            grace: Duration::from_secs(5),
            sweep: Duration::from_mins(10),
        }
    }
}

/// A runner at work. When it is dropped, its handlers are ended where they wait, and their jobs are
/// taken over when the leases end; [`Runner::stop`] is the orderly way.
#[derive(Debug)]
pub struct Runner {
    stop: watch::Sender<Option<Duration>>,
    /// [`None`] where there are no kinds, and so nothing to do.
    task: Option<JoinHandle<()>>,
}

impl Runner {
    /// Starts a runner for these kinds on the current runtime. Without kinds it does nothing.
    pub fn start(jobs: &Jobs, kinds: Vec<Kind>, times: Times) -> Self {
        let (stop, stopped) = watch::channel(None);
        let task = (!kinds.is_empty()).then(|| {
            let work = Work {
                jobs: jobs.clone(),
                kinds,
                times,
                node: Uuid::new().to_string(),
                active: HashMap::new(),
                attempts: JoinSet::new(),
                first: 0,
                is_failing: false,
                next_sweep: ChangedAt::now(),
            };
            tokio::spawn(work.run(stopped))
        });
        Self { stop, task }
    }

    /// Stops: takes no more jobs, asks the handlers to stop, and gives back what has not ended
    /// within `time_max`.
    pub async fn stop(mut self, time_max: Duration) {
        _ = self.stop.send(Some(time_max));
        if let Some(task) = &mut self.task {
            _ = task.await;
        }
    }
}

impl Drop for Runner {
    fn drop(&mut self) {
        if let Some(task) = &self.task {
            task.abort();
        }
    }
}

/// The longest time after the drain in which ends are recorded.
const LAST: Duration = Duration::from_secs(5);

struct Work {
    jobs: Jobs,
    kinds: Vec<Kind>,
    times: Times,
    node: String,
    active: HashMap<JobId, Active>,
    attempts: JoinSet<Lease>,
    /// The kind that is looked for first, so that none is always last.
    first: usize,
    /// Whether the store has failed since it last worked; a failure is logged once.
    is_failing: bool,
    next_sweep: ChangedAt,
}

/// A job that this runner has.
struct Active {
    kind: &'static str,
    lease: Lease,
    until: ChangedAt,
    told: Told,
    orders: watch::Sender<Option<Order>>,
}

impl Active {
    /// Asks the handler to stop; an earlier order stands, except where the lease is lost.
    fn order(&self, stop: Stop, within: Duration) {
        self.orders.send_if_modified(|order| {
            let is_new = order.is_none()
                || (stop == Stop::LeaseLost && order.is_some_and(|order| order.stop != stop));
            if is_new {
                *order = Some(Order { stop, within });
            }
            is_new
        });
    }
}

impl Work {
    async fn run(mut self, mut stop: watch::Receiver<Option<Duration>>) {
        let mut tick = interval(self.times.tick);
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let signals = std::sync::Arc::clone(&self.jobs.signals);
        let time_max = loop {
            self.sweep().await;
            let idle = self.fill().await;
            tokio::select! {
                time_max = told(&mut stop) => break time_max,
                () = signals.queued.notified() => {}
                () = signals.cancelled.notified() => self.extend(true).await,
                Some(ended) = self.attempts.join_next() => self.forget(ended.ok()),
                _ = tick.tick(), if !self.active.is_empty() => self.extend(false).await,
                () = sleep(idle) => {}
            }
        };
        self.drain(time_max).await;
    }

    /// Takes jobs while there are places. Returns how long there is nothing to take.
    async fn fill(&mut self) -> Duration {
        let mut idle = self.times.poll;
        self.first = (self.first + 1) % self.kinds.len();
        for at in 0..self.kinds.len() {
            let kind = self.kinds[(self.first + at) % self.kinds.len()].clone();
            loop {
                let own = self.active.values().filter(|active| active.kind == kind.name).count();
                let places = self.times.running_max.saturating_sub(self.active.len());
                let places = places.min(kind.running_max.saturating_sub(own));
                if places == 0 {
                    break;
                }
                match self.take(&kind, places).await {
                    Ok(Next::Taken) => self.is_failing = false,
                    Ok(Next::In(pause)) => {
                        idle = idle.min(pause);
                        self.is_failing = false;
                        break;
                    }
                    Err(error) => {
                        self.note(&error, "jobs cannot be taken");
                        return self.times.poll;
                    }
                }
            }
        }
        idle
    }

    /// Takes jobs of a kind, if some are due.
    async fn take(&mut self, kind: &Kind, places: usize) -> Result<Next, JobError> {
        let next = self.jobs.next_due(kind).await?;
        let now = ChangedAt::now();
        let Some(due) = next else { return Ok(Next::In(self.times.poll)) };
        if due > now {
            let micros = u64::try_from(due.0 - now.0).unwrap_or(0);
            return Ok(Next::In(Duration::from_micros(micros)));
        }
        let taken = self.jobs.take(kind, &self.node, places, self.times.lease, now).await?;
        for taken in taken {
            self.begin(kind, taken);
        }
        Ok(Next::Taken)
    }

    fn begin(&mut self, kind: &Kind, Taken { job, lease, until }: Taken) {
        let (orders, ordered) = watch::channel(None);
        let told = Told::default();
        let running = Running {
            id: job.id,
            owner: job.owner,
            input: job.input,
            attempt: lease.attempt,
            told: Told::clone(&told),
            orders: ordered.clone(),
        };
        let attempt = Attempt {
            jobs: self.jobs.clone(),
            kind: kind.clone(),
            lease: lease.clone(),
            told: Told::clone(&told),
            orders: ordered,
            now: ChangedAt::now,
        };
        self.active.insert(job.id, Active { kind: kind.name, lease, until, told, orders });
        self.attempts.spawn(attempt.run(running));
    }

    fn forget(&mut self, ended: Option<Lease>) {
        match ended {
            Some(lease) => self.active.retain(|_, active| active.lease != lease),
            // Its attempt panicked, which handlers cannot cause: its lease ends by itself.
            None => self.active.retain(|_, active| !active.orders.is_closed()),
        }
    }

    /// Extends the leases that need it, and stores what handlers have told; with `all`, extends
    /// every one.
    async fn extend(&mut self, all: bool) {
        let now = ChangedAt::now();
        let early = after(now, self.times.lease * 2 / 3);
        let mut leases = vec![];
        for active in self.active.values() {
            let told = take(&active.told);
            if all || told.is_some() || active.until < early {
                leases.push((active.lease.clone(), told));
            }
        }
        if leases.is_empty() {
            return;
        }
        let until = after(now, self.times.lease);
        let held = self.jobs.extend(leases.clone(), until, now).await;
        let held = match held {
            Ok(held) => held,
            Err(error) => {
                self.note(&error, "leases of jobs cannot be extended");
                return self.give_up(leases);
            }
        };
        for ((lease, _), held) in leases.iter().zip(held) {
            let Some(active) = self.active.get_mut(&lease.id) else { continue };
            active.until = until;
            match held {
                Held::Extended => {}
                Held::Cancelled => active.order(Stop::Cancelled, self.times.grace),
                Held::Lost => active.order(Stop::LeaseLost, Duration::ZERO),
            }
        }
    }

    /// Ends handlers whose lease is about to end: another node may begin then.
    fn give_up(&self, leases: Vec<(Lease, Option<crate::job::Progress>)>) {
        let soon = after(ChangedAt::now(), self.times.lease / 10);
        for (lease, told) in leases {
            let Some(active) = self.active.get(&lease.id) else { continue };
            put_back(&active.told, told);
            if active.until <= soon {
                active.order(Stop::LeaseLost, Duration::ZERO);
            }
        }
    }

    async fn sweep(&mut self) {
        let now = ChangedAt::now();
        if now < self.next_sweep {
            return;
        }
        self.next_sweep = after(now, self.times.sweep);
        match self.jobs.sweep(now).await {
            Ok(0) => {}
            Ok(removed) => tracing::info!(removed, "jobs that had expired were removed"),
            Err(error) => self.note(&error, "expired jobs cannot be removed"),
        }
    }

    async fn drain(&mut self, time_max: Duration) {
        self.extend(true).await;
        for active in self.active.values() {
            active.order(Stop::ServerStops, time_max);
        }
        let ending = async { while self.attempts.join_next().await.is_some() {} };
        if timeout(time_max + LAST, ending).await.is_err() {
            tracing::warn!("jobs were still running after the drain time; others take them over");
        }
    }

    fn note(&mut self, error: &JobError, what: &'static str) {
        if !std::mem::replace(&mut self.is_failing, true) {
            tracing::warn!(%error, "{what}");
        }
    }
}

/// Waits until the runner is told to stop, or is dropped. Returns how long that may take.
async fn told(stop: &mut watch::Receiver<Option<Duration>>) -> Duration {
    let told = stop.wait_for(Option::is_some).await;
    told.ok().and_then(|time_max| *time_max).unwrap_or_default()
}

/// What a look for jobs has found.
enum Next {
    /// Some were due and were taken, by this node or another.
    Taken,
    /// None is due before this time is over.
    In(Duration),
}
