//! `cargo xtask fuzz`: the targets of `fuzz/`, by a coverage-guided fuzzer (libFuzzer).
//!
//! What the fuzzer needs of the compiler (counters in every block) are flags of the stable one; its
//! own part is C++. What has been found once stands in `fuzz/corpus` and is tried first; what a run
//! adds is kept in `target/fuzz`, where the next run goes on.

use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::house::{self, Done, cargo, root, succeed};
use crate::summary::Summary;

/// The targets, by their programs' names.
const TARGETS: &[&str] = &["json", "query", "token", "xml"];

/// Seconds a target where nothing else is said.
const SECONDS: u64 = 60;
/// Seconds a target within `cargo xtask test`.
const SECONDS_SHORT: u64 = 20;
/// The beginning of chance within `cargo xtask test`: a stop's verdict should be the next one's, too.
/// The other runs begin anywhere.
const SEED_SHORT: u32 = 1;
/// Seconds a target within `cargo xtask long`.
const SECONDS_LONG: u64 = 3_600;

/// Counters in every block and what comparisons compare, as libFuzzer reads them.
const FLAGS: &str = "--cfg fuzzing -Cpasses=sancov-module \
    -Cllvm-args=-sanitizer-coverage-level=4 \
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters \
    -Cllvm-args=-sanitizer-coverage-pc-table \
    -Cllvm-args=-sanitizer-coverage-trace-compares";

/// A run's bounds: an input's bytes, its seconds, the program's memory in MiB.
const BOUNDS: &[&str] = &["-max_len=16384", "-timeout=20", "-rss_limit_mb=2048"];

/// Runs the targets, or the one that is named.
///
/// # Errors
///
/// When a target found something, or the targets cannot be built.
pub fn run(arguments: &[String]) -> Done {
    let (mut targets, mut seconds) = (TARGETS.to_vec(), SECONDS);
    let mut rest = arguments.iter().map(String::as_str);
    while let Some(argument) = rest.next() {
        match (argument, rest.next()) {
            ("--target", Some(name)) => {
                let known = TARGETS.iter().find(|target| **target == name);
                targets = vec![known.ok_or_else(|| format!("the targets are {TARGETS:?}"))?];
            }
            ("--seconds", Some(number)) => {
                seconds = number.parse().map_err(|_| format!("--seconds {number} is no number"))?;
            }
            _ => return Err("usage: cargo xtask fuzz [--target T] [--seconds N]".to_owned()),
        }
    }
    let programs = build()?;
    let mut found = vec![];
    for target in targets {
        match fuzz(&programs, target, seconds, None) {
            Ok(runs) => println!("fuzz {target}: {runs} inputs in {seconds} s"),
            Err(problem) => {
                println!("fuzz {target}: {problem}");
                found.push(target);
            }
        }
    }
    if found.is_empty() { Ok(()) } else { Err(format!("found something: {}", found.join(", "))) }
}

/// All targets as tests among others: briefly, or each for an hour in a long run.
pub fn check(summary: &mut Summary, is_long: bool) {
    println!("\nfuzz");
    if let Err(why) = compiler() {
        for target in TARGETS {
            summary.skipped.push((format!("fuzz {target}"), why.clone()));
        }
        return;
    }
    let (seconds, seed) =
        if is_long { (SECONDS_LONG, None) } else { (SECONDS_SHORT, Some(SEED_SHORT)) };
    let programs = match build() {
        Ok(programs) => programs,
        Err(problem) => return summary.take_check_shown(&format!("failed: fuzz: {problem}")),
    };
    // A target uses one core.
    let cores = std::thread::available_parallelism().map_or(1, NonZero::get);
    for some in TARGETS.chunks(cores) {
        let ended: Vec<_> = std::thread::scope(|scope| {
            let start = |target: &&'static str| {
                let (target, programs) = (*target, &programs);
                scope.spawn(move || (target, fuzz(programs, target, seconds, seed)))
            };
            let running: Vec<_> = some.iter().map(start).collect();
            running.into_iter().map(|one| one.join().expect("no fault ends it")).collect()
        });
        for (target, ran) in ended {
            summary.take_check_shown(&match ran {
                Ok(runs) => format!("passed: fuzz {target}: {runs} inputs in {seconds} s"),
                Err(problem) => format!("failed: fuzz {target}: {problem}"),
            });
        }
    }
}

