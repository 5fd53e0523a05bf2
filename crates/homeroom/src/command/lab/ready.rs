//! Prepares everything before load is sent: scenario, engine, token.
#![expect(clippy::disallowed_methods, reason = "a file is named by the moment")]

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, SystemTime};

use homeroom_load::engine::{Engine, EngineError, Options};
use homeroom_load::host::machine;
use homeroom_load::run::Facts;
use homeroom_load::scenario::{Program, ScenarioSource, ThreadShare, write_moment};

use super::load::{SendArgs, TargetArgs, shown_command};
use super::scenario::{self, Chosen};
use super::session::{self, Renewal};
use crate::exit::Failure;
use crate::version::version;

/// An engine that is ready to send, and the facts about its runs.
pub struct Ready {
    /// The compiled scenario.
    pub program: Arc<Program>,
    /// The engine that sends it.
    pub engine: Engine<ScenarioSource>,
    /// The facts for the files of its runs.
    pub facts: Facts,
    _renewal: Option<Renewal>,
}

impl Ready {
    /// Reads the scenario, checks that the target can be reached, and requests a token. For trials,
    /// the engine keeps records by tenths of a second, and the drain is limited.
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
            generator_version: version(),
            scenario: program.name.clone(),
            target: target.url(),
            command: repeatable(shown_command(std::env::args()), how, seed),
            started: now(),
            seed,
            settings: how.recorded(&options),
            machine: machine(),
        };
        let caller = session::caller(&options);
        // Documents of an Ed-Fi scenario carry a mark beside the serial number, and numbers of nine
        // digits have little room for it.
        let first = if token_path.is_some() { seed % 1_000 } else { seed % 1_000_000 };
        let engine = engine(&options, &program, (seed, 1 + first * 1_000), stop.clone())?;
        let renewal = match key {
            None => {
                session::reach(&caller)?;
                None
            }
            Some(key) => {
                let below = |path| format!("{}{path}", caller.target.prefix);
                let path = token_path.map_or_else(|| homeroom_load::token::path(&caller), below);
                let token = session::first_token(&caller, &path, &key)?;
                let setter = engine.token();
                setter.set(&token.text);
                Some(Renewal::start(caller, path, key, &token, setter)?)
            }
        };
        Ok(Self { program, engine, facts, _renewal: renewal })
    }
}

/// Adapts the options to trials: records by tenths of a second, and a limit for the drain.
fn for_trials(options: Options, drain: Duration) -> Options {
    Options { bins: true, drain: options.drain.min(drain), ..options }
}

/// Returns the command line that repeats the run, with the seed that was drawn.
fn repeatable(mut command: Vec<String>, how: &SendArgs, seed: u64) -> Vec<String> {
    if !how.has_seed() {
        command.extend(["--seed".into(), seed.to_string()]);
    }
    command
}

/// Returns the present moment (RFC 3339, UTC).
pub fn now() -> String {
    let mut text = vec![];
    write_moment(&mut text, SystemTime::now());
    String::from_utf8_lossy(&text).into_owned()
}

/// Returns an engine for a scenario, with its seed and first serial number. Serial numbers begin at
/// a number that depends on the seed, a thousand further for each next seed, so that a run with
/// another seed mostly creates other documents.
fn engine(
    options: &Options,
    program: &Arc<Program>,
    (seed, first_serial): (u64, u64),
    stop: Arc<AtomicBool>,
) -> Result<Engine<ScenarioSource>, Failure> {
    let threads = u32::try_from(options.threads).unwrap_or(u32::MAX);
    let source =
        |thread| ScenarioSource::new(program, ThreadShare { thread, threads, seed, first_serial });
    let sources = (0..threads).map(source).collect();
    Engine::new(options.clone(), sources, stop).map_err(|error| engine_failure(&error))
}

/// Converts an engine error into a failure of the command.
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
    use homeroom_load::engine::{Protocol, Target};

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
            spread: false,
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
