//! Runs the trials of a search with an engine.
#![expect(
    clippy::disallowed_methods,
    reason = "a trial begins at a moment that its sampler shares"
)]

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use crate::capacity::{Driver, Event, Phase, SelfCheck};
use crate::trial::{Host, Trial, TrialPlan};
use homeroom_load::engine::{Engine, EngineError, Observed, Source};
use homeroom_load::host::{self, Sampler, Watch};
use homeroom_load::stage::{Arrivals, Load, Stage};

/// Runs a search's trials one after the other, over the same connections.
pub struct TrialRunner<'a, S: Source> {
    engine: Engine<S>,
    arrivals: Arrivals,
    seed: u64,
    spin_reference: f64,
    stop: Arc<AtomicBool>,
    tell: &'a mut dyn FnMut(&Event<'_>),
    trials: u64,
    watches: Vec<Watch>,
    kept: Vec<KeptTrial>,
    last: Option<KeptTrial>,
}

/// A trial that a report may show.
#[derive(Debug)]
pub struct KeptTrial {
    /// The phase that it belonged to.
    pub phase: Phase,
    /// The stage that was sent.
    pub stage: Stage,
    /// What the engine measured.
    pub observed: Observed,
    /// What the server and this machine used during the trial.
    pub meanwhile: host::Readings,
}

impl KeptTrial {
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
pub fn at_level(kept: &[KeptTrial], rate: f64) -> Option<&KeptTrial> {
    let is_at = |kept: &&KeptTrial| {
        matches!(kept.phase, Phase::Confirm | Phase::Lift | Phase::Check)
            && (kept.rate() / rate - 1.0).abs() < 0.01
    };
    let far = |kept: &KeptTrial| (kept.rate() - rate).abs();
    let others = kept.iter().filter(|kept| kept.phase != Phase::Unhealthy);
    kept.iter().rfind(is_at).or_else(|| others.min_by(|a, b| far(a).total_cmp(&far(b))))
}

impl<'a, S: Source> TrialRunner<'a, S> {
    /// Returns a runner over an engine that keeps bins. Setting `stop` ends its trials and the
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
    pub fn into_kept(self) -> Vec<KeptTrial> {
        if self.kept.is_empty() { self.last.into_iter().collect() } else { self.kept }
    }

    fn keep(&mut self, kept: KeptTrial) {
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

impl<S: Source> Driver for TrialRunner<'_, S> {
    type Error = EngineError;

    fn trial(&mut self, phase: Phase, plan: TrialPlan) -> Result<Option<Trial>, EngineError> {
        use std::sync::atomic::Ordering::Relaxed;

        let begun = Instant::now();
        let stage = Stage::rate(plan.rate, Duration::from_secs_f64(plan.seconds));
        let before = host::spin();
        let counts = host::MachineCounters::read();
        self.trials += 1;
        let seed = self.seed.wrapping_add(self.trials);
        let watched = is_shown(phase).then(|| Sampler::start(&self.watches, Instant::now()));
        let sampler = watched.transpose()?;
        let mut observed = self.engine.run(&[stage], self.arrivals, seed, &mut |_| {})?;
        let meanwhile = sampler.map(Sampler::stop).unwrap_or_default();
        if self.stop.load(Relaxed) {
            return Ok(None);
        }
        let steal_share = match (host::MachineCounters::read(), counts) {
            (Some(now), Some(then)) => now.steal_share(&then),
            _ => 0.0,
        };
        let after = host::spin();
        let spin_share = before.min(after) / self.spin_reference;
        let mut trial = Trial::new(plan, &observed, Host { steal_share, spin_share });
        trial.drain_s = (begun.elapsed().as_secs_f64() - plan.seconds).max(0.0);
        observed.recording.bins = None;
        self.keep(KeptTrial { phase, stage, observed, meanwhile });
        Ok(Some(trial))
    }

    fn tell(&mut self, event: &Event<'_>) {
        (self.tell)(event);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(phase: Phase, rate: f64) -> KeptTrial {
        let observed = Observed {
            recording: homeroom_load::record::Recording::new(vec![45_000_000_000], 0, false),
            intervals: vec![],
            cpu: Duration::ZERO,
            busiest: 0.0,
            wall: Duration::ZERO,
            stopped_at: None,
        };
        let stage = Stage::rate(rate, Duration::from_secs(45));
        KeptTrial { phase, stage, observed, meanwhile: host::Readings::default() }
    }

    #[test]
    fn the_shown_run_is_at_or_near_the_level_and_never_an_overload() {
        use Phase::{Bracket, Check, Confirm, Healthy, Lift, Unhealthy};
        let shown = |kept: &[KeptTrial], rate| {
            let shown = super::at_level(kept, rate).unwrap();
            (shown.phase, shown.rate())
        };
        let of = |all: &[(Phase, f64)]| -> Vec<KeptTrial> {
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
