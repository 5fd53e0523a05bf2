//! Runs the search against a real server with a planted capacity, with short trials and so a coarse
//! level.

use std::sync::Arc;
use std::time::Duration;

use homeroom_lab::capacity::{self, Constants, Verdict};
use homeroom_lab::runner::TrialRunner;
use homeroom_lab::self_check::check_self;
use homeroom_load::echo::{Echo, EchoOptions, PlantedCapacity};
use homeroom_load::engine::{
    Answer, Engine, Options, Protocol, Reaction, Request, Source, StepFacts, Target,
};
use homeroom_load::outcome::Outcome;
use homeroom_load::stage::Arrivals;

struct Asking(Vec<StepFacts>);

impl Source for Asking {
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
        Reaction { ok: answer.outcome == Outcome::Status(200), pause: Duration::ZERO }
    }
}

#[test]
fn a_planted_capacity_is_found_or_the_verdict_says_why_not() {
    let planted = 300.0;
    let capacity = PlantedCapacity {
        rate: planted,
        workers: 2,
        spread: 0.5,
        queue: Duration::from_secs(2),
        seed: 1,
    };
    let echo =
        Echo::start(EchoOptions { capacity: Some(capacity), ..EchoOptions::plain() }).unwrap();
    let options = Options {
        target: Target::parse(&echo.url()).unwrap(),
        protocol: Protocol::Http1,
        connections: 1000,
        timeout: Duration::from_secs(10),
        drain: Duration::from_secs(10),
        slack: Duration::ZERO,
        spread: false,
        threads: 1,
        from: vec![],
        bins: true,
        tls: None,
    };
    let asking = StepFacts {
        name: "ask".into(),
        group: String::new(),
        method: "GET".into(),
        keeps_body: false,
    };
    let stop = Arc::default();
    let engine = Engine::new(options, vec![Asking(vec![asking])], Arc::clone(&stop)).unwrap();
    let check = check_self(1).unwrap();
    let constants = Constants {
        start_rate: 100.0,
        bracket_s: 2.0,
        narrow_s: 3.0,
        narrow_s_max: 6.0,
        hold_s: 4.0,
        window_s: 3.0,
        width: 0.1,
        ..Constants::default()
    }
    .within(45.0);
    let mut told = vec![];
    let mut tell = |event: &capacity::Event<'_>| told.push(format!("{event:?}"));

    let mut runner = TrialRunner::new(engine, Arrivals::Poisson, 1, &check, stop, &mut tell);
    let found = capacity::find(&constants, check.ceiling(), &mut runner).unwrap();
    let kept = runner.into_kept();

    let off = (found.levels.stable().rate / planted - 1.0).abs();
    assert!(off < 0.25 || found.verdict != Verdict::Clean, "{found:?}");
    assert!(!told.is_empty() && !kept.is_empty());
    for trial in &kept {
        let due: u64 = trial.observed.intervals.iter().map(|second| second.due).sum();
        let seen = trial.observed.recording.stages[0].counts.requests.total;
        assert_eq!(due, seen, "every request that was due is counted");
    }
}
