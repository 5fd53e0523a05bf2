//! `cargo xtask test`, which `./test` calls: runs every test and prints one line of totals.

mod browser;
mod clients;
pub mod postgres;
mod program;

use std::process::Command;

use crate::house::{self, Done, cargo, succeed, timed};
use crate::summary::Summary;
use crate::{adversary, fuzz, soak};
use program::each_line;

/// The seed of property tests. It is fixed, so that a change is judged only by what it changes; a
/// long run draws new inputs each time.
const SEED: (&str, &str) = ("PROPTEST_RNG_SEED", "20261122");

/// Runs the tests, on SQLite and on PostgreSQL (a long run: on the oldest and the newest supported
/// one). Without arguments it runs all of them, including the client suites; arguments go to
/// `cargo test`.
///
/// # Errors
///
/// If a test failed or could not be run.
pub fn run(arguments: &[String]) -> Done {
    run_with(arguments, &[])
}

/// Does the same with environment variables.
///
/// # Errors
///
/// As for [`run`].
pub fn run_with(arguments: &[String], environment: &[(&str, &str)]) -> Done {
    let is_long = environment.iter().any(|(name, _)| *name == LONG);
    let mut summary = Summary::default();
    let named = std::env::var_os(postgres::VARIABLE).is_some();
    let servers = (!named).then(|| postgres::Servers::start(is_long, &mut summary));
    let urls = servers.as_ref().map_or_else(String::new, postgres::Servers::urls);
    let mut environment = environment.to_vec();
    if !is_long && std::env::var_os(SEED.0).is_none() {
        environment.push(SEED);
    }
    if !urls.is_empty() {
        environment.extend([(postgres::VARIABLE, urls.as_str()), postgres::STRICT]);
    }
    if arguments.is_empty() {
        // A build error is reported below.
        _ = timed("tests: build", || succeed(all_tests().arg("--no-run")));
    }
    timed("tests: Rust", || rust(arguments, &environment, &mut summary))?;
    if arguments.is_empty() {
        timed("tests: clients", || clients::run(&environment, &mut summary));
        timed("tests: browser", || browser::run(&mut summary));
        timed("tests: fuzz", || fuzz::check(&mut summary, is_long));
        if is_long {
            soak::check(&mut summary);
            adversary::check(&mut summary);
        } else {
            summary.take_check(
                "skipped: adversary: it takes eleven minutes and a release build; `cargo xtask long` runs it",
            );
        }
    }
    if !summary.skipped.is_empty() {
        println!();
    }
    for (test, reason) in &summary.skipped {
        println!("skipped {test}: {reason}");
    }
    println!("\n{summary}");
    if summary.failed == 0 { Ok(()) } else { Err(house::TOLD.to_owned()) }
}

/// Runs all tests, and builds all programs and examples for that, which the suites use. Building
/// them by package would build their dependencies a second time, with other features.
fn all_tests() -> Command {
    cargo(&["test", "--locked", "--no-fail-fast", "--quiet", "--workspace"])
}

fn rust(arguments: &[String], environment: &[(&str, &str)], summary: &mut Summary) -> Done {
    let mut command = cargo(&["test", "--locked", "--no-fail-fast"]);
    if !arguments.iter().any(|argument| argument == "-p" || argument.starts_with("--package")) {
        command.arg("--workspace");
    }
    let (own, theirs) =
        arguments.split_at(arguments.iter().position(|a| a == "--").unwrap_or(arguments.len()));
    command.args(own).args(["--", "--show-output"]).args(theirs.iter().skip(1));
    command.envs(environment.iter().copied());
    each_line(&mut command, summary, |summary, line| {
        if summary.take(line) {
            println!("{line}");
        }
    })
}

/// The environment variable of long runs; without it, long tests report themselves as skipped.
pub const LONG: &str = "HOMEROOM_LONG";
