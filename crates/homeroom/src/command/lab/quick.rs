//! `homeroom lab quick`.

use clap::Args;
use homeroom_lab::capacity::Constants;

use super::capacity;
use super::load::{SendArgs, TargetArgs, WatchArgs};
use super::output::OutputArgs;
use crate::exit::{Exit, Failure};

/// Estimates in about a minute how much load the target holds, and writes a report
#[derive(Debug, Args)]
#[command(
    after_help = "This is the search of `homeroom lab capacity` with short trials, so its result is coarse; the
interval beside it shows how coarse. Burst and failure are measured over 4 seconds, if there is time
to look for them. Use `capacity` for a figure to rely on.

Examples:
  homeroom lab quick --target http://127.0.0.1:8080/readyz
  homeroom lab quick --target https://ods.example.org/v7.3 --scenario edfi-day-to-day --key K \\
      --html before.html"
)]
pub struct QuickArgs {
    #[command(flatten)]
    to: TargetArgs,
    #[command(flatten)]
    send: SendArgs,
    #[command(flatten)]
    watch: WatchArgs,
    #[command(flatten)]
    output: OutputArgs,
}

/// Runs the command.
pub fn run(args: QuickArgs) -> Result<Exit, Failure> {
    let output = args.output.with_page("lab-quick.html");
    capacity::search(&Constants::quick(), &args.to, &args.send, &args.watch, &output)?;
    if let Some(page) = output.page() {
        eprintln!("report: {}", page.display());
    }
    Ok(Exit::Done)
}
