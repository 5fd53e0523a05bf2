//! `homeroom lab gate`, and `--fail-if` of other commands.

use std::path::PathBuf;

use clap::Args;
use homeroom_lab::gate::{Goal, GoalResult, evaluate, junit, parse, table, verdict};
use homeroom_lab::report;
use homeroom_load::run::RunFile;

use crate::exit::{Exit, Failure};
use crate::output::{JUNIT, MARKDOWN, check, write as write_output};

/// Checks the file of a run or of a capacity search against goals
#[derive(Debug, Args)]
#[command(
    after_help = "A goal names a condition that must not hold. If one holds, the exit code is 7. A figure that is only
a lower bound, because the generator or its host was the limit, cannot miss a goal: the exit code is
then 2.

Examples:
  homeroom lab gate run.json --fail-if \"p99 > 500ms\" --fail-if \"failed > 0.1%\"
  homeroom lab gate capacity.json --fail-if \"stable < 400/s\" --junit gate.xml"
)]
pub struct GateArgs {
    /// File that `lab run --json FILE` or `lab capacity --json FILE` wrote
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Condition that must not hold; may be repeated
    #[arg(long, value_name = "GOAL", required = true)]
    fail_if: Vec<String>,
    /// Writes an XML test report for build servers, with one test case per goal
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
    /// Writes the goals and the measured values as Markdown
    #[arg(long, value_name = "FILE")]
    markdown: Option<PathBuf>,
}

/// Runs the command.
pub fn run(args: GateArgs) -> Result<Exit, Failure> {
    args.markdown.iter().try_for_each(|path| check(&MARKDOWN, path))?;
    args.junit.iter().try_for_each(|path| check(&JUNIT, path))?;
    let goals = goals(&args.fail_if)?;
    let name = args.file.display().to_string();
    let text = std::fs::read_to_string(&args.file)
        .map_err(|error| Failure::Usage(format!("{name}: {error}")))?;
    let rows =
        evaluate(&text, &goals).map_err(|error| Failure::Usage(format!("{name}: {error}")))?;
    if let Some(verdict) = verdict(&text) {
        crate::exit::say!("{verdict}");
    }
    crate::exit::print(&table(&rows));
    if let Some(path) = &args.markdown {
        write_output(&MARKDOWN, path, &report::gate(&rows).markdown())?;
    }
    if let Some(path) = &args.junit {
        write_output(&JUNIT, path, &junit(&name, &rows))?;
    }
    Ok(judged(&rows))
}

/// Parses goals.
pub fn goals(texts: &[String]) -> Result<Vec<Goal>, Failure> {
    let read =
        |text: &String| parse(text).map_err(|error| Failure::Usage(format!("--fail-if: {error}")));
    texts.iter().map(read).collect()
}

/// Checks a run against goals and prints the measured values.
pub fn judge_run(run: &RunFile, goals: &[Goal]) -> Result<Exit, Failure> {
    if goals.is_empty() {
        return Ok(Exit::Done);
    }
    let file = serde_json::to_string(run)
        .map_err(|error| Failure::because("reading the figures", error))?;
    let rows =
        evaluate(&file, goals).map_err(|error| Failure::Usage(format!("--fail-if: {error}")))?;
    eprint!("{}", table(&rows));
    Ok(judged(&rows))
}

fn judged(rows: &[GoalResult]) -> Exit {
    if rows.iter().any(|row| row.failed) { Exit::GateNotMet } else { Exit::Done }
}
