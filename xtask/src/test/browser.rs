//! The browser suites: the pages that people read, in a real browser.

use std::path::PathBuf;
use std::process::Command;

use crate::house::{root, succeed};
use crate::part::{Job, Part};
use crate::program::{built, quietly};

/// The variable that names a browser, and the default one.
const BROWSER: (&str, &str) = ("CHROMIUM", "/usr/bin/chromium");

/// A suite: its name, and what runs it under that name.
type Suite = (&'static str, fn(&'static str, &mut Part));

/// Returns the jobs that run the suites. `installed` is the outcome of [`install`].
pub fn jobs(installed: &Result<(), String>) -> impl Iterator<Item = Job<'_>> {
    let suites: [Suite; 4] = [
        ("browser report", report),
        ("browser docs", docs),
        ("browser player", player),
        ("player units", units),
    ];
    suites.into_iter().map(move |(name, run)| {
        Job::new(name, move |part: &mut Part| {
            if let Err(reason) = installed {
                return part.skip(name, reason);
            }
            part.say(format!("\n{name}"));
            run(name, part);
        })
    })
}

/// The lab's reports.
fn report(name: &'static str, part: &mut Part) {
    let reports = root().join("target/reports");
    let mut example = Command::new(built("examples/report"));
    example.current_dir(root()).arg(&reports).stdout(std::process::Stdio::null());
    if let Err(problem) = succeed(&mut example) {
        return part.check(&format!("failed: {name}: the reports cannot be made: {problem}"));
    }
    let mut suite = Command::new("node");
    suite.arg(folder().join("report_suite.mjs")).arg(&reports);
    part.run(name, &mut suite, Part::check);
}

/// The API reference of a server.
fn docs(name: &'static str, part: &mut Part) {
    let mut suite = Command::new("node");
    suite.arg(folder().join("docs_suite.mjs")).arg(built("homeroom"));
    part.run(name, &mut suite, Part::check);
}

/// The course player against the real binary.
fn player(name: &'static str, part: &mut Part) {
    if !root().join("web/dist/shell.html").is_file() {
        return part.skip(name, "the pages are not built (npm ci && npm run build in web)");
    }
    for file in ["player_suite.mjs", "player_odd_suite.mjs"] {
        let mut suite = Command::new("node");
        suite.arg(folder().join(file)).arg(built("homeroom"));
        part.run(name, &mut suite, Part::check);
    }
}

/// The player's unit tests, with Node's own test runner.
fn units(name: &'static str, part: &mut Part) {
    let web = root().join("web");
    if !web.join("node_modules/esbuild").is_dir() {
        return part.skip(name, "web/node_modules is not installed (npm ci in web)");
    }
    let mut suite = Command::new("node");
    suite.current_dir(&web).arg("test.mjs");
    part.run(name, &mut suite, Part::check);
}

fn folder() -> PathBuf {
    root().join("tests/browser")
}

/// Checks that there is a browser.
///
/// # Errors
///
/// If there is none: a reason to skip, not a failure.
fn browser() -> Result<(), String> {
    let (variable, usual) = BROWSER;
    let program = std::env::var_os(variable).unwrap_or_else(|| usual.into());
    quietly(Command::new(program).arg("--version"))
        .map_err(|why| format!("Chromium is needed (Debian: chromium): {why}"))
}

/// Installs the packages that `package-lock.json` pins, unless they are installed.
///
/// # Errors
///
/// Why they cannot be installed, or that there is no browser: a reason to skip, not a failure.
pub fn install() -> Result<(), String> {
    browser()?;
    let folder = folder();
    quietly(Command::new("node").arg("--version"))
        .map_err(|why| format!("Node.js is needed (Debian: nodejs): {why}"))?;
    let wanted = std::fs::read(folder.join("package-lock.json"))
        .map_err(|error| format!("no package-lock.json: {error}"))?;
    let installed = folder.join("node_modules/.homeroom-lock.json");
    if std::fs::read(&installed).is_ok_and(|found| found == wanted) {
        return Ok(());
    }
    eprintln!("installing what the browser suites need into tests/browser/node_modules");
    let mut npm = Command::new("npm");
    npm.args(["ci", "--ignore-scripts", "--no-audit", "--no-fund"]).current_dir(&folder);
    quietly(&mut npm)
        .map_err(|why| format!("npm cannot install from the registry (Debian: npm): {why}"))?;
    std::fs::write(&installed, wanted).map_err(|error| format!("cannot write: {error}"))
}
