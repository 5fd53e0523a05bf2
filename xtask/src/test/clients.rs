//! The client suites: the clients of vendors and districts, unchanged from the package registry.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::program::quietly;
use super::program::{built, each_line};
use crate::house::root;
use crate::summary::Summary;

/// A suite: a Python program that starts its own server.
struct Suite {
    name: &'static str,
    /// Whether it runs a client that has to be installed.
    installs: bool,
}

/// The suites, in the order in which they run.
const SUITES: &[Suite] = &[
    Suite { name: "guides", installs: false },
    Suite { name: "lightbeam", installs: true },
    Suite { name: "edfi_api_client", installs: true },
    Suite { name: "schemathesis", installs: true },
    Suite { name: "duckdb", installs: true },
];

/// Runs the suites with environment variables, or records why they are skipped.
pub fn run(environment: &[(&str, &str)], summary: &mut Summary) {
    let folder = root().join("tests/clients");
    let plain = plain_python();
    let installed = plain.clone().and_then(|_| python(&folder));
    if let Err(reason) = &plain {
        for suite in SUITES {
            skip(summary, suite, reason);
        }
        return;
    }
    let server = built("homeroom");
    if !server.exists() {
        eprintln!("the server does not build");
        summary.failed += 1;
        return;
    }
    for suite in SUITES {
        let python = match if suite.installs { &installed } else { &plain } {
            Ok(python) => python,
            Err(reason) => {
                skip(summary, suite, reason);
                continue;
            }
        };
        println!("\nclients: {}", suite.name);
        let mut command = Command::new(python);
        command.envs(environment.iter().copied());
        command.arg("-B").arg(folder.join(format!("{}_suite.py", suite.name))).arg(&server);
        let ran = each_line(&mut command, summary, |summary, line| {
            summary.take_check(line);
            println!("{line}");
        });
        if let Err(problem) = ran {
            eprintln!("{problem}");
            summary.failed += 1;
        }
    }
}

fn skip(summary: &mut Summary, suite: &Suite, reason: &str) {
    summary.skipped.push((format!("clients {}", suite.name), reason.to_owned()));
}

/// Returns the machine's own interpreter.
///
/// # Errors
///
/// If there is none: a reason to skip, not a failure.
fn plain_python() -> Result<PathBuf, String> {
    quietly(Command::new("python3").arg("--version"))
        .map(|()| "python3".into())
        .map_err(|why| format!("python3 is needed: {why}"))
}

/// Returns the interpreter of `.venv` with the pinned clients; installs them if necessary.
///
/// # Errors
///
/// Why they cannot be installed: a reason to skip, not a failure.
pub(super) fn python(folder: &Path) -> Result<PathBuf, String> {
    let venv = root().join(".venv");
    let python = venv.join("bin/python");
    let wanted = folder.join("requirements.txt");
    let installed = venv.join("homeroom-requirements.txt");
    let pins = std::fs::read(&wanted).map_err(|error| format!("no requirements.txt: {error}"))?;
    if std::fs::read(&installed).is_ok_and(|found| found == pins) && python.exists() {
        return Ok(python);
    }
    eprintln!("installing the clients into .venv");
    quietly(Command::new("python3").args(["-m", "venv"]).arg(&venv))
        .map_err(|why| format!("python3 with venv is needed (Debian: python3-venv): {why}"))?;
    quietly(
        Command::new(&python)
            .args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-r"])
            .arg(&wanted),
    )
    .map_err(|why| format!("the clients cannot be installed from the registry: {why}"))?;
    std::fs::write(&installed, pins).map_err(|error| format!("cannot write .venv: {error}"))?;
    Ok(python)
}
