//! `homeroom lab run`.
#![expect(clippy::disallowed_methods, reason = "sampling begins with the run")]

use std::fmt::Write as _;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use clap::{ArgGroup, Args};
use homeroom_lab::report::{Board, Report};
use homeroom_load::duration;
use homeroom_load::engine::{Engine, Observed};
use homeroom_load::host::{Readings, Sampler};
use homeroom_load::run::{Facts, Interval, RunFile};
use homeroom_load::scenario::{Program, ScenarioSource};
use homeroom_load::stage::{Load, Stage};

use super::load::{SendArgs, TargetArgs, WatchArgs};
use super::output::OutputArgs;
use super::ready::{Ready, engine_failure};
use super::{gate, session};
use crate::command::terminal::{Canvas, ProgressLine, grouped};
use crate::config::HumanDuration;
use crate::exit::{Exit, Failure};

/// The rates of the published tests, in requests per second.
const PUBLISHED_RATES: &[f64] = &[50.0, 100.0, 200.0, 300.0, 400.0, 500.0];

/// How long each of these rates is held.
const PUBLISHED_TIME: Duration = Duration::from_mins(5);

/// Runs a load test: sends on schedule, whether or not answers come, and reports how the target did
#[derive(Debug, Args)]
#[command(
    group(ArgGroup::new("load").required(true).args(["rate", "users", "stages", "published"])),
    after_help = "Response times count from the moment at which a request was due, so that a server that
stalls cannot hide it. The figures leave nothing out except what --warm-up sends.

Stages:
  50/s 5m               50 requests per second for 5 minutes
  100..500/s 2m         a ramp
  20 users 1m           20 modelled clients, each waiting for its answer
  0..200 users 30s      a ramp of modelled clients

Exit codes: 0 done; 4 the target does not accept the key; 5 it does not answer; 7 a goal was missed;
130 interrupted. The files are written in each case, once the test has begun.

Examples:
  homeroom lab run --target http://127.0.0.1:8080/readyz --rate 1000 --duration 10s
  homeroom lab run --target https://ods.example.org/v7.3 --scenario day.toml --key K \\
      --published --watch database=http://db:9100/metrics --json run.json --html run.html
  homeroom lab run --target http://127.0.0.1:8080 --scenario day.toml --seed 7 \\
      --stages \"50/s 1m, 50..400/s 5m, 50/s 1m\" --watch web=homeroom --watch database=postgres"
)]
pub struct RunArgs {
    #[command(flatten)]
    to: TargetArgs,
    /// Requests per second
    #[arg(long, value_name = "RATE")]
    rate: Option<f64>,
    /// Modelled clients, each of which waits for its answer and then pauses as the scenario says
    #[arg(long, value_name = "N")]
    users: Option<u32>,
    /// Length of the run, with --rate or --users
    #[arg(long, value_name = "TIME", default_value = "10s", conflicts_with_all = ["stages", "published"])]
    duration: HumanDuration,
    /// Several stages, one after the other; see below
    #[arg(long, value_name = "STAGES")]
    stages: Option<String>,
    /// Runs the stages of the published tests: 50, 100, 200, 300, 400 and 500 per second, 5 minutes each
    #[arg(long)]
    published: bool,
    /// Condition that must not hold, such as `p99 > 500ms` or `failed > 0.1%`; if it holds, the exit
    /// code is 7; may be repeated
    #[arg(long, value_name = "GOAL")]
    fail_if: Vec<String>,
    /// Sends the initial load for this long beforehand, without counting it
    #[arg(long, value_name = "TIME")]
    warm_up: Option<HumanDuration>,
    #[command(flatten)]
    send: SendArgs,
    #[command(flatten)]
    watch: WatchArgs,
    #[command(flatten)]
    output: OutputArgs,
}

/// Runs the command.
pub fn run(args: RunArgs) -> Result<Exit, Failure> {
    args.output.check()?;
    let stages = stages(&args)?;
    let watches = args.watch.watches()?;
    let goals = gate::goals(&args.fail_if)?;
    let stop = session::stop_when_told()?;
    let mut ready = Ready::new(&args.to, &args.send, None, &stop)?;
    let seed = ready.facts.seed;
    if let Some(HumanDuration(time)) = args.warm_up {
        let load = at_its_start(stages[0].load);
        let warm_up = [Stage { load, duration: time }];
        send(&mut ready.engine, &warm_up, &args, seed.wrapping_add(1), "warming up, ")?;
        ready.program.forget_trouble();
    }
    let sampler = Sampler::start(&watches, Instant::now())
        .map_err(|error| Failure::because("watching this machine", error))?;
    let observed = watched(&mut ready, &stages, &args);
    let meanwhile = sampler.stop();
    let Ready { facts, program, .. } = ready;
    let run = file(facts, &stages, &program, &observed?, meanwhile);
    let was_interrupted = stop.load(Ordering::Relaxed);
    args.output.write(&Report::of(&run), &run, &trouble(&run))?;
    if was_interrupted {
        return Err(Failure::Interrupted(
            "interrupted: the figures cover the part until then".into(),
        ));
    }
    let has_answers = run.outcomes.keys().any(|name| name.bytes().all(|b| b.is_ascii_digit()));
    if run.requests.total > 0 && run.outcomes.keys().all(|name| name == "no-room") {
        return Err(Failure::Failed(
            "this machine has no socket, port or such address for a connection: correct --from, or \
             raise the limit of open files (ulimit -Hn)"
                .into(),
        ));
    }
    if run.requests.total > 0 && !has_answers {
        return Err(Failure::Unreachable(format!("{} gave no answer at all", run.facts.target)));
    }
    gate::judge_run(&run, &goals)
}

