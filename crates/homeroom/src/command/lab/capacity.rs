//! `homeroom lab capacity`.

use std::sync::atomic::Ordering;

use clap::Args;
use homeroom_lab::capacity::{Capacity, Constants, Event, Goal, Phase, find};
use homeroom_lab::probe::{Kept, Probe, check_self};
use homeroom_lab::report::Report;
use homeroom_lab::run::RunFile;
use homeroom_lab::stage::Load;
use serde_json::{Value, json};

use super::load::{SendArgs, TargetArgs};
use super::output::OutputArgs;
use super::ready::{Ready, engine_failure};
use super::session;
use crate::command::terminal::ProgressLine;
use crate::config::HumanDuration;
use crate::exit::{Exit, Failure};

/// Finds how much load the target holds: for ever, for a while, and where it breaks.
#[derive(Debug, Args)]
#[command(after_help = "Three levels, each with the interval in which it lies:
  stable   it holds indefinitely: the mean response time stays below a second
  burst    it holds for half a minute, though people wait
  failure  more than 5 % of requests get no right answer, or it does much less than before
Where the generator or this machine was the limit, the verdict says so and the levels are what the
target holds at least.

Examples:
  homeroom lab capacity --target http://127.0.0.1:8080/readyz --json capacity.json
  homeroom lab capacity --target https://ods.example.org/v7.3 --scenario day.toml --key K \\
      --budget 20m --p99 2s --json capacity.json")]
pub struct CapacityArgs {
    #[command(flatten)]
    to: TargetArgs,
    /// The longest that the search takes
    #[arg(long, value_name = "TIME", default_value = "10m")]
    budget: HumanDuration,
    /// The first rate that is tried, requests a second
    #[arg(long, value_name = "RATE", value_parser = rate)]
    start_rate: Option<f64>,
    /// No rate above this is tried
    #[arg(long, value_name = "RATE", value_parser = rate)]
    rate_max: Option<f64>,
    /// Stable is where the 99th percentile stays below this, instead of the mean below a second
    #[arg(long, value_name = "TIME")]
    p99: Option<HumanDuration>,
    #[command(flatten)]
    send: SendArgs,
    #[command(flatten)]
    output: OutputArgs,
}

/// Runs the command.
pub fn run(args: CapacityArgs) -> Result<Exit, Failure> {
    let mut constants = Constants { budget_s: args.budget.0.as_secs_f64(), ..Constants::default() };
    constants.rate_max = args.rate_max;
    if let Some(rate) = args.start_rate {
        constants.start_rate = rate;
    }
    if let Some(HumanDuration(limit)) = args.p99 {
        constants.goals.stable = Goal::p99(limit.as_secs_f64() * 1e3);
    }
    search(&constants, &args.to, &args.send, &args.output)?;
    Ok(Exit::Done)
}

/// Searches, tells how it goes on, and writes what was found.
pub fn search(
    constants: &Constants,
    to: &TargetArgs,
    send: &SendArgs,
    output: &OutputArgs,
) -> Result<(), Failure> {
    let stop = session::stop_when_told()?;
    let ready = Ready::new(to, send, true, &stop)?;
    let mut line = ProgressLine::new();
    line.show(|| Phase::SelfCheck.words().into());
    let threads = ready.facts.settings.threads as usize;
    let check = check_self(threads).map_err(|error| engine_failure(&error))?;
    let mut tell = |event: &Event<'_>| tell(&mut line, event);
    let mut probe = Probe::new(
        ready.engine,
        send.arrivals(),
        ready.facts.seed,
        &check,
        stop.clone(),
        &mut tell,
    );
    let found = find(constants, check.ceiling(), &mut probe);
    let kept = probe.into_kept();
    line.end();
    let found = found.map_err(|error| engine_failure(&error))?;
    let was_interrupted = stop.load(Ordering::Relaxed);
    let of = |kept: &Kept| {
        RunFile::new(ready.facts.clone(), &[kept.stage], ready.program.facts(), &kept.observed)
    };
    let no_time = || {
        if was_interrupted {
            Failure::Interrupted("interrupted: there is no result".into())
        } else {
            Failure::Failed("there was no time for a trial: raise --budget".into())
        }
    };
    let run = of(at_stable(&kept, &found).ok_or_else(no_time)?);
    let profiles: Vec<(&str, RunFile)> = kept
        .iter()
        .filter_map(|trial| match trial.phase {
            Phase::Healthy => Some(("below the stable level", of(trial))),
            Phase::Unhealthy => Some(("above the stable level", of(trial))),
            _ => None,
        })
        .collect();
    let profiles: Vec<(&str, &RunFile)> = profiles.iter().map(|(name, run)| (*name, run)).collect();
    let report = Report { capacity: Some(&found), profiles: &profiles, ..Report::of(&run) };
    output.write(&report, &file(&found, &run), "")?;
    if was_interrupted {
        return Err(Failure::Interrupted(
            "interrupted: the levels are what was known until then".into(),
        ));
    }
    Ok(())
}

/// The trial that shows the stable level best: the last that held that rate, or else the last.
fn at_stable<'a>(kept: &'a [Kept], found: &Capacity) -> Option<&'a Kept> {
    let is_at = |kept: &&Kept| {
        matches!(kept.phase, Phase::Confirm | Phase::Check)
            && matches!(kept.stage.load, Load::Rate { from, .. }
                if (from / found.stable.rate - 1.0).abs() < 0.01)
    };
    kept.iter().rfind(is_at).or(kept.last())
}

/// The levels, and what is known of how they were found.
fn file(found: &Capacity, run: &RunFile) -> serde_json::Value {
    let mut file = json!(found);
    if let (Some(file), Value::Object(facts)) = (file.as_object_mut(), json!(run.facts)) {
        file.extend(facts);
    }
    file
}

fn tell(line: &mut ProgressLine, event: &Event<'_>) {
    match event {
        Event::Trying { phase, ask, spent_s } => line.show(|| {
            let (rate, seconds) = (ask.rate, ask.seconds);
            format!("{spent_s:.0} s, {}: {rate:.0}/s for {seconds:.0} s", phase.words())
        }),
        Event::Tried(tried) => {
            line.show(|| format!("{}: {:.0}/s, {}", tried.phase.words(), tried.rate, tried.why));
        }
        Event::Found(words) => {
            line.end();
            eprintln!("{words}");
        }
    }
}

fn rate(text: &str) -> Result<f64, String> {
    let rate = text.parse::<f64>().ok().filter(|rate| (0.1..=1e7).contains(rate));
    rate.ok_or_else(|| "it is no rate from 0.1 to 10000000 a second".into())
}
