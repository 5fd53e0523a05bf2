//! Runs the search's trials with an engine, and measures the engine's own limit.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use crate::capacity::{Driver, Event, Phase, SelfCheck};
use crate::null::Null;
use crate::trial::{Ask, Host, Trial};
use homeroom_load::engine::{
    Answer, Engine, EngineError, Observed, Options, Protocol, Request, Source, StepFacts, Target,
    Verdict,
};
use homeroom_load::host::{self, Sampler, Watch};
use homeroom_load::outcome::Outcome;
use homeroom_load::stage::{Arrivals, Load, Stage};

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
    let null = Null::start().map_err(EngineError::System)?;
    let options = Options {
        target: Target::parse(&null.url())?,
        protocol: Protocol::Http1,
        connections: CHECKING,
        timeout: Duration::from_secs(5),
        drain: Duration::from_secs(5),
        slack: Duration::ZERO,
        threads,
        from: vec![],
        bins: false,
        tls: None,
    };
    let sources = (0..threads).map(|_| Plain::new()).collect();
    let mut engine = Engine::new(options, sources, Arc::new(AtomicBool::new(false)))?;
    let pulled = engine.run(&[Stage::users(CHECKING, PULL)], Arrivals::Even, 0, &mut |_| {})?;
    let ceiling = total(&pulled) as f64 / PULL.as_secs_f64();
    let rate = KEPT_RATE.min(ceiling / 4.0).max(1.0);
    let kept = engine.run(&[Stage::rate(rate, KEEP)], Arrivals::Even, 0, &mut |_| {})?;
    let lag_p99_ms = kept.share.own_lag.value_at_quantile(0.99) as f64 / 1e3;
    Ok(SelfCheck { ceiling, lag_p99_ms, spin_reference, seconds: begun.elapsed().as_secs_f64() })
}

fn total(observed: &Observed) -> u64 {
    observed.share.stages.iter().map(|stage| stage.counts.requests.ok).sum()
}

/// Runs a search's trials one after the other, over the same connections.
pub struct Probe<'a, S: Source> {
    engine: Engine<S>,
    arrivals: Arrivals,
    seed: u64,
    spin_reference: f64,
    stop: Arc<AtomicBool>,
    tell: &'a mut dyn FnMut(&Event<'_>),
    trials: u64,
    watches: Vec<Watch>,
    kept: Vec<Kept>,
    last: Option<Kept>,
}

/// A trial that a report may show.
#[derive(Debug)]
pub struct Kept {
    /// The phase that it belonged to.
    pub phase: Phase,
    /// The stage that was sent.
    pub stage: Stage,
    /// What the engine measured.
    pub observed: Observed,
    /// What the server and this machine used during the trial.
    pub meanwhile: host::Seen,
}

impl Kept {
    /// Returns the rate in requests per second.
    pub fn rate(&self) -> f64 {
        match self.stage.load {
            Load::Rate { from, .. } => from,
            Load::Users { from, .. } => from.into(),
        }
    }
}

/// Returns the trial that shows a level best: the last hold at its rate, otherwise the nearest
/// trial that was not meant to overload the server.
pub fn at_level(kept: &[Kept], rate: f64) -> Option<&Kept> {
    let is_at = |kept: &&Kept| {
        matches!(kept.phase, Phase::Confirm | Phase::Lift | Phase::Check)
            && (kept.rate() / rate - 1.0).abs() < 0.01
    };
    let far = |kept: &Kept| (kept.rate() - rate).abs();
    let others = kept.iter().filter(|kept| kept.phase != Phase::Unhealthy);
    kept.iter().rfind(is_at).or_else(|| others.min_by(|a, b| far(a).total_cmp(&far(b))))
}

impl<'a, S: Source> Probe<'a, S> {
    /// Returns a probe over an engine that keeps bins. Setting `stop` ends its trials and the
    /// engine's runs.
    pub fn new(
        engine: Engine<S>,
        arrivals: Arrivals,
        seed: u64,
        check: &SelfCheck,
        stop: Arc<AtomicBool>,
        tell: &'a mut dyn FnMut(&Event<'_>),
    ) -> Self {
        let spin_reference = check.spin_reference;
        let (trials, watches, kept, last) = (0, vec![], vec![], None);
        Self { engine, arrivals, seed, spin_reference, stop, tell, trials, watches, kept, last }
    }

    /// Adds what to watch during the trials that a report may show.
    #[must_use]
    pub fn watching(self, watches: Vec<Watch>) -> Self {
        Self { watches, ..self }
    }

    /// Returns the long trials in order: at the stable level, well below and well above it; if
    /// there are none, the last trial.
    pub fn into_kept(self) -> Vec<Kept> {
        if self.kept.is_empty() { self.last.into_iter().collect() } else { self.kept }
    }

    fn keep(&mut self, kept: Kept) {
        if is_shown(kept.phase) {
            self.kept.push(kept);
        } else {
            self.last = Some(kept);
        }
    }
}

