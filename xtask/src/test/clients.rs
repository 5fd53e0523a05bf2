//! The client suites: the clients of vendors and districts, unchanged from the package registry.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::house::root;
use crate::part::{Job, Part};
use crate::program::{built, quietly};

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
    Suite { name: "rustici_cloud", installs: true },
    Suite { name: "duckdb", installs: true },
    Suite { name: "openid", installs: true },
    Suite { name: "validation", installs: true },
    Suite { name: "h2spec", installs: true },
];

/// Returns a job for each suite, to be run with environment variables. `installed` is the outcome of
/// [`install`].
pub fn jobs<'a>(
    environment: &'a [(&str, &str)],
    installed: &'a Result<PathBuf, String>,
) -> impl Iterator<Item = Job<'a>> {
    SUITES.iter().map(move |suite| {
        let name = format!("clients {}", suite.name);
        Job::new(name.clone(), move |part: &mut Part| {
            let python = if suite.installs { installed.clone() } else { plain_python() };
            match python {
                Ok(python) => suite.run(&name, &python, environment, part),
                Err(reason) => part.skip(name, reason),
            }
        })
    })
}

impl Suite {
    fn run(&self, name: &str, python: &Path, environment: &[(&str, &str)], part: &mut Part) {
        part.say(format!("\n{name}"));
        let program = root().join(format!("tests/clients/{}_suite.py", self.name));
        let mut command = Command::new(python);
        command.envs(environment.iter().copied());
        command.arg("-B").arg(program).arg(built("homeroom"));
        part.run(name, &mut command, Part::check);
    }
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
pub fn install() -> Result<PathBuf, String> {
    plain_python()?;
    let venv = root().join(".venv");
    let python = venv.join("bin/python");
    let wanted = root().join("tests/clients/requirements.txt");
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
