//! Gets the course's files beside the learners: from the origin of content, at a rate of its own.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::thread::JoinHandle;
use std::time::Duration;

use homeroom_lab::learners::ContentSource;
use homeroom_load::engine::{Engine, Observed, Options, Source as _, StepFacts};
use homeroom_load::run::{Facts, Machine, RunFile, Settings, StepResult};
use homeroom_load::stage::{Arrivals, Stage};

use super::first::files;
use crate::command::lab::ready::engine_failure;
use crate::command::lab::server::{ServerArgs, target};
use crate::exit::Failure;

/// The most connections for content.
const CONNECTIONS: u32 = 256;

/// Requests for content in a thread of its own.
pub struct ContentRun {
    thread: JoinHandle<Option<Observed>>,
    steps: Vec<StepFacts>,
    stage: Stage,
}

impl ContentRun {
    /// Starts getting files below a URL at this rate, until `over` is set.
    pub fn start(
        url: &str,
        per_s: f64,
        all: Duration,
        options: &Options,
        server: &ServerArgs,
        over: Arc<AtomicBool>,
    ) -> Result<Self, Failure> {
        let mut target = target(url)?;
        let below = std::mem::take(&mut target.prefix);
        let own = server.options(&target, CONNECTIONS, options.timeout)?;
        let own = Options { threads: 1, drain: options.drain, ..own };
        let source = ContentSource::new(&files().map(|name| format!("{below}/{name}")));
        let (steps, stage) = (source.steps().to_vec(), Stage::rate(per_s, all));
        let mut engine =
            Engine::new(own, vec![source], over).map_err(|error| engine_failure(&error))?;
        let thread = std::thread::Builder::new()
            .name("lab-content".into())
            .spawn(move || engine.run(&[stage], Arrivals::Even, 1, &mut |_| {}).ok())
            .map_err(|error| Failure::because("getting content", error))?;
        Ok(Self { thread, steps, stage })
    }

    /// Waits for the end and returns the figures of each kind of file.
    pub fn end(self) -> Vec<StepResult> {
        let Some(observed) = self.thread.join().ok().flatten() else { return vec![] };
        let facts = Facts {
            generator_version: String::new(),
            scenario: String::new(),
            target: String::new(),
            command: vec![],
            started: String::new(),
            seed: 0,
            settings: Settings {
                arrivals: Arrivals::Even,
                connections: CONNECTIONS,
                timeout_ms: 0,
                slack_us: 0,
                threads: 1,
                protocol: "HTTP/1.1".into(),
            },
            machine: Machine::default(),
        };
        RunFile::new(facts, &[self.stage], &self.steps, &observed).steps
    }
}
