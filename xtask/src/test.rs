//! `cargo xtask test`, which `./test` calls: runs every test and prints one line of totals.

mod browser;
mod clients;
pub mod postgres;
mod rust;
mod timings;

use std::num::NonZero;
use std::path::PathBuf;

use crate::house::{self, Done, cargo, timed};
use crate::part::{Job, Part, side_by_side};
use crate::program::each_line;
use crate::summary::{Summary, slowest};
use crate::{adversary, fuzz, soak};
use rust::Program;

/// The seed of property tests. It is fixed, so that a change is judged only by what it changes; a
/// long run draws new inputs each time.
const SEED: (&str, &str) = ("PROPTEST_RNG_SEED", "20261122");

/// The most parts that run side by side; each has connections to PostgreSQL of its own.
const LANES_MAX: usize = 4;

/// The environment variables of a run's programs.
type Environment<'a> = Vec<(&'a str, &'a str)>;

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
    let prepared = arguments.is_empty().then(Prepared::make);
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
    match prepared {
        Some(prepared) => all(&prepared, &environment, is_long, &mut summary),
        None => some(arguments, &environment, &mut summary)?,
    }
    if !summary.skipped.is_empty() {
        println!();
    }
    for (test, reason) in &summary.skipped {
        println!("skipped {test}: {reason}");
    }
    if !summary.failures.is_empty() {
        print!("\n{}", summary.told_failures());
    }
    println!("\n{summary}");
    if summary.failed == 0 { Ok(()) } else { Err(house::TOLD.to_owned()) }
}

/// What the parts of a run need.
struct Prepared {
    programs: Result<Vec<Program>, String>,
    clients: Result<PathBuf, String>,
    browser: Result<(), String>,
}

impl Prepared {
    /// Builds the tests, and meanwhile installs what the suites need: that mostly waits for the
    /// network.
    fn make() -> Self {
        std::thread::scope(|scope| {
            let installing = scope.spawn(|| (clients::install(), browser::install()));
            let programs = timed("tests: build", rust::build);
            let (clients, browser) =
                installing.join().expect("an installation reports its failure");
            Self { programs, clients, browser }
        })
    }
}

/// Runs everything. Parts that do not need each other run side by side, because most of them wait
/// at times: for a server, for a disk, for a moment.
fn all(prepared: &Prepared, environment: &Environment<'_>, is_long: bool, summary: &mut Summary) {
    let Prepared { programs, clients, browser } = prepared;
    let mut part = Part::default();
    match programs {
        Ok(programs) => {
            let mut jobs: Vec<Job<'_>> = rust::jobs(programs, environment).collect();
            jobs.extend(clients::jobs(environment, clients));
            jobs.extend(browser::jobs(browser));
            let cores = std::thread::available_parallelism().map_or(1, NonZero::get);
            let lanes = LANES_MAX.min(cores + 1);
            let ran = timed("tests: run", || side_by_side(jobs, lanes));
            summary.add(ran.0);
            println!("\n{}", slowest("builds", timings::units()));
            println!("\n{}", slowest("tests", ran.1));
        }
        Err(problem) => part.check(&format!("failed: {problem}")),
    }
    timed("tests: fuzz", || fuzz::check(&mut part, is_long));
    if is_long {
        soak::check(&mut part);
        adversary::check(&mut part);
    } else {
        let why = "it takes eleven minutes and a release build; `cargo xtask long` runs it";
        part.skip("adversary", why);
    }
    summary.add(part.end());
}

/// Runs `cargo test` with arguments and shows its lines at once.
fn some(arguments: &[String], environment: &Environment<'_>, summary: &mut Summary) -> Done {
    let mut command = cargo(&["test", "--locked", "--no-fail-fast"]);
    if !arguments.iter().any(|argument| argument == "-p" || argument.starts_with("--package")) {
        command.arg("--workspace");
    }
    let (own, theirs) =
        arguments.split_at(arguments.iter().position(|a| a == "--").unwrap_or(arguments.len()));
    command.args(own).args(["--", "--show-output"]).args(theirs.iter().skip(1));
    command.envs(environment.iter().copied());
    let status = each_line(&mut command, |line| {
        if summary.take(line) {
            println!("{line}");
        }
    })?;
    if !status.success() {
        summary.failed = summary.failed.max(1);
    }
    Ok(())
}

/// The environment variable of long runs; without it, long tests report themselves as skipped.
pub const LONG: &str = "HOMEROOM_LONG";