/// Returns whether a report may show a trial of this phase.
fn is_shown(phase: Phase) -> bool {
    match phase {
        Phase::Confirm | Phase::Lift | Phase::Check | Phase::Healthy | Phase::Unhealthy => true,
        Phase::SelfCheck | Phase::Bracket | Phase::Narrow | Phase::Rest | Phase::Above => false,
    }
}

impl<S: Source> Driver for Probe<'_, S> {
    type Error = EngineError;

    fn trial(&mut self, phase: Phase, ask: Ask) -> Result<Option<Trial>, EngineError> {
        use std::sync::atomic::Ordering::Relaxed;

        let begun = Instant::now();
        let stage = Stage::rate(ask.rate, Duration::from_secs_f64(ask.seconds));
        let before = host::spin();
        let counts = host::Counts::read();
        self.trials += 1;
        let seed = self.seed.wrapping_add(self.trials);
        let watched = is_shown(phase).then(|| Sampler::start(&self.watches, Instant::now()));
        let sampler = watched.transpose()?;
        let mut observed = self.engine.run(&[stage], self.arrivals, seed, &mut |_| {})?;
        let meanwhile = sampler.map(Sampler::stop).unwrap_or_default();
        if self.stop.load(Relaxed) {
            return Ok(None);
        }
        let steal_share = match (host::Counts::read(), counts) {
            (Some(now), Some(then)) => now.steal_share(&then),
            _ => 0.0,
        };
        let after = host::spin();
        let spin_share = before.min(after) / self.spin_reference;
        let mut trial = Trial::new(ask, &observed, Host { steal_share, spin_share });
        trial.drain_s = (begun.elapsed().as_secs_f64() - ask.seconds).max(0.0);
        observed.share.bins = None;
        self.keep(Kept { phase, stage, observed, meanwhile });
        Ok(Some(trial))
    }

    fn tell(&mut self, event: &Event<'_>) {
        (self.tell)(event);
    }
}

/// Requests one path over and over.
struct Plain(Vec<StepFacts>);

impl Plain {
    fn new() -> Self {
        Self(vec![StepFacts {
            name: "nothing".into(),
            group: String::new(),
            method: "GET".into(),
            keeps_body: false,
        }])
    }
}

impl Source for Plain {
    type Client = ();

    fn steps(&self) -> &[StepFacts] {
        &self.0
    }

    fn client(&mut self, _: u32) {}

    fn next(&mut self, (): &mut (), request: &mut Request) -> usize {
        request.path.push(b'/');
        0
    }

    fn answered(&mut self, (): &mut (), _: usize, answer: &Answer<'_>) -> Verdict {
        let ok = matches!(answer.outcome, Outcome::Status(200));
        Verdict { ok, pause: Duration::ZERO }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_self_check_finds_what_this_generator_can_do() {
        let found = check_self(1).unwrap();

        assert!(found.ceiling > 1000.0, "{found:?}");
        assert!(found.spin_reference > 0.0);
    }

    fn kept(phase: Phase, rate: f64) -> Kept {
        let observed = Observed {
            share: homeroom_load::record::Share::new(vec![45_000_000_000], 0, false),
            intervals: vec![],
            cpu: Duration::ZERO,
            busiest: 0.0,
            wall: Duration::ZERO,
            stopped_at: None,
        };
        let stage = Stage::rate(rate, Duration::from_secs(45));
        Kept { phase, stage, observed, meanwhile: host::Seen::default() }
    }

    #[test]
    fn the_run_that_is_shown_is_at_the_level_or_near_it_and_never_the_overload() {
        use Phase::{Bracket, Check, Confirm, Healthy, Lift, Unhealthy};
        let shown = |kept: &[Kept], rate| {
            let shown = super::at_level(kept, rate).unwrap();
            (shown.phase, shown.rate())
        };
        let of = |all: &[(Phase, f64)]| -> Vec<Kept> {
            all.iter().map(|(phase, rate)| kept(*phase, *rate)).collect()
        };
        let all = of(&[
            (Confirm, 300.0),
            (Confirm, 313.0),
            (Lift, 338.0),
            (Healthy, 237.0),
            (Unhealthy, 440.0),
            (Check, 325.0),
        ]);

        assert_eq!(shown(&all, 338.0), (Lift, 338.0));
        assert_eq!(shown(&all, 313.0), (Confirm, 313.0));
        assert_eq!(shown(&all, 330.0), (Check, 325.0));
        assert_eq!(shown(&all, 500.0), (Lift, 338.0));
        assert_eq!(shown(&of(&[(Healthy, 70.0), (Unhealthy, 130.0)]), 110.0), (Healthy, 70.0));
        assert_eq!(shown(&of(&[(Bracket, 50.0)]), 0.0), (Bracket, 50.0));
        assert!(super::at_level(&[], 50.0).is_none());
    }
}
