//! The engine: sends requests on schedule, whether or not answers come, and measures each from the
//! moment at which it was due.
#![expect(clippy::disallowed_methods, reason = "all sending threads begin at one moment")]

mod alarm;
mod connection;
mod error;
mod exchange;
mod http1;
mod schedule;
mod shared;
mod source;
mod target;
mod transport;
mod trust;
mod users;
mod waiting;
mod worker;

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use rustix::time::{ClockId, clock_gettime};

pub use connection::Protocol;
pub use error::EngineError;
pub use schedule::requests;
pub use shared::Options;
pub use source::{Answer, Header, Reaction, Request, Source, StepFacts};
pub use target::{Target, TargetError};
pub use trust::{Trust, TrustError, client as trust};

use crate::figures::Interval;
use crate::record::{Recording, Second};
use crate::stage::{Arrivals, Load, Stage};
use schedule::Schedule;
use shared::Shared;
use worker::{Plan, Worker};

/// The time between the start of the threads and the beginning of the run.
const LEAD: Duration = Duration::from_millis(20);
/// The number of open files that are not connections.
const OTHER_FILES: u64 = 64;

/// Threads with modelled clients and their connections, which can run one list of stages after
/// another.
pub struct Engine<S: Source> {
    workers: Vec<Worker<S>>,
    shared: Arc<Shared>,
}

/// What a run measured.
#[derive(Debug)]
pub struct Observed {
    /// The merged records of all threads.
    pub recording: Recording,
    /// One row per second.
    pub intervals: Vec<Interval>,
    /// The processor time that this whole process used during the run.
    pub cpu: Duration,
    /// The greatest share of a core that a sending thread used.
    pub busiest: f64,
    /// The time from the first moment to the end of the last answer.
    pub wall: Duration,
    /// When the run was told to end, counted from the first moment; `None` if it ran to its end.
    pub stopped_at: Option<Duration>,
}

impl<S: Source> Engine<S> {
    /// Returns an engine with one sending thread for each source, but no more threads than
    /// connections. Setting `stop` ends its runs early.
    ///
    /// # Errors
    ///
    /// If the target has no address, or the system lacks a resource.
    pub fn new(
        options: Options,
        sources: Vec<S>,
        stop: Arc<AtomicBool>,
    ) -> Result<Self, EngineError> {
        let most = options.connections as usize;
        let threads = sources.len().min(most.max(1));
        let options = Options { threads, ..options };
        let shared = Arc::new(Shared::new(options, stop)?);
        let workers = sources
            .into_iter()
            .take(threads)
            .enumerate()
            .map(|(number, source)| {
                // Shares differ by at most one, and every thread has some connections.
                let most = (most + threads - 1 - number) / threads;
                Worker::new(source, number, most, shared.clone())
            })
            .collect::<Result<_, _>>()?;
        Ok(Self { workers, shared })
    }

    /// Returns a handle that changes the token. A run in progress uses the new token within a
    /// second.
    pub fn token(&self) -> TokenSetter {
        TokenSetter(self.shared.clone())
    }

