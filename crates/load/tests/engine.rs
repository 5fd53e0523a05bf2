//! Tests of the engine against servers that behave as a test needs.

#[path = "engine/stand_in.rs"]
mod stand_in;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use homeroom_load::engine::{
    Answer, Engine, Observed, Options, Reaction, Request, Source, StepFacts,
};
use homeroom_load::outcome::Outcomes;
use homeroom_load::record::latency;
use homeroom_load::run::{Facts, Interval, Machine, Requests, RunFile, Settings};
use homeroom_load::stage::{Arrivals, Load, Stage};
use stand_in::{Answering, Asking, StandIn, options};

fn seconds(seconds: f64) -> Duration {
    Duration::from_secs_f64(seconds)
}

/// Runs stages against a server with a number of connections and threads.
fn run(server: &StandIn, stages: &[Stage], connections: u32, threads: usize) -> Observed {
    let sources = (0..threads).map(|_| Asking::default()).collect();
    let mut engine = Engine::new(options(server, connections), sources, Arc::default()).unwrap();
    engine.run(stages, Arrivals::Even, 1, &mut |_| {}).unwrap()
}

/// Does the same with one thread against a server that is frozen, and thaws it when the second with
/// this number, from 0, is over.
fn run_frozen(server: &StandIn, stage: Stage, connections: u32, second: u32) -> Observed {
    let options = Options { bins: true, ..options(server, connections) };
    let mut engine = Engine::new(options, vec![Asking::default()], Arc::default()).unwrap();
    let thaw = &mut |interval: &Interval| {
        if interval.at_s >= f64::from(second) {
            server.thaw();
        }
    };
    engine.run(&[stage], Arrivals::Even, 1, thaw).unwrap()
}

/// Returns how many requests waited for an answer or a connection at the end of a second.
fn waiting(observed: &Observed, second: usize) -> u64 {
    observed.recording.bins.as_ref().unwrap().finish()[second * 10 + 9].waiting
}

fn requests(observed: &Observed) -> Requests {
    observed.recording.stages[0].counts.requests
}

fn outcomes(observed: &Observed) -> Outcomes {
    observed.recording.stages[0].counts.outcomes()
}

/// The run file of a plan.
fn file(plan: &[Stage], observed: &Observed) -> RunFile {
    let settings = Settings {
        arrivals: Arrivals::Even,
        connections: 10,
        timeout_ms: 5_000,
        slack_us: 0,
        threads: 1,
        protocol: "HTTP/1.1".into(),
    };
    let facts = Facts {
        generator_version: "1".into(),
        scenario: "ask".into(),
        target: "http://stand.in".into(),
        command: vec![],
        started: "2026-11-22T09:30:00Z".into(),
        seed: 1,
        settings,
        machine: Machine::default(),
    };
    RunFile::new(facts, plan, &Asking::default().steps, observed)
}

fn of(outcomes: &Outcomes, name: &str) -> u64 {
    outcomes.get(name).copied().unwrap_or(0)
}

#[test]
fn exactly_rate_times_duration_requests_are_sent_and_counted() {
    let server = StandIn::start(Answering::default());

    let observed = run(&server, &[Stage::rate(500.0, seconds(2.0))], 20, 2);

    let found = requests(&observed);
    assert_eq!((found.total, found.ok, found.failed), (1000, 1000, 0));
    assert_eq!(server.answered(), 1000);
    assert_eq!(observed.intervals.iter().map(|second| second.due).sum::<u64>(), 1000);
    assert_eq!(observed.intervals.iter().map(|second| second.answered).sum::<u64>(), 1000);
    assert!(observed.intervals.iter().all(|second| second.due + second.answered > 0));
}

#[test]
fn a_freeze_delays_every_request_due_meanwhile() {
    let server = StandIn::start(Answering { freezes_after: Some(100), ..Answering::default() });

    let observed = run_frozen(&server, Stage::rate(400.0, seconds(3.0)), 50, 1);

    // The freeze begins with the 101st request and lasts at least until two seconds have passed and
    // 800 requests were due.
    let found = requests(&observed);
    let stage = &observed.recording.stages[0];
    assert_eq!((found.total, found.ok, server.answered()), (1200, 1200, 1200));
    assert!(waiting(&observed, 1) >= 700, "{}", waiting(&observed, 1));
    assert!(found.late >= 600, "with 50 connections, most wait in the generator: {found:?}");
    let (response, service) = (latency(&stage.response), latency(&stage.service));
    assert!(response.mean > service.mean, "their wait counts: {response:?} {service:?}");
}

