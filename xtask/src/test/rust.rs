//! The workspace's own tests: builds their programs and runs them.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use serde::Deserialize;

use crate::house::{cargo, shown};
use crate::part::{Job, Part};

/// The programs that take longest. They begin first, so that the lanes end at about the same time.
const FIRST: &[&str] = &["crates/homeroom e2e", "crates/data model_wide"];

/// A test program.
#[derive(Debug)]
pub struct Program {
    /// Its crate and its own name, as in `crates/data rights`.
    name: String,
    /// The folder of its crate, in which it runs.
    folder: PathBuf,
    file: PathBuf,
}

/// A message of cargo about something that it has built.
#[derive(Deserialize)]
struct Built {
    manifest_path: PathBuf,
    target: Target,
    profile: Profile,
    executable: Option<PathBuf>,
}

#[derive(Deserialize)]
struct Target {
    kind: Vec<String>,
    name: String,
}

#[derive(Deserialize)]
struct Profile {
    test: bool,
}

/// Builds all tests, and all programs and examples for that, which the suites use. Building them by
/// package would build their dependencies a second time, with other features.
///
/// # Errors
///
/// If something does not build; the compiler has said what.
pub fn build() -> Result<Vec<Program>, String> {
    let mut command =
        cargo(&["test", "--workspace", "--locked", "--quiet", "--no-run", "--timings"]);
    command.arg("--message-format=json-render-diagnostics").stderr(Stdio::inherit());
    let built = command.output().map_err(|error| format!("cannot start cargo: {error}"))?;
    if !built.status.success() {
        return Err(format!("the tests do not build: {}", built.status));
    }
    let mut programs = programs(&String::from_utf8_lossy(&built.stdout));
    programs.sort_by_key(|program| {
        FIRST.iter().position(|name| *name == program.name).map_or(FIRST.len(), |at| at)
    });
    Ok(programs)
}

/// Reads cargo's messages, one JSON object a line.
fn programs(messages: &str) -> Vec<Program> {
    let built = messages.lines().filter_map(|line| serde_json::from_str::<Built>(line).ok());
    let programs = built.filter(|built| built.profile.test).filter_map(|built| {
        let folder = built.manifest_path.parent()?.to_owned();
        let is_own = built.target.kind.iter().any(|kind| kind == "test");
        let name = if is_own { built.target.name } else { "unit tests".to_owned() };
        Some(Program {
            name: format!("{} {name}", shown(&folder)),
            folder,
            file: built.executable?,
        })
    });
    programs.collect()
}

/// Returns a job for each program, and one for the examples in the documentation.
pub fn jobs<'a>(
    programs: &'a [Program],
    environment: &'a [(&str, &str)],
) -> impl Iterator<Item = Job<'a>> {
    let programs = programs.iter().map(|program| {
        Job::new(program.name.clone(), |part: &mut Part| {
            let mut command = Command::new(&program.file);
            command.arg("--show-output").current_dir(&program.folder);
            command.env("CARGO_MANIFEST_DIR", &program.folder);
            run(&program.name, &mut command, environment, part);
        })
    });
    let documentation = Job::new("documentation", |part: &mut Part| {
        let mut command = cargo(&["test", "--workspace", "--locked", "--doc", "--no-fail-fast"]);
        command.args(["--", "--show-output"]);
        run("documentation", &mut command, environment, part);
    });
    programs.chain([documentation])
}

fn run(name: &str, command: &mut Command, environment: &[(&str, &str)], part: &mut Part) {
    part.say(format!("\n{name}"));
    part.run(name, command.envs(environment.iter().copied()), Part::test);
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::house::root;

    #[test]
    fn programs_of_tests_are_named_by_crate_and_file() {
        let line = |kind: &str, name: &str, is_test: bool, file: Option<&str>| {
            serde_json::json!({
                "reason": "compiler-artifact",
                "manifest_path": root().join("crates/data/Cargo.toml"),
                "target": {"kind": [kind], "name": name},
                "profile": {"test": is_test},
                "executable": file,
            })
        };
        let messages = [
            line("lib", "homeroom_data", false, None),
            line("lib", "homeroom_data", true, Some("/target/data")),
            line("test", "rights", true, Some("/target/rights")),
            serde_json::json!({"reason": "build-finished", "success": true}),
        ];

        let found = programs(&messages.map(|message| message.to_string()).join("\n"));

        let names: Vec<&str> = found.iter().map(|program| program.name.as_str()).collect();
        assert_eq!(names, ["crates/data unit tests", "crates/data rights"]);
        assert_eq!(found[1].file, Path::new("/target/rights"));
    }
}
