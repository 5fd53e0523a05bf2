//! `cargo xtask fuzz`: runs the targets of `fuzz/` with a coverage-guided fuzzer (libFuzzer).
//!
//! The fuzzer's instrumentation (counters in every block) needs only flags of the stable compiler;
//! the fuzzer itself is C++. Earlier findings are in `fuzz/corpus` and are tried first. New inputs
//! are kept in `target/fuzz`, where the next run continues.

use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::house::{self, Done, cargo, root, succeed};
use crate::part::Part;

/// The targets, by the names of their programs.
const TARGETS: &[&str] =
    &["definition", "foreign", "json", "openapi", "query", "token", "transform", "xml"];

/// The default number of seconds per target.
const SECONDS: u64 = 60;
/// The seconds per target within `cargo xtask test`.
const SECONDS_SHORT: u64 = 10;
/// The random seed within `cargo xtask test`, so that its verdict is reproducible. Other runs have
/// random seeds.
const SEED_SHORT: u32 = 1;
/// The seconds per target within `cargo xtask long`.
const SECONDS_LONG: u64 = 3_600;

/// Flags for counters in every block and for the operands of comparisons, as libFuzzer reads them.
const FLAGS: &str = "--cfg fuzzing -Cpasses=sancov-module \
    -Cllvm-args=-sanitizer-coverage-level=4 \
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters \
    -Cllvm-args=-sanitizer-coverage-pc-table \
    -Cllvm-args=-sanitizer-coverage-trace-compares";

/// The limits of a run: bytes of an input, seconds for an input, and memory of the program in MiB.
const BOUNDS: &[&str] = &["-max_len=16384", "-timeout=20", "-rss_limit_mb=2048"];

/// Runs the targets, or only the named one.
///
/// # Errors
///
/// If a target found something, or the targets cannot be built.
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
                seconds =
                    number.parse().map_err(|_| format!("--seconds {number} is not a number"))?;
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

/// Runs all targets as tests: briefly, or each for an hour in a long run.
pub fn check(part: &mut Part, is_long: bool) {
    part.say("\nfuzz");
    if let Err(why) = compiler() {
        for target in TARGETS {
            part.skip(format!("fuzz {target}"), &why);
        }
        return;
    }
    let (seconds, seed) =
        if is_long { (SECONDS_LONG, None) } else { (SECONDS_SHORT, Some(SEED_SHORT)) };
    let programs = match build() {
        Ok(programs) => programs,
        Err(problem) => return part.check(&format!("failed: fuzz: {problem}")),
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
            part.check(&match ran {
                Ok(runs) => format!("passed: fuzz {target}: {runs} inputs in {seconds} s"),
                Err(problem) => format!("failed: fuzz {target}: {problem}"),
            });
        }
    }
}

/// Checks for a C++ compiler, which the fuzzer needs.
fn compiler() -> Result<(), String> {
    let found = Command::new("c++").arg("--version").output();
    found.map(drop).map_err(|_| "a C++ compiler is needed (Debian: g++)".to_owned())
}

/// Builds the targets and writes the seeds. Returns the programs' folder.
fn build() -> Result<PathBuf, String> {
    compiler()?;
    let host = host()?;
    // Not locked, so that new dependencies of a crate do not need a second lock file to be
    // maintained.
    let mut command = cargo(&["build", "--release", "--quiet"]);
    command.args(["--manifest-path", "fuzz/Cargo.toml", "--target-dir", "target/fuzz"]);
    // With an explicit target, build scripts and macros are built without the counters.
    command.args(["--target", &host]).env("RUSTFLAGS", FLAGS).env_remove("CARGO_ENCODED_RUSTFLAGS");
    succeed(&mut command).map_err(|problem| format!("the targets do not build: {problem}"))?;
    let programs = root().join("target/fuzz").join(host).join("release");
    let mut seeds = program(&programs, TARGETS[0]);
    succeed(seeds.env("HOMEROOM_FUZZ_SEEDS", "target/fuzz/seeds"))?;
    Ok(programs)
}

/// Returns the target triple of this machine.
fn host() -> Result<String, String> {
    let said = Command::new("rustc").arg("-vV").current_dir(root()).output();
    let said = said.map_err(|error| format!("cannot start rustc: {error}"))?;
    let text = String::from_utf8_lossy(&said.stdout);
    let host = text.lines().find_map(|line| line.strip_prefix("host: "));
    host.map(str::to_owned).ok_or_else(|| "rustc does not tell its host".to_owned())
}

/// Returns the folder for a target's temporary files.
fn temporary(target: &str) -> PathBuf {
    root().join("target/fuzz/tmp").join(target)
}

/// Returns a command for a target's program, with a temporary folder of its own.
fn program(programs: &Path, target: &str) -> Command {
    let mut command = Command::new(programs.join(target));
    command.current_dir(root()).env("TMPDIR", temporary(target));
    command
}

/// Runs a target. Returns how many inputs were tried.
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
        return Err(format!("{}\n{}", ended.status, told(&said)));
    }
    let runs = said.lines().find_map(|line| line.strip_prefix("stat::number_of_executed_units:"));
    runs.map(|runs| runs.trim().to_owned()).ok_or_else(|| house::TOLD.to_owned())
}

/// Returns the output of a failed target from its panic on, and the input, escaped: the file with the input may be on
/// a machine that nobody can reach.
fn told(said: &str) -> String {
    let lines: Vec<&str> = said.lines().collect();
    let panicked = lines.iter().rposition(|line| line.contains("panicked at"));
    let lines = &lines[panicked.unwrap_or(lines.len().saturating_sub(40))..];
    let written = lines.iter().find_map(|line| line.split_once("Test unit written to "));
    let input = written.and_then(|(_, path)| std::fs::read(root().join(path)).ok());
    let input = input.map_or_else(String::new, |bytes| bytes.escape_ascii().to_string());
    format!("{}\nmend what this input shows and keep it in fuzz/corpus:\n{input}", lines.join("\n"))
}
