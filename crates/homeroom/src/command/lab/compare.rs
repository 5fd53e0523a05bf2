//! `homeroom lab compare`.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use clap::Args;
use homeroom_lab::compare::{
    ComparisonSettings, Difference, RunFigures, Side, compare, order, table,
};
use homeroom_lab::report::comparison;
use homeroom_load::run::RunFile;
use homeroom_load::stage::Stage;

use super::load::{SendArgs, TargetArgs};
use super::output::FiguresArgs;
use super::ready::{Ready, engine_failure};
use super::session;
use crate::command::terminal::ProgressLine;
use crate::config::HumanDuration;
use crate::exit::{Exit, Failure};
use crate::output::{MARKDOWN, check, write as write_output};

/// Runs the same load test against two targets in turn, and tells whether B is better or worse
#[derive(Debug, Args)]
#[command(
    after_help = "A machine's speed drifts, so the runs alternate: A B B A, B A A B, and so on. Each figure is shown
with the interval in which its change lies.

Exit codes: 0 done; 4 a target does not accept the key; 5 one does not answer, or neither gives a
right answer; 6 B is worse; 130 interrupted

Examples:
  homeroom lab compare --target http://127.0.0.1:8080/readyz --against http://127.0.0.1:8081/readyz \\
      --rate 500"
)]
pub struct CompareArgs {
    #[command(flatten)]
    to: TargetArgs,
    /// Address of B; scenario, key and trusted certificates are those of A, the target
    #[arg(long, value_name = "URL")]
    against: String,
    /// Requests per second
    #[arg(long, value_name = "RATE")]
    rate: f64,
    /// Length of each run
    #[arg(long, value_name = "TIME", default_value = "10s")]
    duration: HumanDuration,
    /// Number of blocks, each of four runs
    #[arg(long, value_name = "N", default_value = "5",
        value_parser = clap::value_parser!(u32).range(2..=1000))]
    blocks: u32,
    #[command(flatten)]
    send: SendArgs,
    /// Writes the table as Markdown
    #[arg(long, value_name = "FILE")]
    markdown: Option<PathBuf>,
    #[command(flatten)]
    output: FiguresArgs,
}

/// Runs the command.
pub fn run(args: CompareArgs) -> Result<Exit, Failure> {
    args.output.check()?;
    args.markdown.iter().try_for_each(|path| check(&MARKDOWN, path))?;
    let text = format!("{}/s {}", args.rate, homeroom_load::duration::show(args.duration.0));
    let stages =
        Stage::parse_list(&text).map_err(|why| Failure::Usage(format!("--rate: {why}")))?;
    let stop = session::stop_when_told()?;
    let mut other = args.to.clone();
    other.target.clone_from(&args.against);
    let mut a = Ready::new(&args.to, &args.send, None, &stop)?;
    let mut b = Ready::new(&other, &args.send, None, &stop)?;
    let settings = ComparisonSettings {
        blocks: args.blocks,
        seed: a.facts.seed,
        ..ComparisonSettings::default()
    };
    let names = [a.facts.target.clone(), b.facts.target.clone()];
    let (all, mut done) = (order(args.blocks).len(), 0_u64);
    let mut line = ProgressLine::new();
    let compared = compare(names, settings, |side| {
        done += 1;
        line.show(|| format!("run {done} of {all}"));
        let ready = if side == Side::A { &mut a } else { &mut b };
        one(ready, &stages, &args, done, &stop)
    });
    line.end();
    let compared = compared?;
    args.output.write(&compared, &table(&compared))?;
    if let Some(path) = &args.markdown {
        write_output(&MARKDOWN, path, &comparison(&compared).markdown())?;
    }
    if compared.nobody_answers() {
        return Err(Failure::Unreachable("neither gave a right answer".into()));
    }
    Ok(if compared.verdict == Difference::Worse { Exit::Differences } else { Exit::Done })
}

fn one(
    ready: &mut Ready,
    stages: &[Stage],
    args: &CompareArgs,
    number: u64,
    stop: &Arc<AtomicBool>,
) -> Result<RunFigures, Failure> {
    // Both runs of a pair use the same seed.
    let seed = ready.facts.seed.wrapping_add((number - 1) / 2);
    let observed = ready
        .engine
        .run(stages, args.send.arrivals(), seed, &mut |_| {})
        .map_err(|error| engine_failure(&error))?;
    if stop.load(Ordering::Relaxed) {
        return Err(Failure::Interrupted("interrupted: there is no result".into()));
    }
    let run = RunFile::new(ready.facts.clone(), stages, ready.program.facts(), &observed);
    Ok(RunFigures {
        goodput: run.goodput(),
        mean_ms: run.response_ms.mean,
        p50_ms: run.response_ms.p50,
        p99_ms: run.response_ms.p99,
        error_share: run.requests.failed as f64 / run.requests.total.max(1) as f64,
    })
}