#[test]
fn a_request_without_an_answer_fails_with_its_cause() {
    let cases = [
        (Answering { silent: true, ..Answering::default() }, "timeout"),
        (
            Answering {
                text: "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\ncut",
                closes: true,
                ..Answering::default()
            },
            "closed",
        ),
        (Answering { text: "what?\r\n\r\n", closes: true, ..Answering::default() }, "garbled"),
    ];
    for (answering, asked) in cases {
        let server = StandIn::start(answering);
        let mut options = options(&server, 10);
        options.timeout = seconds(0.3);
        let mut engine = Engine::new(options, vec![Asking::default()], Arc::default()).unwrap();

        let observed =
            engine.run(&[Stage::rate(20.0, seconds(0.5))], Arrivals::Even, 1, &mut |_| {}).unwrap();

        let found = outcomes(&observed);
        assert_eq!(of(&found, asked), 10, "{asked}: {found:?}");
        assert_eq!(requests(&observed).failed, 10);
    }
}

#[test]
fn a_missing_server_gives_refused_connections_without_hanging() {
    let server = StandIn::start(Answering::default());
    let options = options(&server, 10);
    drop(server);
    let mut engine = Engine::new(options, vec![Asking::default()], Arc::default()).unwrap();

    let observed =
        engine.run(&[Stage::rate(50.0, seconds(0.4))], Arrivals::Even, 1, &mut |_| {}).unwrap();

    assert_eq!(of(&outcomes(&observed), "refused"), 20);
}

#[test]
fn a_server_may_close_connections_at_any_time_without_causing_failures() {
    for answering in [
        Answering {
            text: "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok",
            closes: true,
            ..Answering::default()
        },
        // The server closes after each answer without announcing it; no request may be lost to
        // that.
        Answering { closes: true, ..Answering::default() },
    ] {
        let server = StandIn::start(answering);

        let observed = run(&server, &[Stage::rate(100.0, seconds(1.0))], 5, 1);

        assert_eq!(requests(&observed).ok, 100, "{:?}", outcomes(&observed));
        assert!(server.connections() > 50);
    }
}

#[test]
fn requests_wait_for_a_connection_and_are_counted_as_late() {
    let server = StandIn::start(Answering { freezes_after: Some(10), ..Answering::default() });

    let observed = run_frozen(&server, Stage::rate(100.0, seconds(1.0)), 2, 0);

    // After ten answers, two requests wait for theirs and the others for a connection.
    let found = requests(&observed);
    let stage = &observed.recording.stages[0];
    assert_eq!((found.total, found.ok, server.connections()), (100, 100, 2));
    assert!(found.late >= 88, "{found:?}");
    let (response, service) = (latency(&stage.response), latency(&stage.service));
    assert!(response.mean > service.mean, "their wait counts: {response:?} {service:?}");
    // Answers after the end of the stage do not count within it.
    assert!(stage.counts.answered_within <= 10, "{:?}", stage.counts);
    assert_eq!(stage.counts.ok_within, stage.counts.answered_within);
}

#[test]
fn more_threads_than_connections_open_no_extra_connections() {
    let server = StandIn::start(Answering { delay: seconds(0.01), ..Answering::default() });

    let observed = run(&server, &[Stage::rate(100.0, seconds(0.5))], 2, 4);

    assert_eq!((requests(&observed).ok, server.connections()), (50, 2));
}

#[test]
fn a_request_that_this_machine_cannot_open_is_not_counted_as_refused() {
    let server = StandIn::start(Answering::default());
    let mut options = options(&server, 10);
    // An address that no machine has: it is reserved for documentation.
    options.from = vec!["192.0.2.1".parse().unwrap()];
    let mut engine = Engine::new(options, vec![Asking::default()], Arc::default()).unwrap();

    let observed =
        engine.run(&[Stage::rate(50.0, seconds(0.4))], Arrivals::Even, 1, &mut |_| {}).unwrap();

    assert_eq!(of(&outcomes(&observed), "no-room"), 20, "{:?}", outcomes(&observed));
    assert_eq!((requests(&observed).failed, observed.recording.stages[0].service.len()), (20, 0));
}

