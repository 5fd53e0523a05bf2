//! `homeroom lab gate`, and `--fail-if` of other commands.

use std::path::PathBuf;

use clap::Args;
use homeroom_lab::gate::{Goal, Row, evaluate, junit, parse, table, verdict};
use homeroom_lab::report;
use homeroom_load::run::RunFile;

use crate::exit::{Exit, Failure};
use crate::output::{JUNIT, MARKDOWN, check, write as write_output};

/// Holds the file of a run, or of a search for the capacity, against goals.
#[derive(Debug, Args)]
#[command(
    after_help = "A goal says what must not be. If it is, the exit code is 7. What a file says only as a bound, as
the generator or its host was the limit, misses no goal: then the exit code is 2.

Examples:
  homeroom lab gate run.json --fail-if \"p99 > 500ms\" --fail-if \"failed > 0.1%\"
  homeroom lab gate capacity.json --fail-if \"stable < 400/s\" --junit gate.xml"
)]
pub struct GateArgs {
    /// What `lab run --json FILE` or `lab capacity --json FILE` has written
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// What must not be; may be given again
    #[arg(long, value_name = "GOAL", required = true)]
    fail_if: Vec<String>,
    /// Writes a test report, a case a goal
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
    /// Writes the goals and what was measured as Markdown
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

fn judged(rows: &[Row]) -> Exit {
    if rows.iter().any(|row| row.failed) { Exit::GateNotMet } else { Exit::Done }
}
