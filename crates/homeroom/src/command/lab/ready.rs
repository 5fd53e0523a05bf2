//! All that stands ready before load is sent: scenario, engine, token.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, SystemTime};

use homeroom_lab::engine::{Engine, EngineError, Options};
use homeroom_lab::host::machine;
use homeroom_lab::run::Facts;
use homeroom_lab::scenario::{Program, ScenarioSource, Share, write_moment};

use super::load::{SendArgs, TargetArgs, shown_command};
use super::scenario::{self, Chosen};
use super::session::{self, Renewal};
use crate::exit::Failure;

/// An engine that can send, and what is known of its runs beforehand.
pub struct Ready {
    /// What is sent.
    pub program: Arc<Program>,
    /// Sends it.
    pub engine: Engine<ScenarioSource>,
    /// Stands in the files of its runs.
    pub facts: Facts,
    _renewal: Option<Renewal>,
}

impl Ready {
    /// Reads the scenario, makes sure that the target can be reached, and gets a token. For trials,
    /// runs can be judged by the tenth of a second, and are drained for at most so long.
    pub fn new(
        to: &TargetArgs,
        how: &SendArgs,
        trials: Option<Duration>,
        stop: &Arc<AtomicBool>,
    ) -> Result<Self, Failure> {
        let (target, path) = to.target()?;
        let options = how.options(to, &target)?;
        let options = match trials {
            None => options,
            Some(drain) => for_trials(options, drain),
        };
        let seed = how.seed();
        let key = to.key()?;
        let Chosen { program, token_path } =
            scenario::read(to, path, &options, key.as_ref(), seed, stop)?;
        let facts = Facts {
            generator_version: crate::version(),
            scenario: program.name.clone(),
            target: target.url(),
            command: repeatable(shown_command(std::env::args()), how, seed),
            started: now(),
            seed,
            settings: how.recorded(&options),
            machine: machine(),
        };
        let caller = session::caller(&options);
        // What a run over an Ed-Fi API makes has a mark of its own beside the number, and numbers of
        // nine digits have little room.
        let first = if token_path.is_some() { seed % 1_000 } else { seed % 1_000_000 };
        let engine = engine(&options, &program, (seed, 1 + first * 1_000), stop.clone())?;
        let renewal = match key {
            None => {
                session::reach(&caller)?;
                None
            }
            Some(key) => {
                let below = |path| format!("{}{path}", caller.target.prefix);
                let path = token_path.map_or_else(|| homeroom_lab::token::path(&caller), below);
                let token = session::first_token(&caller, &path, &key)?;
                let setter = engine.token();
                setter.set(&token.text);
                Some(Renewal::start(caller, path, key, &token, setter)?)
            }
        };
        Ok(Self { program, engine, facts, _renewal: renewal })
    }
}

/// How trials are sent: seen by the tenth of a second, and drained for at most so long.
fn for_trials(options: Options, drain: Duration) -> Options {
    Options { bins: true, drain: options.drain.min(drain), ..options }
}

/// The command line that gives the same again: with the seed that was drawn.
fn repeatable(mut command: Vec<String>, how: &SendArgs, seed: u64) -> Vec<String> {
    if !how.has_seed() {
        command.extend(["--seed".into(), seed.to_string()]);
    }
    command
}

fn now() -> String {
    let mut text = vec![];
    write_moment(&mut text, SystemTime::now());
    String::from_utf8_lossy(&text).into_owned()
}

/// An engine for a scenario, with its seed and first serial number. Numbers begin where the seed says,
/// a thousand further for the next seed, so that a run with another seed mostly makes documents that
/// the first has not made.
fn engine(
    options: &Options,
    program: &Arc<Program>,
    (seed, first_serial): (u64, u64),
    stop: Arc<AtomicBool>,
) -> Result<Engine<ScenarioSource>, Failure> {
    let threads = u32::try_from(options.threads).unwrap_or(u32::MAX);
    let source =
        |thread| ScenarioSource::new(program, Share { thread, threads, seed, first_serial });
    let sources = (0..threads).map(source).collect();
    Engine::new(options.clone(), sources, stop).map_err(|error| engine_failure(&error))
}

/// What ends a command when the engine gives up.
pub fn engine_failure(error: &EngineError) -> Failure {
    match error {
        EngineError::Target(_) => Failure::Unreachable(error.to_string()),
        EngineError::Name | EngineError::Files { .. } | EngineError::System(_) => {
            Failure::Failed(error.to_string())
        }
    }
}

#[cfg(test)]
mod tests {
    use homeroom_lab::engine::{Protocol, Target};

    use super::*;

    #[test]
    fn trials_are_drained_no_longer_than_a_request_may_take_or_the_search_plans_for() {
        let options = |timeout: u64| Options {
            target: Target::parse("http://127.0.0.1:1").unwrap(),
            protocol: Protocol::Http1,
            connections: 1,
            timeout: Duration::from_secs(timeout),
            drain: Duration::from_secs(timeout),
            slack: Duration::ZERO,
            threads: 1,
            from: vec![],
            bins: false,
            tls: None,
        };
        let drain = |timeout| for_trials(options(timeout), Duration::from_secs(10)).drain.as_secs();

        assert_eq!((drain(30), drain(5)), (10, 5));
        assert!(for_trials(options(1), Duration::ZERO).bins);
    }
}