fn stages(args: &RunArgs) -> Result<Vec<Stage>, Failure> {
    let duration = args.duration.0;
    match (args.rate, args.users, &args.stages) {
        (Some(rate), _, _) => {
            let text = format!("{rate}/s {}", duration::show(duration));
            Stage::parse_list(&text).map_err(|why| Failure::Usage(format!("--rate {rate}: {why}")))
        }
        (_, Some(users), _) => {
            let text = format!("{users} users {}", duration::show(duration));
            Stage::parse_list(&text)
                .map_err(|why| Failure::Usage(format!("--users {users}: {why}")))
        }
        (_, _, Some(text)) => {
            Stage::parse_list(text).map_err(|why| Failure::Usage(format!("--stages: {why}")))
        }
        (None, None, None) => {
            let held = |rate: &f64| Stage::rate(*rate, PUBLISHED_TIME);
            Ok(PUBLISHED_RATES.iter().map(held).collect())
        }
    }
}

fn at_its_start(load: Load) -> Load {
    match load {
        Load::Rate { from, .. } => Load::Rate { from, to: from },
        Load::Users { from, .. } => Load::Users { from, to: from },
    }
}

fn send(
    engine: &mut Engine<ScenarioSource>,
    stages: &[Stage],
    args: &RunArgs,
    seed: u64,
    doing: &str,
) -> Result<Observed, Failure> {
    let all: Duration = stages.iter().map(|stage| stage.duration).sum();
    let mut line = ProgressLine::new();
    let done = engine.run(stages, args.send.arrivals(), seed, &mut |second| {
        line.show(|| format!("{doing}{}", progress(second, all)));
    });
    line.end();
    done.map_err(|error| engine_failure(&error))
}

/// Sends the run itself, and shows a live board on a terminal.
fn watched(ready: &mut Ready, stages: &[Stage], args: &RunArgs) -> Result<Observed, Failure> {
    let seed = ready.facts.seed;
    let mut board = Board::new(&ready.facts.scenario, &ready.facts.target, stages);
    let Some(mut canvas) = Canvas::new(board.lines(0).len()) else {
        return send(&mut ready.engine, stages, args, seed, "");
    };
    canvas.draw(&board.lines(Canvas::width()));
    let done = ready.engine.run(stages, args.send.arrivals(), seed, &mut |second| {
        board.take(second);
        canvas.draw(&board.lines(Canvas::width()));
    });
    canvas.end();
    done.map_err(|error| engine_failure(&error))
}

fn progress(second: &Interval, all: Duration) -> String {
    format!(
        "{:.0} of {:.0} s, {}/s due, {}/s right, p99 {:.1} ms, {} in flight",
        second.at_s + 1.0,
        all.as_secs_f64(),
        grouped(second.due),
        grouped(second.ok),
        second.p99_ms,
        grouped(second.in_flight),
    )
}

fn file(
    facts: Facts,
    stages: &[Stage],
    program: &Program,
    observed: &Observed,
    meanwhile: Readings,
) -> RunFile {
    let mut run = RunFile::new(facts, stages, program.facts(), observed);
    meanwhile.put_into(&mut run);
    program.put_into(&mut run);
    run
}

/// Describes steps that could not be done, and what could not be watched.
pub fn trouble(run: &RunFile) -> String {
    let mut lines = String::new();
    for step in &run.steps {
        let name = &step.name;
        if step.skipped > 0 {
            let times = grouped(step.skipped);
            _ = writeln!(
                lines,
                "  step {name}: skipped {times} times, because a value was missing"
            );
        }
        if step.is_used_up {
            _ = writeln!(
                lines,
                "  step {name}: no longer done, because all its combinations had been used"
            );
        }
        if step.untaken > 0 {
            let many = grouped(step.untaken);
            _ = writeln!(lines, "  step {name}: {many} right answers lacked a value to take");
        }
    }
    for watched in run.server.iter().filter(|watched| !watched.trouble.is_empty()) {
        _ = writeln!(lines, "  {}: {}", watched.name, watched.trouble);
    }
    lines
}