/// The fuzzer itself is C++.
fn compiler() -> Result<(), String> {
    let found = Command::new("c++").arg("--version").output();
    found.map(drop).map_err(|_| "a C++ compiler is needed (Debian: g++)".to_owned())
}

/// Builds the targets, writes the seeds; gives the programs' folder.
fn build() -> Result<PathBuf, String> {
    compiler()?;
    let host = host()?;
    // Not locked: a crate's new dependency is taken in without a second file to look after.
    let mut command = cargo(&["build", "--release", "--quiet"]);
    command.args(["--manifest-path", "fuzz/Cargo.toml", "--target-dir", "target/fuzz"]);
    // With a target named, build scripts and macros are built without the counters.
    command.args(["--target", &host]).env("RUSTFLAGS", FLAGS).env_remove("CARGO_ENCODED_RUSTFLAGS");
    succeed(&mut command).map_err(|problem| format!("the targets do not build: {problem}"))?;
    let programs = root().join("target/fuzz").join(host).join("release");
    let mut seeds = program(&programs, TARGETS[0]);
    succeed(seeds.env("HOMEROOM_FUZZ_SEEDS", "target/fuzz/seeds"))?;
    Ok(programs)
}

/// The triple of this machine.
fn host() -> Result<String, String> {
    let said = Command::new("rustc").arg("-vV").current_dir(root()).output();
    let said = said.map_err(|error| format!("cannot start rustc: {error}"))?;
    let text = String::from_utf8_lossy(&said.stdout);
    let host = text.lines().find_map(|line| line.strip_prefix("host: "));
    host.map(str::to_owned).ok_or_else(|| "rustc does not tell its host".to_owned())
}

/// Where a target leaves its temporary files.
fn temporary(target: &str) -> PathBuf {
    root().join("target/fuzz/tmp").join(target)
}

/// A target's program, with a folder of its own for what it leaves in the system's.
fn program(programs: &Path, target: &str) -> Command {
    let mut command = Command::new(programs.join(target));
    command.current_dir(root()).env("TMPDIR", temporary(target));
    command
}

/// Runs a target; gives how many inputs were tried.
fn fuzz(programs: &Path, target: &str, seconds: u64, seed: Option<u32>) -> Result<String, String> {
    let failed = |error: std::io::Error| error.to_string();
    let own = format!("target/fuzz/corpus/{target}");
    let found = format!("target/fuzz/found/{target}-");
    for folder in [root().join(&own), root().join("target/fuzz/found"), temporary(target)] {
        std::fs::create_dir_all(folder).map_err(failed)?;
    }
    let mut command = program(programs, target);
    command.args([&own, &format!("fuzz/corpus/{target}"), &format!("target/fuzz/seeds/{target}")]);
    command.arg(format!("-dict=target/fuzz/seeds/{target}.dict"));
    command.args([format!("-artifact_prefix={found}"), format!("-max_total_time={seconds}")]);
    command.args(seed.map(|seed| format!("-seed={seed}")));
    command.args(BOUNDS).args(["-print_final_stats=1", "-verbosity=1"]);
    let ended = command.output().map_err(failed)?;
    _ = std::fs::remove_dir_all(temporary(target));
    let said = String::from_utf8_lossy(&ended.stderr);
    if !ended.status.success() {
        let lines: Vec<&str> = said.lines().collect();
        let last = &lines[lines.len().saturating_sub(40)..];
        return Err(format!(
            "{}\n{}\nthe input stands in {found}…; mend what it shows and keep it in fuzz/corpus",
            ended.status,
            last.join("\n")
        ));
    }
    let runs = said.lines().find_map(|line| line.strip_prefix("stat::number_of_executed_units:"));
    runs.map(|runs| runs.trim().to_owned()).ok_or_else(|| house::TOLD.to_owned())
}