    /// Runs the stages in order and waits for the last answers. `each` is called every second.
    ///
    /// # Errors
    ///
    /// If the run needs more connections than the system allows.
    pub fn run(
        &mut self,
        stages: &[Stage],
        arrivals: Arrivals,
        seed: u64,
        each: &mut dyn FnMut(&Interval),
    ) -> Result<Observed, EngineError> {
        make_room(stages, self.shared.options.connections)?;
        let (sender, seconds) = mpsc::channel();
        let cpu = process_cpu();
        let begun = Instant::now() + LEAD;
        let plan = Plan { stages, arrivals, seed, begun };
        let mut due = Schedule::by_second(stages, arrivals, seed);
        let (recordings, intervals) = thread::scope(|scope| {
            let running: Vec<_> = self
                .workers
                .iter_mut()
                .map(|worker| {
                    let sender = sender.clone();
                    scope.spawn(move || worker.run(plan, &sender))
                })
                .collect();
            drop(sender);
            let mut intervals = vec![];
            let mut open = Open::new(running.len());
            for second in seconds {
                for full in open.add(second) {
                    let interval = full.interval(due.before(full.due_before()));
                    each(&interval);
                    intervals.push(interval);
                }
            }
            for full in open.rest() {
                let interval = full.interval(due.before(full.due_before()));
                each(&interval);
                intervals.push(interval);
            }
            // The rest of a second after the last answer has come.
            intervals.pop_if(|last: &mut Interval| last.due == 0 && last.answered == 0);
            let recordings: Vec<Recording> = running
                .into_iter()
                .map(|thread| {
                    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
                })
                .collect();
            (recordings, intervals)
        });
        let busiest = recordings
            .iter()
            .map(|recording| recording.cpu.as_secs_f64() / recording.wall.as_secs_f64().max(1e-9))
            .fold(0.0, f64::max);
        let recording = recordings
            .into_iter()
            .reduce(|mut all, recording| {
                all.merge(&recording);
                all
            })
            .unwrap_or_else(|| Recording::new(schedule::ends(stages), 0, false));
        let cpu = process_cpu().saturating_sub(cpu);
        let wall = recording.wall;
        let stopped_at = recording.stopped_at.map(Duration::from_nanos);
        Ok(Observed { recording, intervals, cpu, busiest, wall, stopped_at })
    }
}

/// Changes the token of an engine that may be running.
#[derive(Debug, Clone)]
pub struct TokenSetter(Arc<Shared>);

impl TokenSetter {
    /// Sends this token from now on.
    pub fn set(&self, token: &str) {
        self.0.set_token(token);
    }
}

/// Seconds that not all threads have reported yet.
struct Open {
    threads: usize,
    seconds: std::collections::VecDeque<(usize, Second)>,
    first: u64,
}

impl Open {
    fn new(threads: usize) -> Self {
        Self { threads, seconds: std::collections::VecDeque::new(), first: 0 }
    }

    /// Adds a thread's second, and returns the seconds that all threads have reported.
    fn add(&mut self, second: Second) -> Vec<Second> {
        let at = usize::try_from(second.number - self.first).unwrap_or(usize::MAX);
        while self.seconds.len() <= at {
            let number = self.first + self.seconds.len() as u64;
            self.seconds.push_back((0, Second::new(number)));
        }
        let (told, sum) = &mut self.seconds[at];
        *told += 1;
        sum.merge(&second);
        let mut full = vec![];
        while self.seconds.front().is_some_and(|(told, _)| *told == self.threads) {
            full.extend(self.seconds.pop_front().map(|(_, second)| second));
            self.first += 1;
        }
        full
    }

    /// Returns the seconds that only some threads have reported.
    fn rest(self) -> impl Iterator<Item = Second> {
        self.seconds.into_iter().map(|(_, second)| second)
    }
}

/// Raises the limit on open files to what the stages may need, as far as the system allows.
fn make_room(stages: &[Stage], connections: u32) -> Result<(), EngineError> {
    let needs = || {
        stages.iter().map(|stage| match stage.load {
            Load::Users { from, to } => u64::from(from.max(to)),
            Load::Rate { .. } => connections.into(),
        })
    };
    let asked = needs().max().unwrap_or(0);
    // Clients that still wait when their stage ends overlap with those of the next one.
    let at_most = needs().sum::<u64>() + OTHER_FILES;
    let limit = getrlimit(Resource::Nofile);
    if limit.current.is_none_or(|current| current >= at_most) {
        return Ok(());
    }
    // Who may raise the hard limit, too, has no need to be told to.
    let beyond = Rlimit { current: Some(at_most), maximum: Some(at_most) };
    let most = limit.maximum.unwrap_or(u64::MAX);
    if most < at_most && setrlimit(Resource::Nofile, beyond).is_ok() {
        return Ok(());
    }
    if most < asked + OTHER_FILES {
        return Err(EngineError::Files { asked, limit: most });
    }
    let raised = Rlimit { current: limit.maximum, maximum: limit.maximum };
    setrlimit(Resource::Nofile, raised).map_err(|error| EngineError::System(error.into()))
}

fn process_cpu() -> Duration {
    Duration::try_from(clock_gettime(ClockId::ProcessCPUTime)).unwrap_or_default()
}