#[test]
fn requests_not_sent_before_the_end_are_reported() {
    let server = StandIn::start(Answering { silent: true, ..Answering::default() });
    let mut options = options(&server, 1);
    options.timeout = seconds(20.0);
    options.drain = seconds(0.2);
    let mut engine = Engine::new(options, vec![Asking::default()], Arc::default()).unwrap();

    let observed =
        engine.run(&[Stage::rate(100.0, seconds(0.5))], Arrivals::Even, 1, &mut |_| {}).unwrap();

    let found = outcomes(&observed);
    assert_eq!((of(&found, "timeout"), of(&found, "unsent")), (1, 49), "{found:?}");
    assert_eq!(requests(&observed).failed, 50);
}

#[test]
fn modelled_clients_wait_for_their_answers_and_think() {
    let server = StandIn::start(Answering { delay: seconds(0.02), ..Answering::default() });
    let mut engine = Engine::new(
        options(&server, 1),
        vec![Asking { pause: seconds(0.08), ..Asking::default() }],
        Arc::default(),
    )
    .unwrap();

    let observed =
        engine.run(&[Stage::users(10, seconds(1.0))], Arrivals::Even, 1, &mut |_| {}).unwrap();

    // Ten clients each send a request at most every tenth of a second.
    let found = requests(&observed);
    assert!((10..=100).contains(&found.total), "{found:?}");
    assert_eq!((found.ok, server.connections()), (found.total, 10));
}

#[test]
fn a_client_that_would_pause_past_the_end_leaves_its_connection_to_the_next() {
    let server = StandIn::start(Answering::default());
    let source = Asking { pause: seconds(4.0), ..Asking::default() };
    let mut engine = Engine::new(options(&server, 1), vec![source], Arc::default()).unwrap();
    let stages = [Stage::users(10, seconds(0.3)), Stage::users(10, seconds(0.3))];

    engine.run(&stages, Arrivals::Even, 1, &mut |_| {}).unwrap();

    assert_eq!((server.connections(), server.answered()), (10, 20));
}

#[test]
fn clients_that_start_and_leave_can_be_followed_by_a_rate() {
    let server = StandIn::start(Answering::default());
    let ramp = Stage { load: Load::Users { from: 0, to: 4 }, duration: seconds(0.5) };

    let observed = run(&server, &[ramp, Stage::rate(100.0, seconds(0.5))], 10, 2);

    let stages = &observed.recording.stages;
    assert!(stages[0].counts.requests.ok > 4);
    assert_eq!(stages[1].counts.requests.total, 50);
    assert_eq!(stages[0].counts.requests.total + 50, server.answered());
}

#[test]
fn a_stopped_run_ends_and_keeps_its_recording() {
    let server = StandIn::start(Answering::default());
    let stop = Arc::new(AtomicBool::new(false));
    let mut engine =
        Engine::new(options(&server, 10), vec![Asking::default()], stop.clone()).unwrap();
    let stages = [Stage::rate(100.0, seconds(600.0)), Stage::rate(1.0, seconds(1.0))];

    let observed = engine
        .run(&stages, Arrivals::Poisson, 1, &mut |_| stop.store(true, Ordering::Relaxed))
        .unwrap();

    let found = requests(&observed);
    assert!(found.total > 0 && found.total < 60_000, "{found:?}");
    assert_eq!(found.total, server.answered());
    // Nothing was due after that, and the rate covers the time until then.
    assert_eq!(observed.intervals.iter().map(|second| second.due).sum::<u64>(), found.total);
    let stopped = observed.stopped_at.unwrap().as_secs_f64();
    assert!((1.0..600.0).contains(&stopped), "{stopped}");
    let run = file(&stages, &observed);
    assert_eq!((run.interrupted_s, run.plan.len(), run.stages.len()), (Some(stopped), 2, 1));
    assert!((run.stages[0].seconds - stopped).abs() < 1e-9);
    assert!((80.0..120.0).contains(&run.goodput()), "{}", run.goodput());
}

