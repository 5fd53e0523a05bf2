//! The browser suites: the pages that people read, in a real browser.

use std::path::Path;
use std::process::Command;

use super::program::quietly;
use super::program::{built, each_line};
use crate::house::{root, succeed};
use crate::summary::Summary;

/// The variable that names a browser, and the default one.
const BROWSER: (&str, &str) = ("CHROMIUM", "/usr/bin/chromium");

/// Runs the suites, or records why they are skipped.
pub fn run(summary: &mut Summary) {
    let folder = root().join("tests/browser");
    if let Err(reason) = browser().and_then(|()| packages(&folder)) {
        summary.skipped.push(("browser report".into(), reason));
        return;
    }
    let reports = root().join("target/reports");
    let mut example = Command::new(built("examples/report"));
    example.current_dir(root()).arg(&reports).stdout(std::process::Stdio::null());
    if let Err(problem) = succeed(&mut example) {
        eprintln!("the reports cannot be made: {problem}");
        summary.failed += 1;
        return;
    }
    println!("\nbrowser: report");
    let mut command = Command::new("node");
    command.arg(folder.join("report_suite.mjs")).arg(&reports);
    let ran = each_line(&mut command, summary, |summary, line| {
        summary.take_check(line);
        println!("{line}");
    });
    if let Err(problem) = ran {
        eprintln!("{problem}");
        summary.failed += 1;
    }
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
/// Why they cannot be installed: a reason to skip, not a failure.
fn packages(folder: &Path) -> Result<(), String> {
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
    npm.args(["ci", "--ignore-scripts", "--no-audit", "--no-fund"]).current_dir(folder);
    quietly(&mut npm)
        .map_err(|why| format!("npm cannot install from the registry (Debian: npm): {why}"))?;
    std::fs::write(&installed, wanted).map_err(|error| format!("cannot write: {error}"))
}
