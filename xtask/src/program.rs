//! Programs that the tests run.

use std::io::{BufRead as _, BufReader};
use std::path::PathBuf;
use std::process::{Command, ExitStatus, Stdio};

use crate::house::target;

/// Returns the path of a program that the tests' build has made, `homeroom` or `examples/report`.
pub fn built(program: &str) -> PathBuf {
    target().join("debug").join(program)
}

/// Runs a program and passes on its output line by line. Returns how it ended.
///
/// # Errors
///
/// If it cannot be started or its output cannot be read.
pub fn each_line(command: &mut Command, mut take: impl FnMut(&str)) -> Result<ExitStatus, String> {
    let mut child = command
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|error| format!("cannot start {}: {error}", command.get_program().display()))?;
    let stdout = child.stdout.take().expect("the output was asked for");
    for line in BufReader::new(stdout).split(b'\n') {
        let line = line.map_err(|error| format!("cannot read what was printed: {error}"))?;
        take(&String::from_utf8_lossy(&line));
    }
    child.wait().map_err(|error| format!("cannot wait for the end: {error}"))
}

/// Runs a program. If it fails, the last line of its output is the reason.
pub fn quietly(command: &mut Command) -> Result<(), String> {
    let output =
        command.stdin(Stdio::null()).output().map_err(|error| format!("cannot start: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr).into_owned()
        + &String::from_utf8_lossy(&output.stdout);
    Err(said.lines().rfind(|line| !line.trim().is_empty()).unwrap_or("no reason given").to_owned())
}
