//! `cargo xtask soak`: runs the real binary under a steady mixed load for a long time, and checks
//! that nothing grew, failed or panicked.
//!
//! Requests are sent on a schedule, whether or not answers come in time. The number of documents
//! stays the same (creates and deletes balance), so any growth is not data. Beside the well-behaved
//! clients there are clients that are slow, disconnect, or send nonsense.

pub mod client;
pub mod load;
mod sample;
pub mod server;
mod verdict;

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde_json::json;

use crate::house::{self, Done, cargo, root, succeed};
use crate::part::Part;
use load::{Load, Tally};
use sample::Sample;
use server::Server;

/// The time between two samples.
const SAMPLE: Duration = Duration::from_secs(5);
/// The longest wait for the last requests after the load.
const SETTLE: Duration = Duration::from_secs(10);

/// The options of a run, from the command line.
struct Options {
    minutes: f64,
    rate: f64,
    json: bool,
    binary: Option<PathBuf>,
}

/// Runs a soak and prints its table and verdict.
///
/// # Errors
///
/// If something grew, failed or panicked, or the server cannot be started.
pub fn run(arguments: &[String]) -> Done {
    let mut options = Options { minutes: 30.0, rate: 200.0, json: false, binary: None };
    let mut rest = arguments.iter().map(String::as_str);
    while let Some(argument) = rest.next() {
        let mut value = || rest.next().ok_or_else(|| format!("{argument} needs a value"));
        let number = |text: &str| text.parse().map_err(|_| format!("`{text}` is not a number"));
        match argument {
            "--minutes" => options.minutes = number(value()?)?,
            "--rate" => options.rate = number(value()?)?,
            "--binary" => options.binary = Some(value()?.into()),
            "--json" => options.json = true,
            _ => return Err(format!("unknown: {argument}; see `cargo xtask`")),
        }
    }
    let findings = soak(&options)?;
    if findings == 0 { Ok(()) } else { Err(house::TOLD.to_owned()) }
}

/// Runs a soak as one of the tests.
pub fn check(part: &mut Part) {
    println!("\nsoak");
    let options = Options { minutes: 30.0, rate: 200.0, json: false, binary: None };
    part.check(&match soak(&options) {
        Ok(0) => "passed: soak of 30 minutes".to_owned(),
        Ok(count) => format!("failed: soak: {count} of the checks above"),
        Err(problem) => format!("failed: soak: {problem}"),
    });
}

/// Runs a soak. Returns how many checks do not hold.
fn soak(options: &Options) -> Result<usize, String> {
    let binary = match &options.binary {
        Some(binary) => binary.clone(),
        None => {
            succeed(&mut cargo(&["build", "--release", "--locked", "--quiet", "-p", "homeroom"]))?;
            root().join("target/release/homeroom")
        }
    };
    let server = Server::start(&binary, &root().join("target/soak"))?;
    let time = Duration::from_secs_f64(options.minutes * 60.0);
    let (tally, is_over) = (Tally::default(), AtomicBool::new(false));
    let load = Load { server: &server, tally: &tally, is_over: &is_over, rate: options.rate };
    load.fill()?;
    let samples = std::thread::scope(|scope| -> Result<Vec<Sample>, String> {
        load.start(scope);
        let begun = Instant::now();
        let mut samples = vec![];
        while begun.elapsed() < time && server.is_alive() {
            std::thread::sleep(SAMPLE.min(time.saturating_sub(begun.elapsed())));
            let sample = Sample::take(&server, &tally, begun.elapsed());
            match sample {
                Ok(sample) => samples.push(sample),
                Err(problem) => eprintln!("no sample: {problem}"),
            }
        }
        is_over.store(true, Ordering::Release);
        Ok(samples)
    })?;
    std::thread::sleep(Duration::from_secs(1));
    let begun = Instant::now();
    let mut last = Sample::take(&server, &tally, time);
    while last.as_ref().is_ok_and(|last| last.in_flight > 0) && begun.elapsed() < SETTLE {
        std::thread::sleep(Duration::from_millis(100));
        last = Sample::take(&server, &tally, time);
    }
    let stored = load.stored();
    let log = server.log();
    let findings = verdict::judge(&samples, last.as_ref().ok(), &tally, stored.as_ref(), &log);
    if options.json {
        let found: Vec<_> = findings.iter().map(verdict::Finding::json).collect();
        let samples: Vec<_> = samples.iter().map(Sample::json).collect();
        println!("{}", json!({ "checks": found, "load": tally.json(), "samples": samples }));
    } else {
        sample::print(&samples, &tally);
        verdict::print(&findings);
    }
    Ok(findings.iter().filter(|finding| !finding.holds).count())
}