#[test]
fn interrupted_requests_are_unfinished_and_not_failures() {
    let server = StandIn::start(Answering { silent: true, ..Answering::default() });
    let stop = Arc::new(AtomicBool::new(false));
    let mut options = options(&server, 5);
    (options.timeout, options.drain) = (seconds(30.0), seconds(30.0));
    let mut engine = Engine::new(options, vec![Asking::default()], stop.clone()).unwrap();

    let observed = engine
        .run(&[Stage::rate(10.0, seconds(600.0))], Arrivals::Even, 1, &mut |_| {
            stop.store(true, Ordering::Relaxed);
        })
        .unwrap();

    let found = requests(&observed);
    assert!(found.total >= 10 && found.failed == 0, "{found:?}");
    assert_eq!(of(&outcomes(&observed), "unfinished"), found.total);
}

#[test]
fn an_engine_keeps_its_connections_from_run_to_run() {
    let server = StandIn::start(Answering::default());
    let mut engine =
        Engine::new(options(&server, 1), vec![Asking::default()], Arc::default()).unwrap();
    let stage = [Stage::rate(50.0, seconds(0.2))];

    for _ in 0..3 {
        let observed = engine.run(&stage, Arrivals::Even, 1, &mut |_| {}).unwrap();
        assert_eq!(requests(&observed).ok, 10);
    }

    assert_eq!((server.connections(), server.answered()), (1, 30));
}

#[test]
fn the_token_is_sent_only_with_requests_that_ask_for_it() {
    let server = StandIn::start(Answering::default());
    let source = Asking { auth: true, ..Asking::default() };
    let mut engine = Engine::new(options(&server, 1), vec![source], Arc::default()).unwrap();
    engine.token().set("abc");

    engine.run(&[Stage::rate(20.0, seconds(0.2))], Arrivals::Even, 1, &mut |_| {}).unwrap();

    let heard = server.last_head();
    assert!(heard.starts_with("GET /asked HTTP/1.1\r\n"), "{heard}");
    assert!(heard.contains("\r\nAuthorization: Bearer abc\r\n"), "{heard}");
}

/// A source with requests of its own: each answer makes the next one due some time after the last.
struct Timed {
    asking: Asking,
    due: Vec<u64>,
    every: u64,
}

impl Source for Timed {
    type Client = u64;

    fn steps(&self) -> &[StepFacts] {
        &self.asking.steps
    }

    fn client(&mut self, _: u32) -> u64 {
        0
    }

    fn due(&mut self) -> Option<u64> {
        self.due.iter().min().copied()
    }

    fn next(&mut self, client: &mut u64, request: &mut Request) -> usize {
        *client = self.due().unwrap();
        let at = self.due.iter().position(|at| at == client).unwrap();
        self.due.swap_remove(at);
        self.asking.next(&mut (), request)
    }

    fn answered(&mut self, _: &mut u64, step: usize, answer: &Answer<'_>) -> Reaction {
        self.asking.answered(&mut (), step, answer)
    }

    fn answered_at(
        &mut self,
        due: &mut u64,
        step: usize,
        answer: &Answer<'_>,
        now: u64,
    ) -> Reaction {
        assert!(now >= *due);
        self.due.push(*due + self.every);
        assert_eq!(answer.length, 2);
        self.answered(&mut 0, step, answer)
    }
}

#[test]
fn a_source_with_requests_of_its_own_needs_fewer_connections_than_clients() {
    let server = StandIn::start(Answering::default());
    let due: Vec<u64> = (0..40).map(|number| number * 10_000_000).collect();
    let source = Timed { asking: Asking::default(), due, every: 400_000_000 };
    let options = Options { spread: true, ..options(&server, 5) };
    let mut engine = Engine::new(options, vec![source], Arc::default()).unwrap();
    let stage = Stage::rate(0.0, seconds(1.2));

    let seen = engine.run(&[stage], Arrivals::Even, 1, &mut |_| {}).unwrap();

    // 40 clients, each at its own moment and again every 400 ms, until 1.2 s.
    assert_eq!((requests(&seen).total, requests(&seen).ok), (120, 120));
    assert_eq!(seen.intervals.iter().map(|second| second.due).sum::<u64>(), 120);
    assert_eq!(server.connections(), 5);
}
