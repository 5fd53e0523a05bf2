//! Measures the generator's own limit.
#![expect(clippy::disallowed_methods, reason = "it measures how fast this machine sends")]

mod null_server;

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use homeroom_load::engine::{
    Answer, Engine, EngineError, Observed, Options, Protocol, Reaction, Request, Source, StepFacts,
    Target,
};
use homeroom_load::host;
use homeroom_load::outcome::Outcome;
use homeroom_load::stage::{Arrivals, Stage};

use crate::capacity::SelfCheck;
use null_server::NullServer;

/// The modelled clients of the self-check: enough to keep the generator busy.
const CHECKING: u32 = 32;

/// How long each part of the self-check lasts: at full speed, and on a schedule.
const PULL: Duration = Duration::from_secs(4);

const KEEP: Duration = Duration::from_secs(3);

/// The scheduled rate in requests per second, if the generator can do four times as much.
const KEPT_RATE: f64 = 5_000.0;

/// Runs the load of as many threads as will be used against our own server that does nothing.
///
/// # Errors
///
/// If there is no free port, or not enough room for an engine.
pub fn check_self(threads: usize) -> Result<SelfCheck, EngineError> {
    let begun = Instant::now();
    let spin_reference = host::reference();
    let null = NullServer::start().map_err(EngineError::System)?;
    let options = Options {
        target: Target::parse(&null.url())?,
        protocol: Protocol::Http1,
        connections: CHECKING,
        timeout: Duration::from_secs(5),
        drain: Duration::from_secs(5),
        slack: Duration::ZERO,
        spread: false,
        threads,
        from: vec![],
        bins: false,
        tls: None,
    };
    let sources = (0..threads).map(|_| OnePath::new()).collect();
    let mut engine = Engine::new(options, sources, Arc::new(AtomicBool::new(false)))?;
    let pulled = engine.run(&[Stage::users(CHECKING, PULL)], Arrivals::Even, 0, &mut |_| {})?;
    let ceiling = total(&pulled) as f64 / PULL.as_secs_f64();
    let rate = KEPT_RATE.min(ceiling / 4.0).max(1.0);
    let kept = engine.run(&[Stage::rate(rate, KEEP)], Arrivals::Even, 0, &mut |_| {})?;
    let lag_p99_ms = kept.recording.own_lag.value_at_quantile(0.99) as f64 / 1e3;
    Ok(SelfCheck { ceiling, lag_p99_ms, spin_reference, seconds: begun.elapsed().as_secs_f64() })
}

fn total(observed: &Observed) -> u64 {
    observed.recording.stages.iter().map(|stage| stage.counts.requests.ok).sum()
}

/// Requests one path over and over.
struct OnePath(Vec<StepFacts>);

impl OnePath {
    fn new() -> Self {
        Self(vec![StepFacts {
            name: "nothing".into(),
            group: String::new(),
            method: "GET".into(),
            keeps_body: false,
        }])
    }
}

impl Source for OnePath {
    type Client = ();

    fn steps(&self) -> &[StepFacts] {
        &self.0
    }

    fn client(&mut self, _: u32) {}

    fn next(&mut self, (): &mut (), request: &mut Request) -> usize {
        request.path.push(b'/');
        0
    }

    fn answered(&mut self, (): &mut (), _: usize, answer: &Answer<'_>) -> Reaction {
        let ok = matches!(answer.outcome, Outcome::Status(200));
        Reaction { ok, pause: Duration::ZERO }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_self_check_finds_the_limit_of_this_generator() {
        let found = check_self(1).unwrap();

        assert!(found.ceiling > 0.0, "{found:?}");
        assert!(found.spin_reference > 0.0);
    }
}
