//! `homeroom lab capacity`.

use std::sync::atomic::Ordering;
use std::time::Duration;

use clap::Args;
use homeroom_lab::capacity::{Capacity, Constants, Event, Phase, StableGoal, find};
use homeroom_lab::report::Report;
use homeroom_lab::runner::{KeptTrial, TrialRunner, at_level};
use homeroom_lab::self_check::check_self;
use homeroom_load::run::RunFile;
use serde_json::{Value, json};

use super::load::{SendArgs, TargetArgs, WatchArgs};
use super::output::OutputArgs;
use super::ready::{Ready, engine_failure};
use super::run::trouble;
use super::session;
use crate::command::terminal::ProgressLine;
use crate::config::HumanDuration;
use crate::exit::{Exit, Failure};

/// Finds how much load the target holds indefinitely, how much for a while, and where it breaks.
#[derive(Debug, Args)]
#[command(after_help = "Three levels, each with the interval in which it lies:
  stable   it holds indefinitely: the mean response time stays below a second and does not grow,
           answers keep up with requests to within 1 %, and at most 0.1 % of requests get no right answer
  burst    it holds for half a minute from idle, though people wait: at most 1 % get no right answer
  failure  it breaks within half a minute: more than 5 % get no right answer, or it answers less
           than 70 % of its best rate
Stable is never above burst, nor burst above failure. A level is only a lower bound if no valid trial
of its own length kept it. So is stable if the generator or this machine was the limit; the verdict
says so.

Exit codes: 0 done, whatever the verdict; 4 the target does not accept the key; 5 it does not answer;
130 interrupted. The files are written in each case if at least one trial was made.

Examples:
  homeroom lab capacity --target http://127.0.0.1:8080/readyz --json capacity.json
  homeroom lab capacity --target https://ods.example.org/v7.3 --scenario day.toml --key K \\
      --budget 20m --p99 2s --json capacity.json")]
pub struct CapacityArgs {
    #[command(flatten)]
    to: TargetArgs,
    /// Approximate time limit of the search, not counting the set-up of the scenario
    #[arg(long, value_name = "TIME", default_value = "10m")]
    budget: HumanDuration,
    /// First rate to try, in requests per second
    #[arg(long, value_name = "RATE", value_parser = rate)]
    start_rate: Option<f64>,
    /// Highest rate to try, in requests per second
    #[arg(long, value_name = "RATE", value_parser = rate)]
    rate_max: Option<f64>,
    /// Goal of the stable level, in place of a mean below a second: the limit on the 99th percentile
    /// of the median 10 seconds; the worst 10 seconds may take twice as long
    #[arg(long, value_name = "TIME")]
    p99: Option<HumanDuration>,
    #[command(flatten)]
    send: SendArgs,
    #[command(flatten)]
    watch: WatchArgs,
    #[command(flatten)]
    output: OutputArgs,
}

/// Runs the command.
pub fn run(args: CapacityArgs) -> Result<Exit, Failure> {
    let mut constants = Constants::default().within(args.budget.0.as_secs_f64());
    constants.rate_max = args.rate_max;
    if let Some(rate) = args.start_rate {
        constants.start_rate = rate;
    }
    if let Some(HumanDuration(limit)) = args.p99 {
        constants.goals.stable = StableGoal::p99(limit.as_secs_f64() * 1e3);
    }
    search(&constants, &args.to, &args.send, &args.watch, &args.output)?;
    Ok(Exit::Done)
}

/// Runs the search, shows its progress, and writes the results.
pub fn search(
    constants: &Constants,
    to: &TargetArgs,
    send: &SendArgs,
    watch: &WatchArgs,
    output: &OutputArgs,
) -> Result<(), Failure> {
    output.check()?;
    let watches = watch.watches()?;
    let stop = session::stop_when_told()?;
    let drain = Duration::from_secs_f64(constants.drain_s);
    let ready = Ready::new(to, send, Some(drain), &stop)?;
    let mut line = ProgressLine::new();
    line.show(|| Phase::SelfCheck.words().into());
    let threads = ready.facts.settings.threads as usize;
    let check = check_self(threads).map_err(|error| engine_failure(&error))?;
    let mut tell = |event: &Event<'_>| tell(&mut line, event);
    let mut runner = TrialRunner::new(
        ready.engine,
        send.arrivals(),
        ready.facts.seed,
        &check,
        stop.clone(),
        &mut tell,
    )
    .watching(watches);
    let found = find(constants, check.ceiling(), &mut runner);
    let kept = runner.into_kept();
    line.end();
    let mut found = found.map_err(|error| engine_failure(&error))?;
    found.self_check = Some(check);
    let was_interrupted = stop.load(Ordering::Relaxed);
    let of = |kept: &KeptTrial| {
        let steps = ready.program.facts();
        let mut run = RunFile::new(ready.facts.clone(), &[kept.stage], steps, &kept.observed);
        kept.meanwhile.clone().put_into(&mut run);
        run
    };
    let no_time = || {
        if was_interrupted {
            Failure::Interrupted("interrupted: there is no result".into())
        } else {
            Failure::Failed("there was not enough time for a single trial: raise --budget".into())
        }
    };
    let mut run = of(at_level(&kept, found.levels.stable().rate).ok_or_else(no_time)?);
    // The counts cover the whole search, since they cannot be assigned to a trial.
    ready.program.put_into(&mut run);
    let profiles: Vec<(String, RunFile)> = kept
        .iter()
        .filter_map(|trial| {
            let place = match trial.phase {
                Phase::Healthy => "below",
                Phase::Unhealthy => "above",
                _ => return None,
            };
            Some((format!("{place} the stable level, at {:.0}/s", trial.rate()), of(trial)))
        })
        .collect();
    let profiles: Vec<(&str, &RunFile)> =
        profiles.iter().map(|(name, run)| (name.as_str(), run)).collect();
    let report = Report { capacity: Some(&found), profiles: &profiles, ..Report::of(&run) };
    output.write(&report, &file(&found, &run), &trouble(&run))?;
    if was_interrupted {
        return Err(Failure::Interrupted(
            "interrupted: the levels show what was known by then".into(),
        ));
    }
    Ok(())
}

/// Returns the levels and how they were found, as JSON.
fn file(found: &Capacity, run: &RunFile) -> serde_json::Value {
    let mut file = json!(found);
    if let (Some(file), Value::Object(facts)) = (file.as_object_mut(), json!(run.facts)) {
        file.extend(facts);
    }
    file
}

fn tell(line: &mut ProgressLine, event: &Event<'_>) {
    match event {
        Event::Trying { phase, plan, spent_s } => line.show(|| {
            let (rate, seconds) = (plan.rate, plan.seconds);
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
    rate.ok_or_else(|| "it is not a rate from 0.1 to 10000000 per second".into())
}
