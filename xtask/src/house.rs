//! The workspace's folder, and how its tools are called.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

/// The result of a task; the error is a message for a person.
pub type Done = Result<(), String>;

/// The error of a task that has already reported its problem, so that its last line stays the last.
pub const TOLD: &str = "";

/// Returns the folder of the workspace.
pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask stands in the workspace's folder")
}

/// Returns the folder in which cargo builds.
pub fn target() -> PathBuf {
    let named = std::env::var_os("CARGO_TARGET_DIR");
    root().join(named.map_or_else(|| "target".into(), PathBuf::from))
}

/// Returns a `cargo` command in the workspace's folder.
pub fn cargo(arguments: &[&str]) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(root()).args(arguments);
    command
}

/// The environment variable with a file to which each part of a run adds its name and its seconds;
/// `.ci/run` makes a table of it.
const TIMES: &str = "HOMEROOM_TIMES";

/// Runs a part of a task, and records its time if that is asked for.
pub fn timed<T>(part: &str, run: impl FnOnce() -> T) -> T {
    let begun = Instant::now();
    let done = run();
    if let Some(file) = std::env::var_os(TIMES) {
        let line = format!("{part}\t{:.0}\n", begun.elapsed().as_secs_f64());
        let file = OpenOptions::new().create(true).append(true).open(file);
        let noted = file.and_then(|mut file| file.write_all(line.as_bytes()));
        if let Err(error) = noted {
            eprintln!("how long {part} took cannot be noted: {error}");
        }
    }
    done
}

/// Runs a command whose output goes straight to the terminal.
///
/// # Errors
///
/// If it cannot be started or does not end with 0.
pub fn succeed(command: &mut Command) -> Done {
    let status = command.status().map_err(|error| format!("cannot start {command:?}: {error}"))?;
    if status.success() { Ok(()) } else { Err(format!("{status}")) }
}

/// Reads a text file; the error names it.
///
/// # Errors
///
/// If it cannot be read.
pub fn read(path: &Path) -> Result<String, String> {
    std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", shown(path)))
}

/// Returns a path for display, relative to the workspace's folder.
pub fn shown(path: &Path) -> String {
    path.strip_prefix(root()).unwrap_or(path).display().to_string()
}

/// Folders with files that are not ours: built, or installed from a registry.
const FOREIGN: &[&str] = &["node_modules", "target"];

/// Returns every `.rs` file below a folder, sorted; empty if there is no such folder.
///
/// # Errors
///
/// If a folder cannot be read.
pub fn rust_files(folder: &Path) -> Result<Vec<PathBuf>, String> {
    files(folder, "rs")
}

/// Returns every file below a folder that has an extension, sorted; empty if there is no such
/// folder. Hidden folders and those of others are left out.
///
/// # Errors
///
/// If a folder cannot be read.
pub fn files(folder: &Path, extension: &str) -> Result<Vec<PathBuf>, String> {
    let mut found = vec![];
    if !folder.is_dir() {
        return Ok(found);
    }
    let failed = |error| format!("{}: {error}", shown(folder));
    for entry in std::fs::read_dir(folder).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let (path, name) = (entry.path(), entry.file_name());
        if path.is_dir() {
            let name = name.to_string_lossy();
            if !name.starts_with('.') && !FOREIGN.contains(&&*name) {
                found.extend(files(&path, extension)?);
            }
        } else if path.extension().is_some_and(|found| found == extension) {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

/// Returns whether a source file contains only tests: `tests.rs`, or any file in a folder `tests`.
pub fn is_test(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name == "tests.rs")
        || path.components().any(|part| part.as_os_str() == "tests")
}

/// Returns an error with one problem per line, if there are any.
pub fn all_well(problems: &[String]) -> Done {
    if problems.is_empty() { Ok(()) } else { Err(problems.join("\n")) }
}
